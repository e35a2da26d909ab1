package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.List;

/**
 * The fourth and fifth phase: rounds, in which each node makes groups of its own blocks (Algorithm
 * 2), and what they leave. A group whose node can't fill the local fraction is not made: its blocks
 * stay for smaller sizes. What differs is in {@link EvenGroups} and {@link FallingGroups}. Used by
 * one thread, once.
 */
abstract class GroupBuilder {
  final GroupSizes sizes;
  final UnassignedBlocks unassigned;
  final PlanDraft draft;

  /** Groups that each node has. */
  final int[] made;

  private final double localFraction;
  private int[] buffer = new int[16];
  private int buffered;
  private double filled;

  GroupBuilder(OwnedBlocks.Lists lists, GroupSizes sizes, double localFraction) {
    this.sizes = sizes;
    this.localFraction = localFraction;
    this.unassigned = new UnassignedBlocks(lists, sizes);
    this.draft = new PlanDraft(lists.in);
    this.made = new int[sizes.quota.length];
  }

  /** The groups of all blocks; {@code sizes} are by the part's numbers. */
  static PlanDraft run(OwnedBlocks blocks, GroupSizes sizes, double localFraction) {
    OwnedBlocks.Lists lists = blocks.lists(sizes);
    GroupSizes here = lists.renumbered(sizes);
    GroupBuilder builder =
        sizes.isEven
            ? new EvenGroups(lists, here, localFraction)
            : new FallingGroups(lists, here, localFraction);
    builder.runRounds();
    builder.groupTheRest();
    return builder.draft;
  }

  /** What a node's next group should measure; {@code wanted} is what its round says. */
  abstract double sizeOf(int node, double wanted);

  /** Whether what the node holds for others may come into its groups. */
  abstract boolean takesForeign();

  /** Whether a further block may come into the buffer beside others. */
  abstract boolean mayJoin(int block);

  /** The last phase: what the rounds left. */
  abstract void groupTheRest();

  /**
   * Largest sizes first; within a size, nodes with fewer blocks left choose first, since they have
   * less to choose from.
   */
  private void runRounds() {
    int rounds = sizes.rounds.stream().mapToInt(List::size).max().orElse(0);
    long[] held = new long[made.length];
    for (int round = 0; round < rounds; ++round) {
      for (int node = 0; node < held.length; ++node) {
        held[node] = StableOrder.key(unassigned.heldLeft(node));
      }
      for (int node : StableOrder.of(held)) {
        if (round < sizes.rounds.get(node).size()) {
          GroupSizes.Round now = sizes.rounds.get(node).get(round);
          for (int k = 0; k < now.groups && makeLocal(node, now.size); ++k) {
            ++made[node];
          }
        }
      }
    }
  }

  private boolean makeLocal(int node, double wanted) {
    double size = sizeOf(node, wanted);
    clear();
    boolean more = gather(node, size);
    double enough = Math.max(size * localFraction, Math.min(size, sizes.minimum));
    if (buffered == 0 || (!more && filled < enough * (1 - GroupSizes.TOLERANCE))) {
      return false;
    }
    take();
    if (!more) {
      fillRemote(node, size, size * (1 - localFraction));
    }
    close(node);
    return true;
  }

  /**
   * Local blocks into the buffer, still free: own ones first. False if it ran out of blocks before
   * the size.
   */
  final boolean gather(int node, double size) {
    for (int i = unassigned.nextOwn(node, -1); i >= 0; i = unassigned.nextOwn(node, i)) {
      if (!fits(unassigned.own(i), size)) {
        return true;
      }
      put(unassigned.own(i));
    }
    if (takesForeign()) {
      for (int i = unassigned.nextForeign(node, -1); i >= 0; i = unassigned.nextForeign(node, i)) {
        if (!fits(unassigned.held(i), size)) {
          return true;
        }
        put(unassigned.held(i));
      }
    }
    return filled >= size;
  }

  /**
   * Blocks of the nodes that have most to spare, up to a limit. The buffer's blocks must be taken
   * already.
   */
  final void fillRemote(int node, double size, double limit) {
    // One minus nine tenths is a hair less than a tenth: a tenth of ten blocks is one.
    double most = limit + size * GroupSizes.TOLERANCE;
    double remote = 0;
    while (true) {
      int block = unassigned.spare(made);
      if (block < 0 || remote + sizes.measure[block] > most || !fits(block, size)) {
        return;
      }
      put(block);
      unassigned.take(block);
      remote += sizes.measure[block];
    }
  }

  /** The size is met as nearly as whole blocks allow. */
  final boolean fits(int block, double size) {
    if (buffered == 0) {
      return true;
    }
    if (!mayJoin(block)) {
      return false;
    }
    return filled < sizes.minimum || filled + sizes.measure[block] / 2 <= size;
  }

  /** A block that fills a container. */
  final boolean isHuge(int block) {
    return sizes.measure[block] >= sizes.target;
  }

  final boolean isEmpty() {
    return buffered == 0;
  }

  /** The buffer's first block. */
  final int first() {
    return buffer[0];
  }

  /** What the buffer's blocks measure. */
  final double filled() {
    return filled;
  }

  /** Blocks of the buffer that still count as free. */
  final int pending() {
    return unassigned.isTaken(buffer[0]) ? 0 : buffered;
  }

  final void clear() {
    buffered = 0;
    filled = 0;
  }

  final void put(int block) {
    if (buffered == buffer.length) {
      buffer = Arrays.copyOf(buffer, buffered * 2);
    }
    buffer[buffered++] = block;
    filled += sizes.measure[block];
  }

  /** The buffer's blocks are free no more. */
  final void take() {
    for (int k = 0; k < buffered; ++k) {
      unassigned.take(buffer[k]);
    }
  }

  /** The buffer becomes a group. */
  void close(int node) {
    if (buffered > 0) {
      draft.add(Arrays.copyOf(buffer, buffered), node);
    }
  }

  /** The buffer joins the last group. */
  final void joinLast() {
    int last = draft.groups.size() - 1;
    int[] group = draft.groups.get(last);
    int[] joined = Arrays.copyOf(group, group.length + buffered);
    System.arraycopy(buffer, 0, joined, group.length, buffered);
    draft.groups.set(last, joined);
  }
}
