package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Groups as numbers of blocks and nodes, before hosts are looked up. Used by one thread. */
final class PlanDraft {
  /** What the numbers are those of. */
  final PlanInput in;

  final List<int[]> groups = new ArrayList<>();
  private int[] nodes = new int[16];

  PlanDraft(PlanInput in) {
    this.in = in;
  }

  void add(int[] blocks, int node) {
    if (groups.size() == nodes.length) {
      nodes = Arrays.copyOf(nodes, nodes.length * 2);
    }
    nodes[groups.size()] = node;
    groups.add(blocks);
  }

  /** The node for which the group was made; the pseudo-node for none. */
  int node(int group) {
    return nodes[group];
  }
}
