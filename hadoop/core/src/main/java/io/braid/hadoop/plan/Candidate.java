package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A plan that {@link Policy#AUTO} considers. Immutable. */
final class Candidate {
  /**
   * Shares of the largest size: the more, the fewer containers; the less, the better slow ones are
   * made up for.
   */
  private static final double[] LARGE_SHARES = {0.75, 0.9};

  private static final double[] FACTORING_SHARES = {0.3, 0.7, 0.85};
  private static final double[] WAVES = {2, 2.5, 3, 4, 5, 7, 10};

  /** Of more, each plan takes so long that only one of each family is considered. */
  private static final int MANY_BLOCKS = 200_000;

  final Policy policy;
  final PlanSettings settings;
  final String label;

  private Candidate(Policy policy, PlanSettings settings, String label) {
    this.policy = policy;
    this.settings = settings;
    this.label = label;
  }

  /**
   * The fixed policies with the settings as they are (a container a block first), then with others.
   */
  static List<Candidate> all(PlanSettings settings, int blocks, int slots) {
    List<Candidate> all = new ArrayList<>();
    for (Policy policy : Policy.values()) {
      if (policy != Policy.AUTO) {
        all.add(new Candidate(policy, settings, policy.label()));
      }
    }
    if (blocks > MANY_BLOCKS) {
      return all;
    }
    for (double share : LARGE_SHARES) {
      all.add(
          of(
              Policy.ASSORTED_BALANCED,
              settings.withLargeShare(share),
              "%s with a large share of %s",
              share));
    }
    for (double share : FACTORING_SHARES) {
      all.add(
          of(
              Policy.FACTORING,
              settings.withFactoringShare(share),
              "%s with batches of %s of the rest",
              share));
    }
    for (double waves : WAVES) {
      if (waves < (double) blocks / slots) {
        all.add(of(Policy.WAVES, settings.withWaves(waves), "%s, %s a slot", waves));
      }
    }
    return all;
  }

  private static Candidate of(Policy policy, PlanSettings settings, String format, double value) {
    String number = value == Math.rint(value) ? String.valueOf((long) value) : "" + value;
    return new Candidate(
        policy, settings, String.format(Locale.ROOT, format, policy.label(), number));
  }
}
