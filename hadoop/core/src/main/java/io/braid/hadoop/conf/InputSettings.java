package io.braid.hadoop.conf;

import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import org.apache.hadoop.conf.Configuration;

/** The planner's settings as a job's configuration has them. */
public final class InputSettings {
  private InputSettings() {}

  /** Reads the keys; IllegalArgumentException names a key whose value is not allowed. */
  public static PlanSettings plan(Configuration conf) {
    Keys.POLICY.check(conf);
    return PlanSettings.DEFAULTS
        .withPolicy(Policy.of(Keys.POLICY.text(conf)))
        .withRatio(Keys.RATIO.whole(conf))
        .withLargeShare(Keys.LARGE_SHARE.real(conf))
        .withWaves(Keys.WAVES.real(conf))
        .withFactoringShare(Keys.FACTORING_SHARE.real(conf))
        .withLocalFraction(Keys.LOCAL_FRACTION.real(conf))
        .withMinimumBytes(Keys.MINIMUM_BYTES.bytes(conf))
        .withMaximumBytes(Keys.MAXIMUM_BYTES.bytes(conf))
        .withMaximumSeconds(Keys.MAXIMUM_SECONDS.real(conf))
        .withCosts(costs(conf, Costs.ASSUMED));
  }

  /** The costs as set; what is not set is as in {@code base}. */
  public static Costs costs(Configuration conf, Costs base) {
    boolean areSpreadsSet =
        Keys.COST_BLOCK_SPREAD.isSet(conf)
            || Keys.COST_CONTAINER_SPREAD.isSet(conf)
            || Keys.COST_NODE_SPREAD.isSet(conf);
    boolean areTimesSet = Keys.COST_START.isSet(conf) && Keys.COST_RATE.isSet(conf);
    return new Costs(
            set(Keys.COST_START, conf, base.startSeconds()),
            Keys.COST_RATE.isSet(conf) ? Keys.COST_RATE.bytes(conf) : base.bytesPerSecond(),
            set(Keys.COST_BLOCK_SPREAD, conf, base.blockSpread()),
            set(Keys.COST_CONTAINER_SPREAD, conf, base.containerSpread()),
            set(Keys.COST_NODE_SPREAD, conf, base.nodeSpread()))
        .withOpen(set(Keys.COST_OPEN, conf, base.openSeconds()))
        .withLocalityWait(set(Keys.COST_LOCALITY_WAIT, conf, base.localityWaitSeconds()))
        .assumed(
            base.areTimesAssumed() && !areTimesSet, base.areSpreadsAssumed() && !areSpreadsSet);
  }

  private static double set(Key key, Configuration conf, double base) {
    return key.isSet(conf) ? key.real(conf) : base;
  }
}
