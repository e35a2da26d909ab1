package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.Runs.MIB;
import static io.braid.hadoop.sim.Runs.say;

import io.braid.hadoop.plan.Policy;
import java.util.List;

/**
 * The simulator next to a real cluster: 4 nodes of 2 slots, all on one machine of 4 cores, with an
 * extra slot for the application master; the runs of hadoop/docs/measurements.json. A container's
 * costs and a block's are fitted to the runs with maximum splits; the other runs are then
 * predicted. Not thread safe.
 */
final class Calibration {
  private static final int CORES = 4;
  private static final int BLOCKS = 32;
  private static final long BLOCK_BYTES = 2L << 20;

  /** Seconds until the application master asks for containers. */
  private static final double MASTER = 4.7;

  /**
   * Seconds that a container waits for others than processors, its core seconds until it reads, and
   * after.
   */
  private static final double WAIT = 0.8;

  private static final double START = 6.8;
  private static final double STOP = 2.9;

  /** One of the example programs: core seconds of a block, and reducers. */
  private enum Program {
    WORD_COUNT("WordCount", 0.77, 1),
    GREP("Grep", 0.17, 1),
    SORT("Sort", 0.48, 2);

    final String label;
    final double workOfBlock;
    final int reducers;

    Program(String label, double workOfBlock, int reducers) {
      this.label = label;
      this.workOfBlock = workOfBlock;
      this.reducers = reducers;
    }
  }

  /** What was measured on the real cluster: medians of so many runs. */
  private static final class Run {
    final Program program;
    final String what;
    final Policy policy;
    final int runs;
    final double seconds;
    final int maps;
    final double cpu;

    Run(
        Program program,
        String what,
        Policy policy,
        int runs,
        double seconds,
        int maps,
        double cpu) {
      this.program = program;
      this.what = what;
      this.policy = policy;
      this.runs = runs;
      this.seconds = seconds;
      this.maps = maps;
      this.cpu = cpu;
    }

    boolean isFitted() {
      return policy == Policy.MAXIMUM;
    }
  }

  private static final List<Run> RUNS =
      List.of(
          new Run(Program.WORD_COUNT, "maximum", Policy.MAXIMUM, 3, 38.5, 8, 113),
          new Run(Program.WORD_COUNT, "default", Policy.NONE, 1, 71.8, 32, 252),
          new Run(
              Program.WORD_COUNT, "assorted-balanced", Policy.ASSORTED_BALANCED, 1, 46.2, 16, 149),
          new Run(Program.GREP, "maximum", Policy.MAXIMUM, 4, 33.2, 8, 95),
          new Run(Program.GREP, "default", Policy.NONE, 1, 78.7, 32, 279),
          new Run(Program.GREP, "assorted-balanced", Policy.ASSORTED_BALANCED, 1, 53.8, 16, 177),
          new Run(Program.SORT, "maximum", Policy.MAXIMUM, 2, 37.5, 8, 111),
          new Run(Program.SORT, "default", Policy.NONE, 1, 96.1, 32, 345),
          new Run(Program.SORT, "assorted-balanced", Policy.ASSORTED_BALANCED, 1, 55.1, 16, 179));

  private Calibration() {}

  private static SimResult simulate(Run run) {
    ClusterSpec cluster =
        ClusterSpec.dissertation()
            .nodes(4, 2)
            .racks(1)
            .cores(CORES, 4)
            .rates(500.0 * MIB, 1000.0 * MIB, 1000.0 * MIB)
            .master(MASTER, 1)
            .start(WAIT, START, 2, 0.1)
            .stop(STOP, 2);
    JobSpec job =
        new JobSpec(run.program.label)
            .input(BLOCKS * BLOCK_BYTES, BLOCK_BYTES, 2)
            .map(run.program.workOfBlock / BLOCK_BYTES, 0.01, 1)
            .reduce(run.program.reducers, 0, 1, 1)
            .plan(Runs.settings(run.policy));
    return new Simulation(cluster, Simulation.Discipline.FAIR, 1).run(List.of(job));
  }

  static Report report() {
    Report report =
        new Report("The simulator next to a real cluster of 4 nodes x 2 slots on 4 cores");
    report
        .fact("input", "64 MB of text in 32 blocks of 2 MB")
        .fact(
            "fitted",
            "to the runs with maximum splits. A container: "
                + WAIT
                + " s + "
                + START
                + " core seconds until it reads, "
                + STOP
                + " after; a block: 0.77 core seconds (WordCount), 0.17 (Grep), 0.48 (Sort)");
    Report.Table table =
        report.table(
            "job times",
            "job",
            "splits",
            "use",
            "runs",
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
          run.program.label,
          run.what,
          run.isFitted() ? "fitted" : "predicted",
          run.runs,
          run.seconds,
          job.seconds(),
          ratio,
          run.maps,
          job.maps,
          run.cpu,
          result.coreSeconds);
      worst = run.isFitted() ? worst : Math.max(worst, Math.max(ratio, 1 / ratio));
    }
    report.claim(
        "predicted job times are within 20 % of the measured ones",
        "start-up 0.1 by container", say("at worst %.0f %% off", 100 * (worst - 1)), worst <= 1.2);
    return report;
  }
}
