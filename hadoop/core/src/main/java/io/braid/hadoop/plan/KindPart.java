package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The blocks of one kind and the slots that fall to them: each kind is planned by itself, as if it
 * were all there is. Immutable.
 */
final class KindPart {
  final PlanInput in;
  private final int[] blocks;
  private final int[] nodes;

  private KindPart(PlanInput in, int[] blocks, int[] nodes) {
    this.in = in;
    this.blocks = blocks;
    this.nodes = nodes;
  }

  /** The parts of an input, in the order of their first blocks; itself if all are of one kind. */
  static List<KindPart> of(PlanInput whole) {
    Map<Integer, int[]> counts = new LinkedHashMap<>();
    for (Block block : whole.blocks) {
      ++counts.computeIfAbsent(block.kind(), k -> new int[1])[0];
    }
    if (counts.size() < 2) {
      return List.of(new KindPart(whole, null, null));
    }
    Map<Integer, int[]> members = new LinkedHashMap<>();
    counts.forEach((kind, count) -> members.put(kind, new int[count[0]]));
    for (int i = 0; i < whole.blockCount(); ++i) {
      int kind = whole.blocks.get(i).kind();
      int[] of = members.get(kind);
      of[of.length - counts.get(kind)[0]--] = i;
    }
    List<int[]> kinds = new ArrayList<>(members.values());
    List<Map<Integer, Integer>> slots = SlotShares.of(whole, kinds);
    List<KindPart> parts = new ArrayList<>();
    int[] numbers = new int[whole.nowhere() + 1];
    for (int k = 0; k < kinds.size(); ++k) {
      parts.add(part(whole, kinds.get(k), slots.get(k), numbers));
    }
    return parts;
  }

  /** {@code numbers} is room for the nodes' new numbers plus one, all 0 before and after. */
  private static KindPart part(
      PlanInput whole, int[] blocks, Map<Integer, Integer> slots, int[] numbers) {
    int[] nodes = nodesOf(whole, blocks, slots);
    int[] slotsOf = new int[nodes.length];
    String[] hosts = new String[nodes.length];
    for (int n = 0; n < nodes.length; ++n) {
      numbers[nodes[n]] = n + 1;
      slotsOf[n] = slots.getOrDefault(nodes[n], 0);
      hosts[n] = whole.hosts[nodes[n]];
    }
    numbers[whole.nowhere()] = nodes.length + 1;
    List<Block> members = new ArrayList<>(blocks.length);
    int[] start = new int[blocks.length + 1];
    int[] holders = new int[0];
    for (int i = 0; i < blocks.length; ++i) {
      members.add(whole.blocks.get(blocks[i]));
      int from = whole.holderStart[blocks[i]];
      int count = whole.holderStart[blocks[i] + 1] - from;
      start[i + 1] = start[i] + count;
      if (start[i + 1] > holders.length) {
        holders = Arrays.copyOf(holders, Math.max(start[i + 1], 2 * holders.length));
      }
      for (int k = 0; k < count; ++k) {
        holders[start[i] + k] = numbers[whole.holders[from + k]] - 1;
      }
    }
    for (int node : nodes) {
      numbers[node] = 0;
    }
    numbers[whole.nowhere()] = 0;
    return new KindPart(new PlanInput(members, hosts, slotsOf, start, holders), blocks, nodes);
  }

  /** The nodes that hold some of the blocks or have slots for them, in order. */
  private static int[] nodesOf(PlanInput whole, int[] blocks, Map<Integer, Integer> slots) {
    BitSet some = new BitSet(whole.nowhere());
    slots.keySet().forEach(some::set);
    for (int block : blocks) {
      for (int k = whole.holderStart[block]; k < whole.holderStart[block + 1]; ++k) {
        some.set(whole.holders[k]);
      }
    }
    some.clear(whole.nowhere());
    return some.stream().toArray();
  }

  /** These blocks' numbers in the whole input. */
  int[] inWhole(int[] group) {
    if (blocks == null) {
      return group;
    }
    int[] in = new int[group.length];
    Arrays.setAll(in, i -> blocks[group[i]]);
    return in;
  }

  /** These nodes' numbers in the whole input. */
  int[] nodesInWhole(int[] some) {
    if (nodes != null) {
      Arrays.setAll(some, i -> nodes[some[i]]);
    }
    return some;
  }
}
