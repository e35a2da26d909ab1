package io.braid.hadoop.explain;

import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Node;
import java.util.List;

/** What is to be planned, and in words where it comes from. Immutable. */
final class Scene {
  final List<Block> blocks;
  final List<Node> nodes;
  final String what;

  Scene(List<Block> blocks, List<Node> nodes, String what) {
    this.blocks = List.copyOf(blocks);
    this.nodes = List.copyOf(nodes);
    this.what = what;
  }

  int slots() {
    return (int) Math.min(Integer.MAX_VALUE, nodes.stream().mapToLong(Node::slots).sum());
  }
}
