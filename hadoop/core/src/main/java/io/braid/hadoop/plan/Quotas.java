package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.Comparator;

/** Shares a number of groups among the nodes in proportion to their slots. */
final class Quotas {
  private Quotas() {}

  /**
   * As many groups in all as wanted; the pseudo-node (last) gets the share of the blocks that are
   * nowhere.
   */
  static int[] of(PlanInput in, double[] measure, int groups) {
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
    return quota;
  }

  /**
   * Whole numbers in proportion to the slots: the parts cut off go to the nodes that lost most,
   * then hold most.
   */
  private static int[] shares(PlanInput in, double[] held, int groups) {
    int[] quota = new int[in.nowhere() + 1];
    double[] lost = new double[in.nowhere()];
    Integer[] order = new Integer[in.nowhere()];
    int left = groups;
    for (int n = 0; n < order.length; ++n) {
      double share = (double) groups * in.slots[n] / in.totalSlots;
      quota[n] = (int) Math.floor(share);
      lost[n] = share - quota[n];
      left -= quota[n];
      order[n] = n;
    }
    Arrays.sort(
        order,
        Comparator.<Integer>comparingDouble(n -> -lost[n])
            .thenComparingDouble(n -> -held[n])
            .thenComparingInt(n -> n));
    for (int k = 0; k < left; ++k) {
      ++quota[order[k % order.length]];
    }
    return quota;
  }
}
