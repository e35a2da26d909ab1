package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * The fourth and fifth phase: rounds, in which each node makes groups of its own blocks (Algorithm
 * 2), and what they leave. A group whose node can't fill the local fraction is not made: its blocks
 * stay for smaller sizes. Used by one thread, once.
 */
final class Coalescer {
  private final Sizes sizes;
  private final double localFraction;
  private final Stock stock;
  private final Draft draft = new Draft();
  private final int[] made;
  private final double typical;
  private int groupsLeft;
  private int[] buffer = new int[16];
  private int buffered;
  private double filled;

  private Coalescer(Input in, Sizes sizes, int[] owner, double localFraction) {
    this.sizes = sizes;
    this.localFraction = localFraction;
    this.stock = new Stock(in, sizes, owner);
    this.made = new int[sizes.quota.length];
    this.typical = stock.measureLeft() / owner.length;
    this.groupsLeft = sizes.exact ? Arrays.stream(sizes.quota).sum() : 0;
  }

  static Draft run(Input in, Sizes sizes, int[] owner, double localFraction) {
    Coalescer coalescer = new Coalescer(in, sizes, owner, localFraction);
    coalescer.rounds();
    if (sizes.exact) {
      coalescer.owed();
      Leveller.level(in, sizes, coalescer.draft, coalescer.stock.rest());
    } else {
      coalescer.leftovers();
    }
    return coalescer.draft;
  }

  /**
   * Largest sizes first; within a size, nodes with fewer blocks left choose first, since they have
   * less to choose from.
   */
  private void rounds() {
    int rounds = sizes.rounds.stream().mapToInt(List::size).max().orElse(0);
    Integer[] order = new Integer[made.length];
    Arrays.setAll(order, n -> n);
    for (int round = 0; round < rounds; ++round) {
      Arrays.sort(
          order, Comparator.<Integer>comparingDouble(stock::heldLeft).thenComparingInt(n -> n));
      for (int node : order) {
        if (round < sizes.rounds.get(node).size()) {
          Sizes.Round now = sizes.rounds.get(node).get(round);
          for (int k = 0; k < now.groups && makeLocal(node, now.size); ++k) {
            ++made[node];
          }
        }
      }
    }
  }

  private boolean makeLocal(int node, double wanted) {
    double size = sizes.exact ? evenSize(node) : wanted;
    clear();
    boolean more = gather(node, size);
    double enough = Math.max(size * localFraction, Math.min(size, sizes.minimum));
    if (buffered == 0 || (!more && filled < enough)) {
      return false;
    }
    commit();
    if (!more) {
      fillRemote(node, size, size * (1 - localFraction));
    }
    close(node);
    return true;
  }

  /**
   * What a group should get so that the last one gets as much; within a block of that, what suits
   * the node.
   */
  private double evenSize(int node) {
    double even = stock.measureLeft() / groupsLeft;
    double own = stock.ownLeft(node) / (sizes.quota[node] - made[node]);
    return Math.max(even - typical / 2, Math.min(even + typical / 2, own));
  }

  /**
   * Local blocks into the buffer, still free: own ones first. False if it ran out of blocks before
   * the size.
   */
  private boolean gather(int node, double size) {
    for (int i = stock.nextOwn(node, -1); i >= 0; i = stock.nextOwn(node, i)) {
      if (!fits(stock.own(i), size)) {
        return true;
      }
      put(stock.own(i));
    }
    if (!sizes.exact) {
      for (int i = stock.nextForeign(node, -1); i >= 0; i = stock.nextForeign(node, i)) {
        if (!fits(stock.held(i), size)) {
          return true;
        }
        put(stock.held(i));
      }
    }
    return filled >= size;
  }

  /**
   * Blocks of the nodes that have most to spare, up to a limit. The buffer's blocks must be taken
   * already.
   */
  private void fillRemote(int node, double size, double limit) {
    double remote = 0;
    while (true) {
      int block = stock.spare(made);
      if (block < 0 || remote + sizes.measure[block] > limit || !fits(block, size)) {
        return;
      }
      put(block);
      stock.take(block);
      remote += sizes.measure[block];
    }
  }

  /**
   * The size is met as nearly as whole blocks allow; a block that fills a container has it for
   * itself.
   */
  private boolean fits(int block, double size) {
    if (buffered == 0) {
      return true;
    }
    boolean huge = sizes.measure[block] >= sizes.target || sizes.measure[buffer[0]] >= sizes.target;
    if (sizes.exact && (huge || stock.blocksLeft() - pending() < groupsLeft)) {
      return false;
    }
    return filled < sizes.minimum || filled + sizes.measure[block] / 2 <= size;
  }

  /** Blocks of the buffer that the stock still counts as left. */
  private int pending() {
    return stock.isTaken(buffer[0]) ? 0 : buffered;
  }

  /** The last phase of an exact plan: groups that lacked local blocks get any. */
  private void owed() {
    for (int node = 0; node < made.length; ++node) {
      for (; made[node] < sizes.quota[node]; ++made[node]) {
        clear();
        double size = stock.measureLeft() / groupsLeft;
        int huge = stock.nextHuge();
        if (huge >= 0) {
          put(huge);
        } else {
          gather(node, size);
        }
        commit();
        fillRemote(node, size, Double.MAX_VALUE);
        close(node);
      }
    }
  }

  /** The last phase otherwise: what the rounds left, by owner, in groups of the leftover size. */
  private void leftovers() {
    clear();
    for (int node = 0; node < made.length; ++node) {
      for (int i = stock.nextOwn(node, -1); i >= 0; i = stock.nextOwn(node, i)) {
        if (buffered > 0 && !fits(stock.own(i), sizes.leftover)) {
          commit();
          close(node);
          clear();
        }
        put(stock.own(i));
      }
      // Below the minimum the blocks wait for the next node's.
      boolean last = node == made.length - 1;
      if (buffered > 0 && (filled >= sizes.minimum || last)) {
        commit();
        closeLast(node);
        clear();
      }
    }
  }

  /** The very last group joins the one before it if it is below the minimum. */
  private void closeLast(int node) {
    int before = draft.groups.size() - 1;
    if (filled >= sizes.minimum || before < 0) {
      close(node);
      return;
    }
    int[] joined =
        Arrays.copyOf(draft.groups.get(before), draft.groups.get(before).length + buffered);
    System.arraycopy(buffer, 0, joined, joined.length - buffered, buffered);
    draft.groups.set(before, joined);
  }

  private void clear() {
    buffered = 0;
    filled = 0;
  }

  private void put(int block) {
    if (buffered == buffer.length) {
      buffer = Arrays.copyOf(buffer, buffered * 2);
    }
    buffer[buffered++] = block;
    filled += sizes.measure[block];
  }

  private void commit() {
    for (int k = 0; k < buffered; ++k) {
      stock.take(buffer[k]);
    }
  }

  private void close(int node) {
    if (buffered > 0) {
      draft.add(Arrays.copyOf(buffer, buffered), node);
    }
    --groupsLeft;
  }
}
