package io.braid.hadoop.explain;

import io.braid.hadoop.plan.Forecast;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Planner;
import io.braid.hadoop.plan.Policy;
import java.util.Arrays;

/** What one policy does with the blocks. Immutable. */
final class Row {
  final Policy asked;
  final Plan plan;
  final Forecast forecast;
  final long[] lengths;
  final long bytes;
  final long localBytes;

  /** If each container ran on the listed host that holds least of it. */
  final long leastLocalBytes;

  private Row(Policy asked, Plan plan, Forecast forecast) {
    this.asked = asked;
    this.plan = plan;
    this.forecast = forecast;
    this.lengths = plan.groups().stream().mapToLong(Group::length).sorted().toArray();
    this.bytes = Arrays.stream(lengths).sum();
    this.localBytes = plan.groups().stream().mapToLong(Group::localLength).sum();
    this.leastLocalBytes = plan.groups().stream().mapToLong(Group::leastLocalLength).sum();
  }

  static Row of(Scene scene, PlanSettings settings, Policy policy) {
    Plan plan = Planner.plan(scene.blocks, scene.nodes, settings.withPolicy(policy));
    return new Row(policy, plan, Forecast.of(plan, scene.nodes, settings.costs()));
  }

  long least() {
    return lengths.length == 0 ? 0 : lengths[0];
  }

  long median() {
    return lengths.length == 0 ? 0 : lengths[lengths.length / 2];
  }

  long most() {
    return lengths.length == 0 ? 0 : lengths[lengths.length - 1];
  }

  double leastLocalPercent() {
    return bytes == 0 ? 100 : 100.0 * leastLocalBytes / bytes;
  }

  double localPercent() {
    return bytes == 0 ? 100 : 100.0 * localBytes / bytes;
  }
}
