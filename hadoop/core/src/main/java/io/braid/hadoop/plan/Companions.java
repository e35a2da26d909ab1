package io.braid.hadoop.plan;

import java.util.Arrays;

/**
 * Puts a node's blocks in an order in which those that the same other node holds as well are
 * neighbours: groups of neighbours then have a second host to ask for. For one thread.
 */
final class Companions {
  private static final int PLACE_BITS = 26;
  private static final int NODE_BITS = 18;
  private static final int MOST = (1 << 19) - 1;

  private final PlanInput in;
  private final int[] count;

  Companions(PlanInput in) {
    this.in = in;
    this.count = new int[in.nowhere() + 1];
  }

  /** Sorts that part of the blocks: by the other holder of most of them, then as they were. */
  void sort(int node, int[] blocks, int from, int to) {
    if (to - from < 3 || to - from > 1 << PLACE_BITS || in.nowhere() >= 1 << NODE_BITS) {
      return;
    }
    countHolders(blocks, from, to, 1);
    long[] keys = new long[to - from];
    for (int i = from; i < to; ++i) {
      int best = companion(node, blocks[i]);
      int many = best == node ? 0 : Math.min(MOST, count[best]);
      keys[i - from] = ((long) (MOST - many) << NODE_BITS | best) << PLACE_BITS | (long) (i - from);
    }
    countHolders(blocks, from, to, 0);
    Arrays.sort(keys);
    int[] old = Arrays.copyOfRange(blocks, from, to);
    for (int i = 0; i < keys.length; ++i) {
      blocks[from + i] = old[(int) (keys[i] & (1 << PLACE_BITS) - 1)];
    }
  }

  /** Counts the blocks of each of their holders, or forgets the counts. */
  private void countHolders(int[] blocks, int from, int to, int step) {
    for (int i = from; i < to; ++i) {
      for (int k = in.holderStart[blocks[i]]; k < in.holderStart[blocks[i] + 1]; ++k) {
        count[in.holders[k]] = step == 0 ? 0 : count[in.holders[k]] + step;
      }
    }
  }

  /** The other holder of the block with most of the counted blocks; the node itself if none. */
  private int companion(int node, int block) {
    int best = node;
    for (int k = in.holderStart[block]; k < in.holderStart[block + 1]; ++k) {
      int other = in.holders[k];
      boolean better =
          best == node
              || count[other] > count[best]
              || (count[other] == count[best] && other < best);
      if (other != node && better) {
        best = other;
      }
    }
    return best;
  }
}
