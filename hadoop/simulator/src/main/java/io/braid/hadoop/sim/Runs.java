package io.braid.hadoop.sim;

import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;

/** What the figures share: clusters and jobs of the text, repeated runs and their medians. */
final class Runs {
  static final long GIB = 1L << 30;
  static final long MIB = 1L << 20;
  static final int SLOTS = 8;

  /** Runs of each point, with seeds 1, 2, ...; their median is shown. */
  static final int REPEATS = 9;

  /** Start-ups vary, or all slots would start and read in step. */
  static final double START_SPREAD = 0.3;

  /** Under which the figures are tried: what is drawn a block, a container or a node. */
  static final List<Skew> SKEWS =
      List.of(Skew.independent(0.8), Skew.correlated(0.8), Skew.nodes(0.25));

  private Runs() {}

  static PlanSettings settings(Policy policy) {
    return PlanSettings.DEFAULTS.withPolicy(policy);
  }

  /**
   * Figures 6 and 7: so many of a node's slots get a split of the largest size, and all other
   * blocks are splits by themselves. That is Algorithm 2 with one size only.
   */
  static PlanSettings largest(int slots) {
    if (slots == 0) {
      return settings(Policy.NONE);
    }
    return slots == SLOTS
        ? settings(Policy.MAXIMUM)
        : settings(Policy.ASSORTED_STRICT)
            .withRatio(1_000_000)
            .withLargeShare((double) slots / SLOTS);
  }

  static SimResult run(Skew skew, long seed, double sampleSeconds, JobSpec... jobs) {
    ClusterSpec cluster = cluster(skew, jobs);
    return new Simulation(cluster, Simulation.Discipline.FAIR, seed)
        .run(List.of(jobs), sampleSeconds);
  }

  /**
   * The text's cluster, with nodes that differ and Greps that vary by the skew; other jobs vary
   * little, as the text blames the variance on what Grep computes.
   */
  static ClusterSpec cluster(Skew skew, JobSpec... jobs) {
    ClusterSpec cluster = ClusterSpec.dissertation().nodeSpread(skew.node);
    cluster.start(cluster.launchSeconds, cluster.startCpuSeconds, 1, START_SPREAD);
    for (JobSpec job : jobs) {
      if (job.name.equals("grep")) {
        skew.apply(cluster, job);
      } else {
        job.skew(0.1, 0);
      }
    }
    return cluster;
  }

  /** The median over the seeds of something that a run has shown. */
  static double median(Skew skew, JobSpec job, ToDoubleFunction<SimResult> value) {
    double[] values = new double[REPEATS];
    for (int i = 0; i < REPEATS; ++i) {
      values[i] = value.applyAsDouble(run(skew, 1 + i, 0, job));
    }
    return median(values);
  }

  static double median(double[] values) {
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    int middle = sorted.length / 2;
    return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  }

  static double seconds(SimResult result) {
    return result.jobs.get(0).seconds();
  }

  static String say(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
