package io.braid.hadoop.plan;

import java.util.Objects;
import java.util.function.Consumer;

/** What the user may set about a plan. Immutable; {@code with...} gives a changed copy. */
public final class PlanSettings implements Cloneable {
  public static final PlanSettings DEFAULTS = new PlanSettings();

  private Policy policy = Policy.AUTO;
  private int ratio = 2;
  private double largeShare = 0.5;
  private double waves = 1.7;
  private double factoringShare = 0.5;
  private double localFraction = 0.9;
  private long minimumBytes;
  private long maximumBytes;
  private double maximumSeconds = 1800;
  private Costs costs = Costs.ASSUMED;

  private PlanSettings() {}

  private static void check(boolean right, String message) {
    if (!right) {
      throw new IllegalArgumentException(message);
    }
  }

  private PlanSettings with(Consumer<PlanSettings> change) {
    try {
      PlanSettings copy = (PlanSettings) clone();
      change.accept(copy);
      return copy;
    } catch (CloneNotSupportedException e) {
      throw new AssertionError(e);
    }
  }

  public PlanSettings withPolicy(Policy value) {
    Objects.requireNonNull(value, "policy");
    return with(copy -> copy.policy = value);
  }

  public PlanSettings withRatio(int value) {
    check(value >= 2, "the ratio of sizes must be at least 2, not " + value);
    return with(copy -> copy.ratio = value);
  }

  public PlanSettings withLargeShare(double value) {
    check(value > 0 && value <= 1, "the large share must be above 0, at most 1, not " + value);
    return with(copy -> copy.largeShare = value);
  }

  public PlanSettings withWaves(double value) {
    check(value >= 1 && value <= 1000, "the waves must be from 1 to 1000, not " + value);
    return with(copy -> copy.waves = value);
  }

  public PlanSettings withFactoringShare(double value) {
    check(value > 0 && value < 1, "the share of a batch must be between 0 and 1, not " + value);
    return with(copy -> copy.factoringShare = value);
  }

  public PlanSettings withLocalFraction(double value) {
    check(value >= 0 && value <= 1, "the local fraction must be from 0 to 1, not " + value);
    return with(copy -> copy.localFraction = value);
  }

  public PlanSettings withMinimumBytes(long value) {
    check(value >= 0, "the minimum size can't be negative: " + value);
    return with(copy -> copy.minimumBytes = value);
  }

  /** 0: no limit. */
  public PlanSettings withMaximumBytes(long value) {
    check(value >= 0, "the maximum size can't be negative: " + value);
    return with(copy -> copy.maximumBytes = value);
  }

  /** 0: no limit. */
  public PlanSettings withMaximumSeconds(double value) {
    check(value >= 0, "the maximum of seconds can't be negative: " + value);
    return with(copy -> copy.maximumSeconds = value);
  }

  public PlanSettings withCosts(Costs value) {
    Objects.requireNonNull(value, "costs");
    return with(copy -> copy.costs = value);
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

  /** Groups for each slot under {@link Policy#WAVES}. */
  public double waves() {
    return waves;
  }

  /** The share of what is left that a batch reads under {@link Policy#FACTORING}. */
  public double factoringShare() {
    return factoringShare;
  }

  /** A group is made on a node only as long as this share of it can be local. */
  public double localFraction() {
    return localFraction;
  }

  /** Groups below this many bytes are put together with others. */
  public long minimumBytes() {
    return minimumBytes;
  }

  /** Groups of several blocks are not made larger than this by much; 0: no limit. */
  public long maximumBytes() {
    return maximumBytes;
  }

  /** The same in seconds of work; 0: no limit. */
  public double maximumSeconds() {
    return maximumSeconds;
  }

  public Costs costs() {
    return costs;
  }

  /** The largest measure of a group of several blocks by both limits. */
  double mostMeasure() {
    double bytes = maximumBytes == 0 ? Double.MAX_VALUE : maximumBytes;
    double seconds =
        maximumSeconds == 0 ? Double.MAX_VALUE : maximumSeconds * costs.bytesPerSecond();
    return Math.max(1, Math.min(bytes, seconds));
  }
}
