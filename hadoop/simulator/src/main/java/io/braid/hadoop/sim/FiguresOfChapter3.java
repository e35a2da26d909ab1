package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.Runs.GIB;
import static io.braid.hadoop.sim.Runs.MIB;
import static io.braid.hadoop.sim.Runs.say;

import io.braid.hadoop.plan.Policy;
import java.util.ArrayList;
import java.util.List;

/** Figures 1 to 4: what a container costs, and what larger splits do to the cluster's use. */
final class FiguresOfChapter3 {
  private FiguresOfChapter3() {}

  /** Figure 1: the steps until a map of Grep reads. */
  static Report figure1() {
    ClusterSpec cluster = ClusterSpec.dissertation();
    JobSpec job = JobSpec.grep().input(250 * GIB, 128 * MIB, 3);
    JobResult result =
        new Simulation(cluster, Simulation.Discipline.FAIR, 1).run(List.of(job)).jobs.get(0);
    Report report = new Report("Figure 1: from a job's submission to its first map's work (Grep)");
    double master = cluster.masterSeconds;
    double scheduled = master + cluster.schedulingSeconds;
    double launched = scheduled + cluster.launchSeconds;
    double reading = result.firstLaunch + result.meanStartSeconds();
    double work = 3.85;
    report
        .table("steps", "step", "from", "to")
        .row("application master starts", 0.0, master)
        .row("1: containers are asked for and allocated", master, scheduled)
        .row("2, 3: node manager launches the container", scheduled, launched)
        .row("4: YarnChild initialises itself", launched, reading)
        .row("map of one block, alone on its disk", reading, reading + work);
    double start = reading - scheduled;
    report.fact(
        "the text's own sums",
        "1.35 s + 5.16 s are 6.51 s, not the 6.58 s that it uses; " + "the simulator takes 6.58 s");
    report.claim(
        "a container's start-up takes 6.58 s, 170 % of the work on a block",
        "none",
        say("%.2f s, %.0f %%", start, 100 * start / work),
        Math.abs(start - 6.58) < 0.01 && Math.abs(start / work - 1.7) < 0.02);
    report.claim(
        "scheduling and initialising take 7.86 s, of which the container has 84 %",
        "none",
        say("%.2f s, %.0f %%", result.meanStartSeconds(), 100 * start / result.meanStartSeconds()),
        Math.abs(result.meanStartSeconds() - 7.86) < 0.01);
    return report;
  }

  /** Figure 2: WordCount of 250 GiB by block size, with a split a block and with one wave. */
  static Report figure2() {
    Report report = new Report("Figure 2: WordCount of 250 GiB, job time by HDFS block size");
    report.fact("runs of a point", Runs.REPEATS + ", median; skew: independent 0.1 by block");
    Report.Table table =
        report.table(
            "times", "block_mib", "default_s", "default_maps", "logical_1gib_s", "logical_maps");
    Skew skew = Skew.independent(0.1);
    int[] sizes = {32, 64, 128, 256, 512, 1024, 2048};
    double[] plain = new double[sizes.length];
    double[] logical = new double[sizes.length];
    for (int i = 0; i < sizes.length; ++i) {
      JobSpec job = JobSpec.wordCount().input(250 * GIB, sizes[i] * MIB, 3);
      job.plan(Runs.settings(Policy.NONE));
      plain[i] = Runs.median(skew, job, Runs::seconds);
      int maps = Runs.run(skew, 1, 0, job).jobs.get(0).maps;
      job.plan(Runs.settings(Policy.MAXIMUM));
      logical[i] = Runs.median(skew, job, Runs::seconds);
      table.row(sizes[i], plain[i], maps, logical[i], Runs.run(skew, 1, 0, job).jobs.get(0).maps);
    }
    report.claim(
        "1 GiB blocks are 1.7x as fast as 32 MiB and 1.16x as fast as 128 MiB",
        skew.name,
        say("%.2fx and %.2fx", plain[0] / plain[5], plain[2] / plain[5]),
        Math.abs(plain[0] / plain[5] - 1.7) < 0.2 && Math.abs(plain[2] / plain[5] - 1.16) < 0.1);
    report.claim(
        "2 GiB blocks take about twice as long as 1 GiB: half of the slots are idle",
        skew.name,
        say("%.2fx", plain[6] / plain[5]),
        Math.abs(plain[6] / plain[5] - 2) < 0.3);
    double least = Double.MAX_VALUE;
    double most = 0;
    for (int i = 0; i < 6; ++i) {
      least = Math.min(least, logical[i]);
      most = Math.max(most, logical[i]);
    }
    report.claim(
        "with logical splits of 1 GiB the time does not depend on the block size (to 1 GiB)",
        skew.name,
        say("%.0f to %.0f s", least, most),
        most / least < 1.1);
    return report;
  }

  /** Figure 3: use of the cluster by WordCount with 32 MiB and with 1 GiB blocks. */
  static Report figure3() {
    Report report =
        new Report("Figure 3: use of a node by WordCount of 250 GiB (mean of 32 nodes)");
    Skew skew = Skew.independent(0.1);
    report.fact("skew", skew.name);
    List<SimResult> results = new ArrayList<>();
    for (int size : new int[] {32, 1024}) {
      JobSpec job = JobSpec.wordCount().input(250 * GIB, size * MIB, 3);
      SimResult result = Runs.run(skew, 1, 5, job);
      usage(report, size + " MiB", result);
      results.add(result);
    }
    SimResult small = results.get(0);
    SimResult large = results.get(1);
    double cpu = 1 - large.coreSeconds / small.coreSeconds;
    report.claim(
        "1 GiB blocks use 43 % less processor time (400 s against 700 s of all cores)",
        skew.name,
        say(
            "%.0f %% less (%.0f against %.0f s); the text's counts what the node's other "
                + "processes do for a container, too",
            100 * cpu, large.coreSeconds / 256, small.coreSeconds / 256),
        Math.abs(cpu - 0.43) < 0.1);
    double faster = 1 - large.finished / small.finished;
    report.claim(
        "the job is 44 % faster with 1 GiB blocks (figure 2 says 1.7x)",
        skew.name,
        say("%.2fx as fast, %.0f %% less time", small.finished / large.finished, 100 * faster),
        Math.abs(small.finished / large.finished - 1.44) < 0.1);
    double rate = large.diskBytes / large.finished / (small.diskBytes / small.finished);
    report.claim(
        "the disk's rate is higher with 1 GiB blocks", skew.name, say("%.2fx", rate), rate > 1);
    long[] remote = {small.jobs.get(0).remoteBytes, large.jobs.get(0).remoteBytes};
    report.claim(
        "1 GiB blocks use the network more: load can't be spread evenly",
        skew.name,
        say(
            "%.1f GiB read remotely against %.1f GiB",
            remote[1] / (double) GIB, remote[0] / (double) GIB),
        remote[1] > remote[0]);
    return report;
  }

  /** Figure 4: use of the cluster by Grep with 128 MiB and with 1 GiB blocks, under each skew. */
  static Report figure4() {
    Report report = new Report("Figure 4: use of a node by Grep of 250 GiB (mean of 32 nodes)");
    for (Skew skew : Runs.SKEWS) {
      double[] at100 = new double[2];
      double[] end = new double[2];
      int[] sizes = {128, 1024};
      for (int i = 0; i < 2; ++i) {
        JobSpec job = JobSpec.grep().input(250 * GIB, sizes[i] * MIB, 3);
        SimResult result = Runs.run(skew, 1, 2, job);
        usage(report, sizes[i] + " MiB, " + skew.name, result);
        at100[i] = processedAt(result, 100);
        end[i] = Runs.median(skew, job, Runs::seconds);
      }
      report.claim(
          "at 100 s more is processed with 1 GiB blocks (90 %, 128 MiB: 75 %)",
          skew.name,
          say("%.0f %% and %.0f %%", 100 * at100[1], 100 * at100[0]),
          at100[1] > at100[0]);
      report.claim(
          "yet the job takes longer with 1 GiB blocks",
          skew.name,
          say("%.0f s against %.0f s", end[1], end[0]),
          end[1] > end[0]);
    }
    return report;
  }

  private static double processedAt(SimResult result, double time) {
    double seen = 0;
    double all = 1;
    for (SimResult.Sample sample : result.samples) {
      seen = sample.time <= time ? sample.diskBytes : seen; // Grep writes next to nothing
      all = sample.diskBytes;
    }
    return seen / all;
  }

  /** Use over time: containers as they are, the rest added up, of a node. */
  private static void usage(Report report, String name, SimResult result) {
    Report.Table table =
        report.table(name, "time_s", "containers", "cpu_s", "disk_gib", "network_gib");
    table.bulky = true;
    double nodes = ClusterSpec.dissertation().nodes;
    for (SimResult.Sample sample : result.samples) {
      table.row(
          sample.time,
          sample.containers / nodes,
          sample.coreSeconds / nodes / 8,
          sample.diskBytes / nodes / GIB,
          sample.networkBytes / nodes / GIB);
    }
  }
}
