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
    return PlanSettings.DEFAULTS
        .withPolicy(policy(conf))
        .withRatio(Keys.RATIO.whole(conf))
        .withLargeShare(Keys.LARGE_SHARE.real(conf))
        .withLocalFraction(Keys.LOCAL_FRACTION.real(conf))
        .withMinimumBytes(Keys.MINIMUM_BYTES.bytes(conf))
        .withCosts(costs(conf));
  }

  private static Policy policy(Configuration conf) {
    String value = Keys.POLICY.text(conf);
    try {
      return Policy.of(value);
    } catch (IllegalArgumentException e) {
      throw Keys.POLICY.refusal(value, e);
    }
  }

  private static Costs costs(Configuration conf) {
    return new Costs(Keys.COST_START.real(conf), Keys.COST_RATE.bytes(conf),
        Keys.COST_BLOCK_SPREAD.real(conf), Keys.COST_CONTAINER_SPREAD.real(conf));
  }
}
