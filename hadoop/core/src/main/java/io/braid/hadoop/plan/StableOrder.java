package io.braid.hadoop.plan;

import java.util.Arrays;

/**
 * Sorts numbers by keys without objects or comparators: a Java machine that has just started takes
 * longer to compile those than to sort.
 */
final class StableOrder {
  private StableOrder() {}

  /** The numbers of the keys, that of the smallest first; of equal ones, the smaller number. */
  static int[] of(long[] keys) {
    long[] sorted = keys.clone();
    Arrays.sort(sorted);
    int[] order = new int[keys.length];
    int[] taken = new int[keys.length];
    for (int i = 0; i < keys.length; ++i) {
      int first = first(sorted, keys[i]);
      order[first + taken[first]++] = i;
    }
    return order;
  }

  /** A key of a number, in the order of {@link Double#compare}. */
  static long key(double value) {
    long bits = Double.doubleToLongBits(value);
    return bits ^ (bits >> 63 & Long.MAX_VALUE);
  }

  /** The first place of a key that there is. */
  private static int first(long[] sorted, long key) {
    int from = 0;
    int to = sorted.length - 1;
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (sorted[middle] < key) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }
}
