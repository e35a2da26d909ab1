package io.braid.hadoop.plan;

import java.util.List;

/** What the planner decided. */
public final class Plan {
  private final Policy policy;
  private final String reason;
  private final List<Group> groups;

  Plan(Policy policy, String reason, List<Group> groups) {
    this.policy = policy;
    this.reason = reason;
    this.groups = List.copyOf(groups);
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
}
