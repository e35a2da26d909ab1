package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.function.IntFunction;

/**
 * When the last group ends if the scheduler waits for locality: a free slot goes to the largest
 * group that asks for its node, or else for no node; only when no group has found a slot on a node
 * of its own for the time of the wait does it go to the largest of all. So groups that are left
 * over for slow nodes start late, however soon others are idle. Racks are not modelled. For one
 * thread.
 */
final class HostSchedule {
  private static final double NOT_WAITING = -1;

  private final int[] slots;
  private final int allSlots;
  private final long[] lengths; // largest first
  private final int[] starts; // node n's groups are queue[starts[n]] .. queue[starts[n + 1] - 1];
  private final int[] queue; // those of no node are the last's

  private final int[] heads;
  private final boolean[] taken;
  private final int[] idle; // nodes of the slots that were let pass
  private int idleCount;
  private int first; // all groups before this one are taken
  private double waitingSince;
  private double wait;

  private HostSchedule(int[] slots, long[] lengths, int[] starts, int[] queue) {
    this.slots = slots;
    this.allSlots = Arrays.stream(slots).sum();
    this.lengths = lengths;
    this.starts = starts;
    this.queue = queue;
    heads = new int[slots.length + 1];
    taken = new boolean[lengths.length];
    idle = new int[allSlots];
  }

  /**
   * Of every k-th node and the groups that ask for it first, and the longest group; k is 1 where
   * these are not too many. Other nodes that these groups ask for become the node of that part of
   * the cluster. With a k that leaves no slots, null.
   */
  static HostSchedule of(long[] lengths, IntFunction<int[]> nodes, int[] slots, int step) {
    int[] some = new int[(slots.length + step - 1) / step];
    Arrays.setAll(some, n -> slots[n * step]);
    if (Arrays.stream(some).sum() == 0) {
      return null;
    }
    int longest = 0;
    for (int g = 1; g < lengths.length; ++g) {
      longest = lengths[g] > lengths[longest] ? g : longest;
    }
    int count = 0;
    int[] groups = new int[lengths.length / step + 16];
    int[][] asked = new int[groups.length][];
    for (int g = 0, homeless = 0; g < lengths.length; ++g) {
      int[] of = nodes.apply(g);
      int part = of.length == 0 ? homeless++ : of[0];
      if (part % step == 0 || g == longest) {
        if (count == groups.length) {
          groups = Arrays.copyOf(groups, 2 * count);
          asked = Arrays.copyOf(asked, 2 * count);
        }
        asked[count] = folded(of, step);
        groups[count++] = g;
      }
    }
    return sorted(lengths, Arrays.copyOf(groups, count), asked, some);
  }

  private static int[] folded(int[] nodes, int step) {
    for (int k = 0; step > 1 && k < nodes.length; ++k) {
      nodes[k] /= step;
    }
    return nodes;
  }

  /** Sorts the groups, largest first, and queues them at the nodes that they ask for. */
  private static HostSchedule sorted(long[] lengths, int[] groups, int[][] asked, int[] slots) {
    long[] keys = new long[groups.length];
    for (int i = 0; i < keys.length; ++i) {
      keys[i] = -lengths[groups[i]];
    }
    int[] order = StableOrder.of(keys);
    int[] starts = new int[slots.length + 2];
    long[] sorted = new long[groups.length];
    for (int i = 0; i < order.length; ++i) {
      sorted[i] = -keys[order[i]];
      int[] nodes = asked[i].length == 0 ? new int[] {slots.length} : asked[i];
      asked[i] = nodes;
      for (int node : nodes) {
        ++starts[node + 1];
      }
    }
    for (int n = 0; n <= slots.length; ++n) {
      starts[n + 1] += starts[n];
    }
    int[] ends = starts.clone();
    int[] queue = new int[starts[slots.length + 1]];
    for (int i = 0; i < order.length; ++i) {
      for (int node : asked[order[i]]) {
        queue[ends[node]++] = i;
      }
    }
    return new HostSchedule(slots, sorted, starts, queue);
  }

  /** How many groups or slots a draw goes through, whichever are more. */
  int size() {
    return Math.max(lengths.length, allSlots);
  }

  /** One draw, with a wait of so many seconds: when the last group ends. */
  double last(SeededRandom random, double seconds) {
    wait = seconds;
    double[] slowness = new double[slots.length];
    Arrays.setAll(slowness, n -> random.slowness());
    SlotHeap free = reset();
    double last = 0;
    for (int left = lengths.length; left > 0; ) {
      double until = waitingSince + wait;
      boolean waited = idleCount > 0 && (free.isEmpty() || until <= free.time());
      double now = waited ? until : free.time();
      int node = waited ? idle[--idleCount] : free.node();
      int group = waited ? largest() : choose(node, now);
      if (group < 0) {
        idle[idleCount++] = node;
        free.removeFirst();
        continue;
      }
      taken[group] = true;
      --left;
      double end = now + random.seconds(lengths[group], slowness[node]);
      last = Math.max(last, end);
      if (waited) {
        free.insert(end, node);
      } else {
        free.occupyFirst(end);
      }
    }
    return last;
  }

  private SlotHeap reset() {
    System.arraycopy(starts, 0, heads, 0, heads.length);
    Arrays.fill(taken, false);
    idleCount = 0;
    first = 0;
    waitingSince = NOT_WAITING;
    SlotHeap free = new SlotHeap(allSlots);
    for (int round = 0; !free.isFull(); ++round) {
      for (int n = 0; n < slots.length; ++n) {
        if (slots[n] > round) {
          free.add(n);
        }
      }
    }
    return free;
  }

  /** The group for a slot that is free now; -1: the slot is let pass. */
  private int choose(int node, double now) {
    int group = next(node);
    if (group >= 0) {
      waitingSince = idleCount > 0 ? now : NOT_WAITING;
      return group;
    }
    group = next(slots.length);
    if (group >= 0) {
      return group;
    }
    if (waitingSince == NOT_WAITING) {
      waitingSince = now;
    }
    return now >= waitingSince + wait ? largest() : -1;
  }

  private int next(int node) {
    while (heads[node] < starts[node + 1]) {
      int group = queue[heads[node]++];
      if (!taken[group]) {
        return group;
      }
    }
    return -1;
  }

  private int largest() {
    while (taken[first]) {
      ++first;
    }
    return first;
  }
}
