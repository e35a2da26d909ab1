package io.braid.hadoop.plan;

import java.util.Arrays;

/**
 * Exactly so many groups, as alike as whole blocks allow: {@link Policy#MAXIMUM} and {@link
 * Policy#WAVES}. Groups whose node lacks blocks get those of others, whatever the local fraction
 * says: that there be so many groups goes first. Used by one thread, once.
 */
final class EvenGroups extends GroupBuilder {
  private final PlanInput in;
  private final double typical;
  private int groupsLeft;

  EvenGroups(OwnedBlocks.Lists lists, GroupSizes sizes, double localFraction) {
    super(lists, sizes, localFraction);
    this.in = lists.in;
    this.typical = unassigned.measureLeft() / in.blockCount();
    this.groupsLeft = Arrays.stream(sizes.quota).sum();
  }

  /**
   * What a group should get so that the last one gets as much; within a block of that, what suits
   * the node.
   */
  @Override
  double sizeOf(int node, double wanted) {
    double even = unassigned.measureLeft() / groupsLeft;
    double own = unassigned.ownLeft(node) / (sizes.quota[node] - made[node]);
    return Math.max(even - typical / 2, Math.min(even + typical / 2, own));
  }

  @Override
  boolean takesForeign() {
    return false;
  }

  /** Huge blocks stay alone, and each group that is still to be made needs a block. */
  @Override
  boolean mayJoin(int block) {
    boolean huge = isHuge(block) || isHuge(first());
    return !huge && unassigned.blocksLeft() - pending() >= groupsLeft;
  }

  @Override
  void groupTheRest() {
    for (int node = 0; node < made.length; ++node) {
      for (; made[node] < sizes.quota[node]; ++made[node]) {
        fillMissingGroup(node);
      }
    }
    LoadBalancer.run(in, sizes, draft, unassigned.rest());
  }

  /** A group that lacked local blocks gets any. */
  private void fillMissingGroup(int node) {
    clear();
    double size = unassigned.measureLeft() / groupsLeft;
    int huge = unassigned.nextHuge();
    if (huge >= 0) {
      put(huge);
    } else {
      gather(node, size);
    }
    take();
    fillRemote(node, size, Double.MAX_VALUE);
    close(node);
  }

  @Override
  void close(int node) {
    super.close(node);
    --groupsLeft;
  }
}
