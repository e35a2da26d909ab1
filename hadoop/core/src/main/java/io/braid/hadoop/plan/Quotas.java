package io.braid.hadoop.plan;

/** Shares a number of groups among the nodes in proportion to their slots. Immutable. */
final class Quotas {
  /** The groups of each node, the pseudo-node last. */
  final int[] groups;

  /** What the blocks that a node holds measure. */
  final double[] held;

  /** What all blocks measure. */
  final double total;

  private Quotas(int[] groups, double[] held, double total) {
    this.groups = groups;
    this.held = held;
    this.total = total;
  }

  /**
   * As many groups in all as wanted; the pseudo-node (last) gets the share of the blocks that are
   * nowhere.
   */
  static Quotas of(PlanInput in, double[] measure, int groups) {
    double[] held = new double[in.nowhere() + 1];
    double total = 0;
    for (int i = 0; i < measure.length; ++i) {
      total += measure[i];
      for (int k = in.holderStart[i]; k < in.holderStart[i + 1]; ++k) {
        held[in.holders[k]] += measure[i];
      }
    }
    int nowhere = (int) Math.round(groups * held[in.nowhere()] / total);
    if (held[in.nowhere()] == total) {
      nowhere = groups;
    }
    int[] quota = shares(in, held, groups - nowhere);
    quota[in.nowhere()] = nowhere;
    return new Quotas(quota, held, total);
  }

  /**
   * Whole numbers in proportion to the slots: the parts cut off go to the nodes that lost most,
   * then hold most.
   */
  private static int[] shares(PlanInput in, double[] held, int groups) {
    int[] quota = new int[in.nowhere() + 1];
    long[] lost = new long[in.nowhere()];
    long[] keys = new long[in.nowhere()];
    int left = groups;
    for (int n = 0; n < keys.length; ++n) {
      double share = (double) groups * in.slots[n] / in.totalSlots;
      quota[n] = (int) Math.floor(share);
      lost[n] = StableOrder.key(-(share - quota[n]));
      keys[n] = StableOrder.key(-held[n]);
      left -= quota[n];
    }
    int[] byHeld = StableOrder.of(keys);
    for (int k = 0; k < keys.length; ++k) {
      keys[k] = lost[byHeld[k]];
    }
    int[] order = StableOrder.of(keys);
    for (int k = 0; k < left; ++k) {
      ++quota[byHeld[order[k % order.length]]];
    }
    return quota;
  }
}
