package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.List;

/** A plan that {@link Policy#AUTO} considers. Immutable. */
final class Candidate {
  /**
   * Shares of the largest size: the more, the fewer containers; the less, the better slow ones are
   * made up for.
   */
  private static final double[] SHARES = {0.75, 0.9};

  final Policy policy;
  final PlanSettings settings;
  final String label;

  private Candidate(Policy policy, PlanSettings settings, String label) {
    this.policy = policy;
    this.settings = settings;
    this.label = label;
  }

  /**
   * The fixed policies with the settings as they are (a container a block first), then other
   * shares.
   */
  static List<Candidate> all(PlanSettings settings) {
    List<Candidate> all = new ArrayList<>();
    for (Policy policy : Policy.values()) {
      if (policy != Policy.AUTO && policy != Policy.NONE) {
        all.add(new Candidate(policy, settings, policy.label()));
      }
    }
    for (double share : SHARES) {
      all.add(
          new Candidate(
              Policy.ASSORTED_BALANCED,
              settings.withLargeShare(share),
              Policy.ASSORTED_BALANCED.label() + " with a large share of " + share));
    }
    return all;
  }
}
