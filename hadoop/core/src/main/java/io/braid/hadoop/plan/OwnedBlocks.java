package io.braid.hadoop.plan;

import java.util.BitSet;

/**
 * An owner for each block, and lists of the blocks by owner and by holder: those that fill a
 * container alone first, own blocks that another node holds as well side by side, else in the order
 * of the blocks. The blocks are numbered anew, owner by owner, each owner's in the order that they
 * had: groups are mostly made of one owner's blocks, whose figures then lie side by side in memory.
 * Plans with the same blocks that fill a container share the lists. For one thread.
 */
final class OwnedBlocks {
  /** By node, where its blocks start in a list of all; never changed. */
  final class Lists {
    final PlanInput in = OwnedBlocks.this.in;
    final int[] owner = OwnedBlocks.this.owner;
    final int[] ownStart = OwnedBlocks.this.ownStart;
    final int[] ownBlocks;
    private final BitSet huge; // by the numbers in the part
    private int[] heldStart;
    private int[] heldBlocks;

    private Lists(BitSet huge) {
      this.huge = huge;
      this.ownBlocks = new int[places.length];
      BitSet hugeHere = new BitSet();
      for (int i = huge.nextSetBit(0); i >= 0; i = huge.nextSetBit(i + 1)) {
        hugeHere.set(places[i]);
      }
      Companions companions = new Companions(in);
      for (int node = 0; node <= in.nowhere(); ++node) {
        int to = own(hugeHere, true, node, ownStart[node]);
        own(hugeHere, false, node, to);
        if (node != in.nowhere()) {
          companions.sort(node, ownBlocks, to, ownStart[node + 1]);
        }
      }
    }

    private int own(BitSet hugeHere, boolean ofHuge, int node, int from) {
      int to = from;
      for (int block = ownStart[node]; block < ownStart[node + 1]; ++block) {
        if (hugeHere.get(block) == ofHuge) {
          ownBlocks[to++] = block;
        }
      }
      return to;
    }

    int[] heldStart() {
      hold();
      return heldStart;
    }

    int[] heldBlocks() {
      hold();
      return heldBlocks;
    }

    /** Makes the lists by holder: not all plans need them. */
    private void hold() {
      if (heldStart != null) {
        return;
      }
      heldStart = new int[in.nowhere() + 2];
      heldBlocks = new int[in.holders.length];
      for (int k = 0; k < heldBlocks.length; ++k) {
        ++heldStart[in.holders[k] + 1];
      }
      for (int node = 0; node <= in.nowhere(); ++node) {
        heldStart[node + 1] += heldStart[node];
      }
      int[] to = heldStart.clone();
      hold(true, to);
      hold(false, to);
    }

    private void hold(boolean ofHuge, int[] to) {
      if (ofHuge && huge.isEmpty()) {
        return;
      }
      for (int i = 0; i < places.length; ++i) {
        if (huge.get(i) == ofHuge) {
          for (int k = part.holderStart[i]; k < part.holderStart[i + 1]; ++k) {
            heldBlocks[to[part.holders[k]]++] = places[i];
          }
        }
      }
    }

    /** The part's first block from the i-th on that fills a container; -1 if there is none. */
    int nextHuge(int i) {
      return huge.nextSetBit(i);
    }

    /** The number here of the part's i-th block. */
    int number(int i) {
      return places[i];
    }

    /** These sizes by the numbers here. */
    GroupSizes renumbered(GroupSizes sizes) {
      return sizes.renumbered(places);
    }
  }

  private final PlanInput part;
  private final PlanInput in;
  private final int[] owner;
  private final int[] ownStart;
  private final int[] places; // the number here of each block of the part
  private Lists lists;

  /** {@code ownerInPart} has an owner for each of the part's blocks. */
  OwnedBlocks(PlanInput part, int[] ownerInPart) {
    this.part = part;
    this.ownStart = new int[part.nowhere() + 2];
    for (int node : ownerInPart) {
      ++ownStart[node + 1];
    }
    for (int node = 0; node <= part.nowhere(); ++node) {
      ownStart[node + 1] += ownStart[node];
    }
    int[] to = ownStart.clone();
    this.owner = new int[ownerInPart.length];
    this.places = new int[ownerInPart.length];
    for (int i = 0; i < places.length; ++i) {
      places[i] = to[ownerInPart[i]]++;
      owner[places[i]] = ownerInPart[i];
    }
    this.in = part.renumbered(places);
  }

  /** The lists for groups of these sizes; {@code sizes} are by the part's numbers. */
  Lists lists(GroupSizes sizes) {
    BitSet huge = new BitSet();
    for (int i = 0; i < places.length; ++i) {
      if (sizes.measure[i] >= sizes.target) {
        huge.set(i);
      }
    }
    if (lists == null || !lists.huge.equals(huge)) {
      lists = new Lists(huge);
    }
    return lists;
  }
}
