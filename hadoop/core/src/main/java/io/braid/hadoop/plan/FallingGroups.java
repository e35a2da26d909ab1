package io.braid.hadoop.plan;

/**
 * Groups of falling sizes, as many as the placement allows: the assorted policies and {@link
 * Policy#FACTORING}. What the rounds leave comes into groups of the smallest size. Used by one
 * thread, once.
 */
final class FallingGroups extends GroupBuilder {
  FallingGroups(OwnedBlocks.Lists lists, GroupSizes sizes, double localFraction) {
    super(lists, sizes, localFraction);
  }

  @Override
  double sizeOf(int node, double wanted) {
    return wanted;
  }

  @Override
  boolean takesForeign() {
    return true;
  }

  @Override
  boolean mayJoin(int block) {
    return true;
  }

  /** By owner, in groups of the leftover size. */
  @Override
  void groupTheRest() {
    clear();
    for (int node = 0; node < made.length; ++node) {
      for (int i = unassigned.nextOwn(node, -1); i >= 0; i = unassigned.nextOwn(node, i)) {
        if (!isEmpty() && !fits(unassigned.own(i), sizes.leftover)) {
          take();
          close(node);
          clear();
        }
        put(unassigned.own(i));
      }
      // Below the minimum the blocks wait for the next node's.
      boolean last = node == made.length - 1;
      if (!isEmpty() && (filled() >= sizes.minimum || last)) {
        take();
        closeLast(node);
        clear();
      }
    }
  }

  /** The very last group joins the one before it if it is below the minimum. */
  private void closeLast(int node) {
    if (filled() >= sizes.minimum || draft.groups.isEmpty()) {
      close(node);
    } else {
      joinLast();
    }
  }
}
