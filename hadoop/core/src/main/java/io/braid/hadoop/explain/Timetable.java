package io.braid.hadoop.explain;

import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.Plan;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * Which container runs when and in which slot, for the picture: the slot that is free first takes
 * the largest group that asks for its host, or any when none does. Without spreads. Immutable once
 * made.
 */
final class Timetable {
  /** One container's place. */
  static final class Run {
    final Group group;
    final int lane;
    final double start;
    final double end;

    Run(Group group, int lane, double start, double end) {
      this.group = group;
      this.lane = lane;
      this.start = start;
      this.end = end;
    }
  }

  final List<Run> runs = new ArrayList<>();

  /** Each lane is a slot; lanes of a node are neighbours. */
  final List<String> laneHosts = new ArrayList<>();

  final double end;

  Timetable(Plan plan, List<Node> nodes, Costs costs) {
    List<Node> sorted = new ArrayList<>(nodes);
    sorted.sort(Comparator.comparing(Node::host));
    for (Node node : sorted) {
      for (int s = 0; s < node.slots(); ++s) {
        laneHosts.add(node.host());
      }
    }
    List<Group> groups = new ArrayList<>(plan.groups());
    groups.sort(Comparator.comparingLong(Group::length).reversed());
    Waiting waiting = new Waiting(groups);
    PriorityQueue<double[]> free =
        new PriorityQueue<>(
            Comparator.<double[]>comparingDouble(f -> f[0]).thenComparingDouble(f -> f[1]));
    for (int lane = 0; lane < laneHosts.size(); ++lane) {
      free.add(new double[] {0, lane});
    }
    double last = 0;
    for (int k = 0; k < groups.size(); ++k) {
      double[] slot = free.remove();
      int lane = (int) slot[1];
      Group group = waiting.next(laneHosts.get(lane));
      double start = slot[0];
      slot[0] += costs.startSeconds() + group.length() / costs.bytesPerSecond();
      last = Math.max(last, slot[0]);
      runs.add(new Run(group, lane, start, slot[0]));
      free.add(slot);
    }
    end = last;
  }

  /** Groups not yet run, largest first, also by the hosts they ask for. */
  private static final class Waiting {
    private final Set<Group> left = Collections.newSetFromMap(new IdentityHashMap<>());
    private final ArrayDeque<Group> all;
    private final Map<String, ArrayDeque<Group>> preferred = new HashMap<>();
    private final Map<String, ArrayDeque<Group>> further = new HashMap<>();

    Waiting(List<Group> groups) {
      left.addAll(groups);
      all = new ArrayDeque<>(groups);
      for (Group group : groups) {
        for (int h = 0; h < group.hosts().size(); ++h) {
          (h == 0 ? preferred : further)
              .computeIfAbsent(group.hosts().get(h), n -> new ArrayDeque<>())
              .add(group);
        }
      }
    }

    /** One that prefers the host, else one that asks for it too, else any. */
    Group next(String host) {
      for (ArrayDeque<Group> queue :
          List.of(
              preferred.getOrDefault(host, new ArrayDeque<>()),
              further.getOrDefault(host, new ArrayDeque<>()),
              all)) {
        while (!queue.isEmpty()) {
          Group group = queue.remove();
          if (left.remove(group)) {
            return group;
          }
        }
      }
      throw new IllegalStateException("no group is left");
    }
  }
}
