package io.braid.hadoop.plan;

import java.util.Objects;

/** What the user may set about a plan. Immutable; {@code with...} gives a changed copy. */
public final class PlanSettings {
  public static final PlanSettings DEFAULTS =
      new PlanSettings(Policy.AUTO, 2, 0.5, 0.9, 0, Costs.ASSUMED);

  private final Policy policy;
  private final int ratio;
  private final double largeShare;
  private final double localFraction;
  private final long minimumBytes;
  private final Costs costs;

  private PlanSettings(
      Policy policy,
      int ratio,
      double largeShare,
      double localFraction,
      long minimumBytes,
      Costs costs) {
    check(ratio >= 2, "the ratio of sizes must be at least 2, not " + ratio);
    check(
        largeShare > 0 && largeShare <= 1,
        "the large share must be above 0, at most 1, not " + largeShare);
    check(
        localFraction >= 0 && localFraction <= 1,
        "the local fraction must be from 0 to 1, not " + localFraction);
    check(minimumBytes >= 0, "the minimum size can't be negative: " + minimumBytes);
    this.policy = Objects.requireNonNull(policy, "policy");
    this.ratio = ratio;
    this.largeShare = largeShare;
    this.localFraction = localFraction;
    this.minimumBytes = minimumBytes;
    this.costs = Objects.requireNonNull(costs, "costs");
  }

  private static void check(boolean right, String message) {
    if (!right) {
      throw new IllegalArgumentException(message);
    }
  }

  public PlanSettings withPolicy(Policy value) {
    return new PlanSettings(value, ratio, largeShare, localFraction, minimumBytes, costs);
  }

  public PlanSettings withRatio(int value) {
    return new PlanSettings(policy, value, largeShare, localFraction, minimumBytes, costs);
  }

  public PlanSettings withLargeShare(double value) {
    return new PlanSettings(policy, ratio, value, localFraction, minimumBytes, costs);
  }

  public PlanSettings withLocalFraction(double value) {
    return new PlanSettings(policy, ratio, largeShare, value, minimumBytes, costs);
  }

  public PlanSettings withMinimumBytes(long value) {
    return new PlanSettings(policy, ratio, largeShare, localFraction, value, costs);
  }

  public PlanSettings withCosts(Costs value) {
    return new PlanSettings(policy, ratio, largeShare, localFraction, minimumBytes, value);
  }

  public Policy policy() {
    return policy;
  }

  /** Each size of the assorted policies is the one before divided by this. */
  public int ratio() {
    return ratio;
  }

  /** The share of a node's slots that get the larger size at each step of the progression. */
  public double largeShare() {
    return largeShare;
  }

  /** A group is made on a node only as long as this share of it can be local. */
  public double localFraction() {
    return localFraction;
  }

  /** Groups below this many bytes are put together with others. */
  public long minimumBytes() {
    return minimumBytes;
  }

  public Costs costs() {
    return costs;
  }
}
