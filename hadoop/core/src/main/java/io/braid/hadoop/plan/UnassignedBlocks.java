package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Which blocks are still free, by owner and by holder. Cursors only move forward, so all walks are
 * linear.
 */
final class UnassignedBlocks {
  private final PlanInput in;
  private final GroupSizes sizes;
  private final int[] owner;
  private final boolean[] taken;
  private final OwnedBlocks.Lists lists;
  private final int[] ownStart;
  private final int[] ownBlocks;
  private final int[] ownAt;
  private int[] heldAt;
  private final double[] heldLeft;
  private final double[] ownLeft;
  private final PriorityQueue<Spare> spares =
      new PriorityQueue<>(
          Comparator.<Spare>comparingDouble(s -> -s.measure).thenComparingInt(s -> s.node));
  private double measureLeft;
  private int blocksLeft;
  private int hugeAt;

  /** What a node had to spare when last looked at. */
  private static final class Spare {
    final int node;
    final double measure;

    Spare(int node, double measure) {
      this.node = node;
      this.measure = measure;
    }
  }

  UnassignedBlocks(OwnedBlocks.Lists lists, GroupSizes sizes) {
    this.in = lists.in;
    this.sizes = sizes;
    this.owner = lists.owner;
    int nodes = in.nowhere() + 1;
    this.taken = new boolean[owner.length];
    this.heldLeft = sizes.quotas.held.clone();
    this.measureLeft = sizes.quotas.total;
    this.ownLeft = new double[nodes];
    this.blocksLeft = owner.length;
    this.lists = lists;
    this.ownStart = lists.ownStart;
    this.ownBlocks = lists.ownBlocks;
    for (int i = 0; i < owner.length; ++i) {
      ownLeft[owner[i]] += sizes.measure[i];
    }
    this.ownAt = Arrays.copyOf(ownStart, nodes);
    for (int n = 0; n < nodes; ++n) {
      spares.add(new Spare(n, Double.MAX_VALUE));
    }
  }

  /**
   * The place of the node's first free own block after a place, or from its cursor if that is -1;
   * -1 if none is left.
   */
  int nextOwn(int node, int after) {
    int at = after < 0 ? ownAt[node] : after + 1;
    while (at < ownStart[node + 1] && taken[ownBlocks[at]]) {
      ++at;
    }
    if (after < 0) {
      ownAt[node] = at;
    }
    return at < ownStart[node + 1] ? at : -1;
  }

  int own(int place) {
    return ownBlocks[place];
  }

  /** As nextOwn, of the blocks that the node holds but others own. */
  int nextForeign(int node, int after) {
    int[] heldStart = lists.heldStart();
    int[] heldBlocks = lists.heldBlocks();
    if (heldAt == null) {
      heldAt = heldStart.clone();
    }
    int at = after < 0 ? heldAt[node] : after + 1;
    while (at < heldStart[node + 1] && (taken[heldBlocks[at]] || owner[heldBlocks[at]] == node)) {
      ++at;
    }
    if (after < 0) {
      heldAt[node] = at;
    }
    return at < heldStart[node + 1] ? at : -1;
  }

  int held(int place) {
    return lists.heldBlocks()[place];
  }

  /**
   * A free block of the node with most to spare beyond what its own groups need; -1 when none is
   * left.
   */
  int spare(int[] made) {
    while (!spares.isEmpty()) {
      Spare top = spares.poll();
      int place = nextOwn(top.node, -1);
      if (place < 0) {
        continue;
      }
      double need = sizes.isEven ? (sizes.quota[top.node] - made[top.node]) * sizes.target : 0;
      Spare now = new Spare(top.node, ownLeft[top.node] - need);
      spares.add(now);
      if (now.measure >= top.measure) {
        return ownBlocks[place];
      }
    }
    return -1;
  }

  void take(int block) {
    if (taken[block]) {
      throw new IllegalStateException("block " + block + " is in a group already");
    }
    taken[block] = true;
    --blocksLeft;
    measureLeft -= sizes.measure[block];
    ownLeft[owner[block]] -= sizes.measure[block];
    for (int k = in.holderStart[block]; k < in.holderStart[block + 1]; ++k) {
      heldLeft[in.holders[k]] -= sizes.measure[block];
    }
  }

  boolean isTaken(int block) {
    return taken[block];
  }

  /** The part's first free block that fills a container alone; -1 if there is none. */
  int nextHuge() {
    hugeAt = hugeAt < 0 ? -1 : lists.nextHuge(hugeAt);
    while (hugeAt >= 0 && taken[lists.number(hugeAt)]) {
      hugeAt = lists.nextHuge(hugeAt + 1);
    }
    return hugeAt < 0 ? -1 : lists.number(hugeAt);
  }

  /** All free blocks, in the part's order. */
  int[] rest() {
    int[] rest = new int[blocksLeft];
    for (int i = 0, k = 0; k < rest.length; ++i) {
      int block = lists.number(i);
      if (!taken[block]) {
        rest[k++] = block;
      }
    }
    return rest;
  }

  double heldLeft(int node) {
    return heldLeft[node];
  }

  double ownLeft(int node) {
    return ownLeft[node];
  }

  double measureLeft() {
    return measureLeft;
  }

  int blocksLeft() {
    return blocksLeft;
  }
}
