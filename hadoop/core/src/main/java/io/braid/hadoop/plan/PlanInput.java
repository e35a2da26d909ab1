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
  final List<Block> blocks;
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

  PlanInput(List<Block> blocks, String[] hosts, int[] slots, int[] holderStart, int[] holders) {
    this.blocks = blocks;
    this.lengths = blocks.stream().mapToLong(Block::length).toArray();
    this.hosts = hosts;
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
    for (int i = 0; i < blocks.size(); ++i) {
      List<String> names = blocks.get(i).hosts();
      if (start[i] + names.size() + 1 > holders.length) {
        holders = Arrays.copyOf(holders, Math.max(start[i] + names.size() + 1, holders.length * 2));
      }
      start[i + 1] = addHolders(names, numbers, holders, start[i], hosts.length);
    }
    return new PlanInput(blocks, hosts, slots, start, holders);
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
    return blocks.size();
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
