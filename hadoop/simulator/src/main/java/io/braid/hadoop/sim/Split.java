package io.braid.hadoop.sim;

/**
 * The blocks that one map container reads, in order, and the nodes it had best run on. Immutable.
 */
public final class Split {
  final int[] blocks;
  final int[] nodes;

  /** {@code nodes} may be empty: then any node is as good. */
  public Split(int[] blocks, int[] nodes) {
    this.blocks = blocks.clone();
    this.nodes = nodes.clone();
  }
}
