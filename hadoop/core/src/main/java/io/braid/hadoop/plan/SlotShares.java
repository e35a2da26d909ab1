package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * Shares the slots among kinds of blocks in proportion to their bytes, at least one for each, where
 * most of a kind lies. With more kinds than slots, slots are given several times over. Used by one
 * thread, once.
 */
final class SlotShares {
  private final PlanInput in;
  private final int[] free;
  private long freeInAll;

  private SlotShares(PlanInput in) {
    this.in = in;
    this.free = in.slots.clone();
    this.freeInAll = in.totalSlots;
  }

  /** The slots of each kind by node; {@code kinds} are numbers of blocks. */
  static List<Map<Integer, Integer>> of(PlanInput in, List<int[]> kinds) {
    double[] bytes = new double[kinds.size()];
    Integer[] order = new Integer[bytes.length];
    for (int k = 0; k < bytes.length; ++k) {
      order[k] = k;
      for (int block : kinds.get(k)) {
        bytes[k] += Math.max(1, in.lengths[block]);
      }
    }
    Arrays.sort(
        order, Comparator.<Integer>comparingDouble(k -> -bytes[k]).thenComparingInt(k -> k));
    SlotShares shares = new SlotShares(in);
    List<Map<Integer, Integer>> slots = new ArrayList<>();
    for (int k = 0; k < bytes.length; ++k) {
      slots.add(Map.of());
    }
    double bytesLeft = Arrays.stream(bytes).sum();
    long left = in.totalSlots;
    for (int rank = 0; rank < order.length; ++rank) {
      int k = order[rank];
      // The smaller ones need one each; what rounding leaves falls to the next.
      long most = Math.max(1, left - (order.length - rank - 1));
      long count = Math.round(left * bytes[k] / bytesLeft);
      count = Math.max(1, Math.min(most, count));
      slots.set(k, shares.take((int) count, kinds.get(k)));
      left = Math.max(0, left - count);
      bytesLeft -= bytes[k];
    }
    return slots;
  }

  /** So many slots, on the nodes that hold most for each of them. */
  private Map<Integer, Integer> take(int count, int[] blocks) {
    Map<Integer, Double> held = new HashMap<>();
    for (int block : blocks) {
      for (int k = in.holderStart[block]; k < in.holderStart[block + 1]; ++k) {
        held.merge(in.holders[k], Math.max(1.0, in.lengths[block]), Double::sum);
      }
    }
    held.remove(in.nowhere());
    Map<Integer, Integer> taken = new HashMap<>();
    PriorityQueue<double[]> nodes =
        new PriorityQueue<>(
            Comparator.<double[]>comparingDouble(n -> -n[1]).thenComparingDouble(n -> n[0]));
    held.forEach((node, bytes) -> nodes.add(new double[] {node, bytes}));
    for (int given = 0; given < count; ++given) {
      if (freeInAll == 0) {
        System.arraycopy(in.slots, 0, free, 0, free.length);
        freeInAll = in.totalSlots;
      }
      while (!nodes.isEmpty() && free[(int) nodes.peek()[0]] == 0) {
        nodes.remove();
      }
      int node = nodes.isEmpty() ? widest() : (int) nodes.peek()[0];
      if (!nodes.isEmpty()) {
        nodes.remove();
        nodes.add(new double[] {node, held.get(node) / (taken.getOrDefault(node, 0) + 2)});
      }
      --free[node];
      --freeInAll;
      taken.merge(node, 1, Integer::sum);
    }
    return taken;
  }

  /** The node with most free slots. */
  private int widest() {
    int widest = 0;
    for (int n = 1; n < free.length; ++n) {
      widest = free[n] > free[widest] ? n : widest;
    }
    return widest;
  }
}
