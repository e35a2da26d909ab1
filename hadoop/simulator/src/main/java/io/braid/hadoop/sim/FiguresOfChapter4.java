package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.Runs.GIB;
import static io.braid.hadoop.sim.Runs.MIB;
import static io.braid.hadoop.sim.Runs.SLOTS;
import static io.braid.hadoop.sim.Runs.say;

import io.braid.hadoop.plan.Policy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/**
 * Figures 6 to 10: what large splits cost in balance, overlap and fairness, and what assorted ones
 * save.
 */
final class FiguresOfChapter4 {
  private static final String BY_SKEW =
      "as named: by block or container of Grep (others: independent 0.1 by block), by node of all";

  private FiguresOfChapter4() {}

  /** Figure 6: Grep with k of each node's 8 slots on a split of the largest size. */
  static Report figure6() {
    Report report =
        new Report(
            "Figure 6: Grep of 250 GiB, by how many of a node's 8 slots get the largest split");
    report.fact("runs of a point", Runs.REPEATS + ", median");
    for (Skew skew : Runs.SKEWS) {
      Report.Table table =
          report.table(
              skew.name,
              "largest_splits",
              "job_s",
              "fastest_node_s",
              "node_end_stddev_s",
              "containers");
      double[] time = new double[SLOTS + 1];
      double[] fastest = new double[SLOTS + 1];
      double[] spread = new double[SLOTS + 1];
      for (int k = 0; k <= SLOTS; ++k) {
        JobSpec job = JobSpec.grep().reduce(0, 0, 0, 1).plan(Runs.largest(k));
        time[k] = Runs.median(skew, job, Runs::seconds);
        fastest[k] = Runs.median(skew, job, result -> ends(result)[0]);
        spread[k] = Runs.median(skew, job, result -> deviation(ends(result)));
        table.row(
            k,
            time[k],
            fastest[k],
            spread[k],
            (int) Runs.median(skew, job, result -> result.containers()));
      }
      report.claim(
          "the fastest node ends earlier the more large splits there are (123 s with none, "
              + "92 s with 8)",
          skew.name,
          say("%.0f s with none, %.0f s with 8", fastest[0], fastest[8]),
          fastest[8] < fastest[0]);
      report.claim(
          "the spread of completion times grows with large splits",
          skew.name,
          say("%.1f s with none, %.1f s with 8", spread[0], spread[8]),
          spread[8] > spread[0]);
      report.claim(
          "Grep with the largest splits in all slots is slower than with none",
          skew.name,
          say("%.0f s against %.0f s", time[8], time[0]),
          time[8] > time[0]);
      double middle = Math.min(time[3], time[4]);
      report.claim(
          "3 or 4 large splits a node are better than none and than 8",
          skew.name,
          say("%.0f s against %.0f and %.0f s", middle, time[0], time[8]),
          middle < time[0] && middle < time[8]);
    }
    return report;
  }

  /** When each node's last map ended, in ascending order. */
  private static double[] ends(SimResult result) {
    double[] ends = new double[ClusterSpec.dissertation().nodes];
    JobResult job = result.jobs.get(0);
    for (int task = 0; task < job.containers(); ++task) {
      if (job.isMap(task)) {
        ends[job.node(task)] = Math.max(ends[job.node(task)], job.ended(task));
      }
    }
    Arrays.sort(ends);
    return ends;
  }

  private static double deviation(double[] values) {
    double mean = Arrays.stream(values).average().orElse(0);
    double squares = Arrays.stream(values).map(v -> (v - mean) * (v - mean)).sum();
    return Math.sqrt(squares / values.length);
  }

  /** Figure 7: Sort with k of each node's 8 slots on a split of the largest size. */
  static Report figure7() {
    Report report =
        new Report("Figure 7: Sort, by how many of a node's 8 slots get the largest split");
    Skew skew = Skew.independent(0.1);
    report
        .fact(
            "input",
            "250 GiB: the text names no size; only that makes its single wave last " + "minutes")
        .fact("skew", skew.name)
        .fact("runs of a point", Runs.REPEATS + ", median");
    Report.Table table =
        report.table("times", "largest_splits", "job_s", "first_shuffle_s", "maps_done_s");
    double[] time = new double[SLOTS + 1];
    double[] first = new double[SLOTS + 1];
    for (int k = 0; k <= SLOTS; ++k) {
      JobSpec job = JobSpec.sort().plan(Runs.largest(k));
      time[k] = Runs.median(skew, job, Runs::seconds);
      SimResult result = Runs.run(skew, 1, 10, job);
      Report.Table shuffle =
          report.table("shuffled with " + k, "time_s", "network_gib", "shuffled_gib");
      shuffle.bulky = true;
      first[k] = -1;
      for (SimResult.Sample sample : result.samples) {
        shuffle.row(sample.time, sample.networkBytes / GIB, sample.shuffledBytes / GIB);
        if (first[k] < 0 && sample.shuffledBytes > 0.01 * result.shuffledBytes) {
          first[k] = sample.time;
        }
      }
      table.row(k, time[k], first[k], result.jobs.get(0).mapsDone);
    }
    report.claim(
        "one large split a node makes Sort faster (1550 s to 1400 s)",
        skew.name,
        say("%.0f s to %.0f s", time[0], time[1]),
        time[1] < time[0]);
    double least = Arrays.stream(time).min().orElse(0);
    report.claim(
        "with more than 5 large splits Sort is slower than with none",
        skew.name,
        say("%.0f and %.0f s with 6 and 8, %.0f s with none", time[6], time[8], time[0]),
        time[6] > time[0] && time[8] > time[0]);
    report.claim(
        "with 8, the shuffle starts late and the job is slower for it (both by about 600 s)",
        skew.name,
        say(
            "shuffle starts %.0f s later; job %.0f s slower than the best",
            first[8] - first[0], time[8] - least),
        first[8] - first[0] > 60 && time[8] - least > 60);
    return report;
  }

  private static final Policy[] SHOWN = {
    Policy.NONE, Policy.MAXIMUM, Policy.ASSORTED_STRICT, Policy.ASSORTED_BALANCED, Policy.AUTO
  };

  /** Figure 8: ten jobs at once. */
  static Report figure8() {
    return concurrent(
        "Figure 8: ten jobs submitted at once (4 WordCount and 1 Sort of 64 GiB, "
            + "5 Grep of 250 GiB)",
        "about 14,000, fewer than 3,000 and about 6,000",
        () -> {
          List<JobSpec> jobs = new ArrayList<>();
          for (int i = 0; i < 4; ++i) {
            jobs.add(JobSpec.wordCount().input(64 * GIB, 128 * MIB, 3));
          }
          for (int i = 0; i < 5; ++i) {
            jobs.add(JobSpec.grep());
          }
          jobs.add(JobSpec.sort().input(64 * GIB, 128 * MIB, 3));
          return jobs;
        },
        true);
  }

  /** Figure 9: four jobs that come one after another. */
  static Report figure9() {
    Report report =
        concurrent(
            "Figure 9: four jobs (WordCount at 0 s, Sort at 10 s, Grep at 1000 s " + "and 1200 s)",
            "about 7,000 and fewer than 1,400",
            () ->
                List.of(
                    JobSpec.wordCount(),
                    JobSpec.sort().input(64 * GIB, 128 * MIB, 3).submit(10),
                    JobSpec.grep().submit(1000),
                    JobSpec.grep().submit(1200)),
            false);
    return report.fact(
        "input", "the text names no sizes; 250 GiB, Sort 64 GiB, give its 7,000 tasks");
  }

  private static Report concurrent(
      String title, String tasks, Supplier<List<JobSpec>> jobs, boolean all) {
    Report report =
        new Report(title)
            .fact("the text's tasks", tasks)
            .fact("skew", BY_SKEW);
    for (Skew skew : Runs.SKEWS) {
      Report.Table table =
          report.table(
              skew.name,
              "policy",
              "tasks",
              "mean_job_s",
              "last_job_s",
              "longest_wait_s",
              "fairness");
      double[] mean = new double[SHOWN.length];
      double[] fair = new double[SHOWN.length];
      int[] count = new int[SHOWN.length];
      for (int p = 0; p < SHOWN.length; ++p) {
        double[] means = new double[3];
        double[] lasts = new double[3];
        double[] waits = new double[3];
        double[] fairness = new double[3];
        for (int i = 0; i < means.length; ++i) {
          SimResult result = runAll(jobs.get(), SHOWN[p], skew, 1 + i);
          means[i] = result.meanJobSeconds();
          lasts[i] = result.finished;
          waits[i] =
              result.jobs.stream().mapToDouble(j -> j.firstLaunch - j.submitted).max().orElse(0);
          fairness[i] = result.fairness();
          count[p] = result.containers();
          if (i == 0) {
            spans(report, SHOWN[p].label() + ", " + skew.name, result);
          }
        }
        mean[p] = Runs.median(means);
        fair[p] = Runs.median(fairness);
        table.row(
            SHOWN[p].label(), count[p], mean[p], Runs.median(lasts), Runs.median(waits), fair[p]);
      }
      claims(report, skew, mean, fair, count, all);
    }
    return report;
  }

  private static void claims(
      Report report, Skew skew, double[] mean, double[] fair, int[] count, boolean ten) {
    report.claim(
        "tasks: default, maximum" + (ten ? ", assorted" : ""),
        skew.name,
        say("%d, %d, %d (strict)", count[0], count[1], count[2]),
        Math.abs(count[0] - (ten ? 14000 : 7000)) < 2000 && count[1] < (ten ? 3000 : 1400));
    report.claim(
        "maximum's job times are higher than the default's",
        skew.name,
        say("mean %.0f s against %.0f s", mean[1], mean[0]),
        mean[1] > mean[0]);
    // What is shown alike is no difference.
    boolean isAsFair = Math.round(100 * fair[2]) == Math.round(100 * fair[1]);
    report.claim(
        "assorted is fairer than maximum (Jain's index of the slots held)",
        skew.name,
        say("%.2f against %.2f; default %.2f", fair[2], fair[1], fair[0])
            + (isAsFair ? ": no difference" : ""),
        fair[2] > fair[1] && !isAsFair);
    if (ten) {
      double gain = 1 - mean[2] / mean[0];
      report.claim(
          "assorted improves the mean job time by 36.3 %",
          skew.name,
          say(
              "%.1f %% against the default, %.1f %% against maximum; balanced %.1f %% against the "
                  + "default",
              100 * gain, 100 * (1 - mean[2] / mean[1]), 100 * (1 - mean[3] / mean[0])),
          gain > 0.2);
    }
  }

  private static SimResult runAll(List<JobSpec> jobs, Policy policy, Skew skew, long seed) {
    ClusterSpec cluster = Runs.cluster(skew, jobs.toArray(new JobSpec[0]));
    for (JobSpec job : jobs) {
      job.plan(Runs.settings(policy).withCosts(Skew.measuredCosts(cluster, job)));
    }
    return new Simulation(cluster, Simulation.Discipline.FAIR, seed).run(jobs, 2);
  }

  /** The life of each container, in the order of their starts. */
  private static void spans(Report report, String name, SimResult result) {
    Report.Table table = report.table(name, "job", "map", "launched_s", "ended_s");
    table.bulky = true;
    List<Object[]> rows = new ArrayList<>();
    for (JobResult job : result.jobs) {
      for (int task = 0; task < job.containers(); ++task) {
        rows.add(
            new Object[] {
              job.number + 1, job.isMap(task) ? 1 : 0, job.launched(task), job.ended(task)
            });
      }
    }
    rows.sort((a, b) -> Double.compare((double) a[2], (double) b[2]));
    rows.forEach(table::row);
  }

  /** Figure 10: each job alone, normalised to the default. */
  static Report figure10() {
    Report report =
        new Report(
            "Figure 10: job times alone, as a share of the default's with 128 MiB "
                + "blocks (250 GiB each)");
    report
        .fact("runs of a point", Runs.REPEATS + ", median")
        .fact("skew", BY_SKEW);
    for (Skew skew : Runs.SKEWS) {
      Report.Table table =
          report.table(
              skew.name,
              "job",
              "default_s",
              "default",
              "blocks_1gib",
              "maximum",
              "assorted_strict",
              "assorted_balanced",
              "auto");
      double[][] share = new double[3][];
      int row = 0;
      for (String name : new String[] {"wordcount", "grep", "sort"}) {
        double base = time(name, 128, Policy.NONE, skew);
        share[row] =
            new double[] {
              1,
              time(name, 1024, Policy.NONE, skew) / base,
              time(name, 128, Policy.MAXIMUM, skew) / base,
              time(name, 128, Policy.ASSORTED_STRICT, skew) / base,
              time(name, 128, Policy.ASSORTED_BALANCED, skew) / base,
              time(name, 128, Policy.AUTO, skew) / base
            };
        table.row(
            name,
            base,
            1.0,
            share[row][1],
            share[row][2],
            share[row][3],
            share[row][4],
            share[row][5]);
        ++row;
      }
      double[] word = share[0];
      report.claim(
          "WordCount: maximum is fastest, assorted (strict) is 10 % faster than the default",
          skew.name,
          say("maximum %.2f, strict %.2f of the default", word[2], word[3]),
          word[2] < word[3] && word[3] < 1);
      double[] grep = share[1];
      report.claim(
          "Grep: assorted is fastest (7 % faster than the default), maximum and 1 GiB blocks "
              + "are slower than the default",
          skew.name,
          say(
              "strict %.2f, balanced %.2f, maximum %.2f, 1 GiB %.2f",
              grep[3], grep[4], grep[2], grep[1]),
          Math.min(grep[3], grep[4]) < 1 && grep[2] > 1 && grep[1] > 1);
      double[] sort = share[2];
      report.claim(
          "Sort: assorted is at least 14 % faster than the default",
          skew.name,
          say("strict %.2f, balanced %.2f, maximum %.2f", sort[3], sort[4], sort[2]),
          Math.min(sort[3], sort[4]) <= 0.86);
    }
    return report;
  }

  private static double time(String name, int blockMib, Policy policy, Skew skew) {
    JobSpec job = JobSpec.of(name).input(250 * GIB, blockMib * MIB, 3);
    ClusterSpec cluster = Runs.cluster(skew, job);
    job.plan(Runs.settings(policy).withCosts(Skew.measuredCosts(cluster, job)));
    return Runs.median(skew, job, Runs::seconds);
  }
}
