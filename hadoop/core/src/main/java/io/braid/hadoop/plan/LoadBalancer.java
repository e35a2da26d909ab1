package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.Comparator;
import java.util.TreeSet;

/**
 * Makes the groups of an exact plan alike: blocks that found no group join the smallest, then
 * blocks move from the largest group to the smallest until these differ by no more than the longest
 * block. Each move makes the two groups more alike; for blocks of equal length there is rarely one
 * to make.
 */
final class LoadBalancer {
  /** Rounding must not keep the moves going for ever. */
  private static final int MOVES_A_GROUP = 8;

  private final PlanInput in;
  private final double[] measure;
  private final PlanDraft draft;
  private final double[] sum;
  private final TreeSet<Integer> bySize;

  private LoadBalancer(PlanInput in, GroupSizes sizes, PlanDraft draft) {
    this.in = in;
    this.measure = sizes.measure;
    this.draft = draft;
    this.sum = new double[draft.groups.size()];
    this.bySize =
        new TreeSet<>(Comparator.<Integer>comparingDouble(g -> sum[g]).thenComparingInt(g -> g));
    for (int g = 0; g < sum.length; ++g) {
      for (int block : draft.groups.get(g)) {
        sum[g] += measure[block];
      }
      bySize.add(g);
    }
  }

  static void run(PlanInput in, GroupSizes sizes, PlanDraft draft, int[] rest) {
    LoadBalancer balancer = new LoadBalancer(in, sizes, draft);
    for (int block : rest) {
      int group = balancer.bySize.pollFirst();
      balancer.add(group, block);
      balancer.bySize.add(group);
    }
    balancer.move();
  }

  private void move() {
    double longest = 0;
    for (double m : measure) {
      longest = Math.max(longest, m);
    }
    for (long moves = (long) MOVES_A_GROUP * sum.length; moves > 0; --moves) {
      int from = bySize.last();
      int to = bySize.first();
      double gap = sum[from] - sum[to];
      if (gap <= longest) {
        return;
      }
      bySize.remove(from);
      bySize.remove(to);
      add(to, remove(from, choose(from, to, gap)));
      bySize.add(from);
      bySize.add(to);
    }
  }

  /**
   * The place of the block whose move leaves the two most alike; one that the receiver's node
   * holds, if there is any.
   */
  private int choose(int from, int to, double gap) {
    int[] blocks = draft.groups.get(from);
    int best = -1;
    boolean bestLocal = false;
    for (int k = 0; k < blocks.length; ++k) {
      boolean local = in.holds(draft.node(to), blocks[k]);
      double off = Math.abs(gap / 2 - measure[blocks[k]]);
      boolean closer = best < 0 || off < Math.abs(gap / 2 - measure[blocks[best]]);
      if (best < 0 || (local && !bestLocal) || (local == bestLocal && closer)) {
        best = k;
        bestLocal = local;
      }
    }
    return best;
  }

  private int remove(int group, int place) {
    int[] old = draft.groups.get(group);
    int[] now = new int[old.length - 1];
    System.arraycopy(old, 0, now, 0, place);
    System.arraycopy(old, place + 1, now, place, now.length - place);
    draft.groups.set(group, now);
    sum[group] -= measure[old[place]];
    return old[place];
  }

  private void add(int group, int block) {
    int[] old = draft.groups.get(group);
    int[] now = Arrays.copyOf(old, old.length + 1);
    now[old.length] = block;
    draft.groups.set(group, now);
    sum[group] += measure[block];
  }
}
