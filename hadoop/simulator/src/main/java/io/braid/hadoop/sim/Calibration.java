package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.Runs.MIB;
import static io.braid.hadoop.sim.Runs.say;

import io.braid.hadoop.plan.Policy;
import java.util.List;
import java.util.Locale;

/**
 * The simulator next to a real cluster: 4 nodes of 2 slots, all on one machine of 4 cores, with an
 * extra slot for the application master. A container's costs and a block's are fitted to the runs
 * with maximum splits; the other runs are then predicted. Not thread safe.
 */
final class Calibration {
  private static final int CORES = 4;

  /**
   * Seconds that a container waits for others than processors, its core seconds until it reads, and
   * after.
   */
  private static final double WAIT = 0.9;

  private static final double START = 3.7;
  private static final double STOP = 2.9;

  /**
   * Of a container with task JVMs that compile with C1 only, as a share of one with the default.
   */
  private static final double QUICK = 0.39;

  /** A run on the real cluster: what it did, and how it is simulated. */
  private static final class Run {
    final String job;
    final String what;
    final Policy policy;
    final int blocks;
    final double workOfBlock;
    final double container;
    final double seconds;
    final int maps;
    final double cpu;
    final boolean fitted;

    Run(
        String job,
        String what,
        Policy policy,
        int blocks,
        double workOfBlock,
        double container,
        double seconds,
        int maps,
        double cpu,
        boolean fitted) {
      this.job = job;
      this.what = what;
      this.policy = policy;
      this.blocks = blocks;
      this.workOfBlock = workOfBlock;
      this.container = container;
      this.seconds = seconds;
      this.maps = maps;
      this.cpu = cpu;
      this.fitted = fitted;
    }
  }

  private static final List<Run> RUNS =
      List.of(
          new Run("WordCount", "maximum", Policy.MAXIMUM, 64, 0.65, 1, 36.5, 8, 106, true),
          new Run("WordCount", "default", Policy.NONE, 64, 0.65, 1, 131.5, 64, 479, false),
          new Run("Sort", "maximum", Policy.MAXIMUM, 64, 0.40, 1, 31.3, 8, 93, true),
          new Run("Sort", "default", Policy.NONE, 64, 0.40, 1, 111.2, 64, 404, false),
          new Run("Grep", "maximum", Policy.MAXIMUM, 64, 0.40, 1, 31.3, 8, 0, true),
          new Run("Grep", "default", Policy.NONE, 64, 0.40, 1, 122.9, 64, 0, false),
          new Run(
              "Grep", "assorted-strict", Policy.ASSORTED_STRICT, 64, 0.40, 1, 82.5, 36, 0, false),
          new Run("Grep, C1 only", "maximum", Policy.MAXIMUM, 64, 0.40, QUICK, 26.0, 8, 55, false),
          new Run("Grep, C1 only", "default", Policy.NONE, 64, 0.40, QUICK, 61.4, 64, 201, false),
          new Run("Grep of 64 MB", "maximum", Policy.MAXIMUM, 16, 0.40, 1, 21.0, 8, 0, false),
          new Run("Grep of 64 MB", "default", Policy.NONE, 16, 0.40, 1, 31.0, 16, 0, false));

  private Calibration() {}

  private static SimResult simulate(Run run) {
    ClusterSpec cluster =
        ClusterSpec.dissertation()
            .nodes(4, 2)
            .racks(1)
            .cores(CORES, 4)
            .rates(500.0 * MIB, 1000.0 * MIB, 1000.0 * MIB)
            .master(5, 1)
            .start(WAIT, START * run.container, 2, 0.1)
            .stop(STOP * run.container, 2);
    JobSpec job =
        new JobSpec(run.job.toLowerCase(Locale.ROOT))
            .input(run.blocks * 4 * MIB, 4 * MIB, 2)
            .map(run.workOfBlock / (4 * MIB), 0.01, 1)
            .reduce(1, 0, 1, 1)
            .plan(Runs.settings(run.policy));
    return new Simulation(cluster, Simulation.Discipline.FAIR, 1).run(List.of(job));
  }

  static Report report() {
    Report report =
        new Report("The simulator next to a real cluster of 4 nodes x 2 slots on 4 cores");
    report
        .fact("input", "256 MB of text in 64 blocks of 4 MB, 64 MB where it says so")
        .fact(
            "fitted",
            "a container: "
                + WAIT
                + " s + "
                + START
                + " core seconds until it reads, "
                + STOP
                + " after; a block: 0.65 core seconds (WordCount), 0.40 (others)");
    Report.Table table =
        report.table(
            "job times",
            "job",
            "splits",
            "use",
            "measured_s",
            "simulated_s",
            "ratio",
            "measured_maps",
            "simulated_maps",
            "measured_cpu_s",
            "simulated_cpu_s");
    double worst = 1;
    for (Run run : RUNS) {
      SimResult result = simulate(run);
      JobResult job = result.jobs.get(0);
      double ratio = job.seconds() / run.seconds;
      table.row(
          run.job,
          run.what,
          run.fitted ? "fitted" : "predicted",
          run.seconds,
          job.seconds(),
          ratio,
          run.maps,
          job.maps,
          run.cpu == 0 ? "-" : say("%.0f", run.cpu),
          say("%.0f", result.coreSeconds));
      worst = run.fitted ? worst : Math.max(worst, Math.max(ratio, 1 / ratio));
    }
    report.claim(
        "predicted job times are within 20 % of the measured ones",
        "start-up 0.1 by container", say("at worst %.0f %% off", 100 * (worst - 1)), worst <= 1.2);
    return report;
  }
}
