package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.BitSet;

/**
 * An owner for each block, and lists of the blocks by owner and by holder: those that fill a
 * container alone first, own blocks that another node holds as well side by side, else in the order
 * of the blocks. Plans with the same such blocks share the lists. For one thread.
 */
final class OwnedBlocks {
  /** By node, where its blocks start in a list of all; never changed. */
  static final class Lists {
    final int[] ownStart;
    final int[] ownBlocks;
    final int[] heldStart;
    final int[] heldBlocks;
    private final BitSet huge;

    private Lists(PlanInput in, int[] owner, BitSet huge) {
      int nodes = in.nowhere() + 1;
      this.huge = huge;
      this.ownStart = new int[nodes + 1];
      this.heldStart = new int[nodes + 1];
      this.ownBlocks = new int[owner.length];
      this.heldBlocks = new int[in.holderStart[owner.length]];
      for (int i = 0; i < owner.length; ++i) {
        ++ownStart[owner[i] + 1];
        for (int k = in.holderStart[i]; k < in.holderStart[i + 1]; ++k) {
          ++heldStart[in.holders[k] + 1];
        }
      }
      Arrays.parallelPrefix(ownStart, Integer::sum);
      Arrays.parallelPrefix(heldStart, Integer::sum);
      int[] ownTo = ownStart.clone();
      int[] heldTo = heldStart.clone();
      fill(in, owner, true, ownTo, heldTo);
      int[] ownHuge = ownTo.clone();
      fill(in, owner, false, ownTo, heldTo);
      Companions companions = new Companions(in);
      for (int node = 0; node < in.nowhere(); ++node) {
        companions.sort(node, ownBlocks, ownHuge[node], ownStart[node + 1]);
      }
    }

    private void fill(PlanInput in, int[] owner, boolean ofHuge, int[] ownTo, int[] heldTo) {
      for (int i = 0; i < owner.length; ++i) {
        if (huge.get(i) == ofHuge) {
          ownBlocks[ownTo[owner[i]]++] = i;
          for (int k = in.holderStart[i]; k < in.holderStart[i + 1]; ++k) {
            heldBlocks[heldTo[in.holders[k]]++] = i;
          }
        }
      }
    }
  }

  final PlanInput in;
  final int[] owner;
  private Lists lists;

  OwnedBlocks(PlanInput in, int[] owner) {
    this.in = in;
    this.owner = owner;
  }

  /** The lists for groups of these sizes. */
  Lists lists(GroupSizes sizes) {
    BitSet huge = new BitSet();
    for (int i = 0; i < owner.length; ++i) {
      if (sizes.measure[i] >= sizes.target) {
        huge.set(i);
      }
    }
    if (lists == null || !lists.huge.equals(huge)) {
      lists = new Lists(in, owner, huge);
    }
    return lists;
  }
}
