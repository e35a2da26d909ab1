package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The first phase: hosts become numbers. Nodes are numbered in the order of their names, so that a
 * plan does not depend on the order in which a resource manager lists them. The number after the
 * last node's stands for "nowhere": a pseudo-node that holds the blocks no node with slots holds
 * (object stores, another cluster's HDFS). Immutable.
 */
final class PlanInput {
  final long[] lengths;
  final String[] hosts;
  final int[] slots;
  final int totalSlots;

  /**
   * Block i is held by the nodes holders[holderStart[i]] to holders[holderStart[i + 1] - 1]; at
   * least one.
   */
  final int[] holderStart;

  final int[] holders;

  /** What each block's number is in the list that was planned; null: the same. */
  private final int[] numbers;

  private PlanInput(
      long[] lengths,
      String[] hosts,
      int[] slots,
      int[] holderStart,
      int[] holders,
      int[] numbers) {
    this.lengths = lengths;
    this.hosts = hosts;
    this.numbers = numbers;
    this.slots = slots;
    this.totalSlots = (int) Math.min(Integer.MAX_VALUE, Arrays.stream(slots).asLongStream().sum());
    this.holderStart = holderStart;
    this.holders = holders;
  }

  static PlanInput of(List<Block> blocks, List<Node> nodes) {
    Map<String, Integer> named = new TreeMap<>();
    for (Node node : nodes) {
      if (node.slots() > 0) {
        named.merge(node.host(), node.slots(), Math::addExact);
      }
    }
    String[] hosts = named.keySet().toArray(new String[0]);
    int[] slots = named.values().stream().mapToInt(Integer::intValue).toArray();
    Map<String, Integer> numbers = new HashMap<>(hosts.length * 2);
    for (int n = 0; n < hosts.length; ++n) {
      numbers.put(hosts[n], n);
    }
    int[] start = new int[blocks.size() + 1];
    int[] holders = new int[Math.max(16, blocks.size())];
    long[] lengths = new long[blocks.size()];
    for (int i = 0; i < lengths.length; ++i) {
      Block block = blocks.get(i);
      lengths[i] = block.length();
      List<String> names = block.hosts();
      if (start[i] + names.size() + 1 > holders.length) {
        holders = Arrays.copyOf(holders, Math.max(start[i] + names.size() + 1, holders.length * 2));
      }
      start[i + 1] = addHolders(names, numbers, holders, start[i], hosts.length);
    }
    return new PlanInput(lengths, hosts, slots, start, holders, null);
  }

  /**
   * The same with other numbers: block i becomes block {@code places[i]}. Places that are a few
   * rising series are filled with few cache misses; to fetch the blocks in their new order would
   * miss at each of them.
   */
  PlanInput renumbered(int[] places) {
    long[] lengthsOf = new long[places.length];
    int[] numbersOf = new int[places.length];
    int[] start = new int[holderStart.length];
    for (int i = 0; i < places.length; ++i) {
      lengthsOf[places[i]] = lengths[i];
      numbersOf[places[i]] = numbers == null ? i : numbers[i];
      start[places[i] + 1] = holderStart[i + 1] - holderStart[i];
    }
    for (int i = 0; i < places.length; ++i) {
      start[i + 1] += start[i];
    }
    return new PlanInput(lengthsOf, hosts, slots, start, holders(places, start), numbersOf);
  }

  /** The holders, those of block i from {@code start[places[i]]} on. */
  private int[] holders(int[] places, int[] start) {
    int[] holdersOf = new int[holderStart[places.length]];
    for (int i = 0; i < places.length; ++i) {
      int to = start[places[i]];
      for (int k = holderStart[i]; k < holderStart[i + 1]; ++k) {
        holdersOf[to++] = holders[k];
      }
    }
    return holdersOf;
  }

  /**
   * Blocks {@code from} to {@code to - 1} of a renumbered input, on some of the nodes; {@code
   * numberOf} is each one's new number, the pseudo-node's as well.
   */
  PlanInput part(int from, int to, String[] hostsOf, int[] slotsOf, int[] numberOf) {
    int[] start = Arrays.copyOfRange(holderStart, from, to + 1);
    for (int i = 0; i < start.length; ++i) {
      start[i] -= holderStart[from];
    }
    int[] holdersOf = Arrays.copyOfRange(holders, holderStart[from], holderStart[to]);
    for (int k = 0; k < holdersOf.length; ++k) {
      holdersOf[k] = numberOf[holdersOf[k]];
    }
    return new PlanInput(
        Arrays.copyOfRange(lengths, from, to),
        hostsOf,
        slotsOf,
        start,
        holdersOf,
        Arrays.copyOfRange(numbers, from, to));
  }

  /** These blocks' numbers in the list that was planned. */
  int[] inWhole(int[] some) {
    if (numbers == null) {
      return some;
    }
    int[] in = new int[some.length];
    for (int i = 0; i < in.length; ++i) {
      in[i] = numbers[some[i]];
    }
    return in;
  }

  /**
   * Writes the numbers of the names that are nodes, each once, or the pseudo-node's; returns the
   * next free place.
   */
  private static int addHolders(
      List<String> names, Map<String, Integer> numbers, int[] holders, int from, int nowhere) {
    int to = from;
    for (String name : names) {
      Integer number = numbers.get(name);
      boolean known = number == null;
      for (int k = from; k < to && !known; ++k) {
        known = holders[k] == number;
      }
      if (!known) {
        holders[to++] = number;
      }
    }
    if (to == from) {
      holders[to++] = nowhere;
    }
    return to;
  }

  /** The pseudo-node's number; also the count of real nodes. */
  int nowhere() {
    return hosts.length;
  }

  int blockCount() {
    return lengths.length;
  }

  boolean holds(int node, int block) {
    for (int k = holderStart[block]; k < holderStart[block + 1]; ++k) {
      if (holders[k] == node) {
        return true;
      }
    }
    return false;
  }
}
