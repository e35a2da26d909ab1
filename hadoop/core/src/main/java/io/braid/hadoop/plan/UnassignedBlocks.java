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
  private final int[] ownStart;
  private final int[] ownBlocks;
  private final int[] ownAt;
  private final int[] heldStart;
  private final int[] heldBlocks;
  private final int[] heldAt;
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

  UnassignedBlocks(OwnedBlocks blocks, GroupSizes sizes) {
    this.in = blocks.in;
    this.sizes = sizes;
    this.owner = blocks.owner;
    int nodes = in.nowhere() + 1;
    this.taken = new boolean[owner.length];
    this.heldLeft = new double[nodes];
    this.ownLeft = new double[nodes];
    this.blocksLeft = owner.length;
    OwnedBlocks.Lists lists = blocks.lists(sizes);
    this.ownStart = lists.ownStart;
    this.ownBlocks = lists.ownBlocks;
    this.heldStart = lists.heldStart;
    this.heldBlocks = lists.heldBlocks;
    measure();
    this.ownAt = Arrays.copyOf(ownStart, nodes);
    this.heldAt = Arrays.copyOf(heldStart, nodes);
    for (int n = 0; n < nodes; ++n) {
      spares.add(new Spare(n, Double.MAX_VALUE));
    }
  }

  private void measure() {
    for (int i = 0; i < owner.length; ++i) {
      ownLeft[owner[i]] += sizes.measure[i];
      measureLeft += sizes.measure[i];
      for (int k = in.holderStart[i]; k < in.holderStart[i + 1]; ++k) {
        heldLeft[in.holders[k]] += sizes.measure[i];
      }
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
    return heldBlocks[place];
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

  /** The first free block that fills a container alone; -1 if there is none. */
  int nextHuge() {
    while (hugeAt < owner.length && (taken[hugeAt] || sizes.measure[hugeAt] < sizes.target)) {
      ++hugeAt;
    }
    return hugeAt < owner.length ? hugeAt : -1;
  }

  /** All free blocks. */
  int[] rest() {
    int[] rest = new int[blocksLeft];
    for (int i = 0, k = 0; k < rest.length; ++i) {
      if (!taken[i]) {
        rest[k++] = i;
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
