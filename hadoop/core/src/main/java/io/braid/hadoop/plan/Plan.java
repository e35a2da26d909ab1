package io.braid.hadoop.plan;

import java.util.List;

/** What the planner decided. Immutable. */
public final class Plan {
  private final Policy policy;
  private final String reason;
  private final List<Group> groups;
  private final List<PlanForecast> forecasts;
  private final List<Costs> assumptions;

  Plan(Policy policy, String reason, List<Group> groups) {
    this(policy, reason, groups, List.of(), List.of());
  }

  Plan(
      Policy policy,
      String reason,
      List<Group> groups,
      List<PlanForecast> forecasts,
      List<Costs> assumptions) {
    this.policy = policy;
    this.reason = reason;
    this.groups = List.copyOf(groups);
    this.forecasts = List.copyOf(forecasts);
    this.assumptions = List.copyOf(assumptions);
  }

  /** The policy that made the groups; never AUTO. */
  public Policy policy() {
    return policy;
  }

  /** Why this policy, in one clause for a log line. */
  public String reason() {
    return reason;
  }

  /** Each block of the input is in exactly one group. */
  public List<Group> groups() {
    return groups;
  }

  /** All plans that were considered; empty unless there was a choice. */
  public List<PlanForecast> forecasts() {
    return forecasts;
  }

  /** The costs of the forecasts, those that are known or most likely first. */
  public List<Costs> assumptions() {
    return assumptions;
  }
}
