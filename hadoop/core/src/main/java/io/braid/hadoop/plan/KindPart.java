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
  private final int[] nodes;

  private KindPart(PlanInput in, int[] nodes) {
    this.in = in;
    this.nodes = nodes;
  }

  /** The parts of an input, in the order of their first blocks; itself if all are of one kind. */
  static List<KindPart> of(PlanInput whole, List<Block> blocks) {
    if (areAlike(blocks)) {
      return List.of(new KindPart(whole, null));
    }
    Map<Integer, int[]> counts = new LinkedHashMap<>();
    for (Block block : blocks) {
      ++counts.computeIfAbsent(block.kind(), k -> new int[1])[0];
    }
    Map<Integer, int[]> members = new LinkedHashMap<>();
    counts.forEach((kind, count) -> members.put(kind, new int[count[0]]));
    for (int i = 0; i < whole.blockCount(); ++i) {
      int kind = blocks.get(i).kind();
      int[] of = members.get(kind);
      of[of.length - counts.get(kind)[0]--] = i;
    }
    List<int[]> kinds = new ArrayList<>(members.values());
    List<Map<Integer, Integer>> slots = SlotShares.of(whole, kinds);
    int[] places = new int[whole.blockCount()];
    int place = 0;
    for (int[] kind : kinds) {
      for (int block : kind) {
        places[block] = place++;
      }
    }
    PlanInput byKind = whole.renumbered(places);
    List<KindPart> parts = new ArrayList<>();
    int[] numbers = new int[whole.nowhere() + 1];
    int from = 0;
    for (int k = 0; k < kinds.size(); ++k) {
      int to = from + kinds.get(k).length;
      parts.add(part(byKind, from, to, slots.get(k), numbers));
      from = to;
    }
    return parts;
  }

  private static boolean areAlike(List<Block> blocks) {
    for (Block block : blocks) {
      if (block.kind() != blocks.get(0).kind()) {
        return false;
      }
    }
    return true;
  }

  /** {@code numbers} is room for the new numbers of the nodes. */
  private static KindPart part(
      PlanInput byKind, int from, int to, Map<Integer, Integer> slots, int[] numbers) {
    int[] nodes = nodesOf(byKind, from, to, slots);
    int[] slotsOf = new int[nodes.length];
    String[] hosts = new String[nodes.length];
    for (int n = 0; n < nodes.length; ++n) {
      numbers[nodes[n]] = n;
      slotsOf[n] = slots.getOrDefault(nodes[n], 0);
      hosts[n] = byKind.hosts[nodes[n]];
    }
    numbers[byKind.nowhere()] = nodes.length;
    return new KindPart(byKind.part(from, to, hosts, slotsOf, numbers), nodes);
  }

  /** The nodes that hold some of the blocks or have slots for them, in order. */
  private static int[] nodesOf(PlanInput in, int from, int to, Map<Integer, Integer> slots) {
    BitSet some = new BitSet(in.nowhere());
    slots.keySet().forEach(some::set);
    for (int k = in.holderStart[from]; k < in.holderStart[to]; ++k) {
      some.set(in.holders[k]);
    }
    some.clear(in.nowhere());
    return some.stream().toArray();
  }

  /** These nodes' numbers in the whole input. */
  int[] nodesInWhole(int[] some) {
    if (nodes != null) {
      Arrays.setAll(some, i -> nodes[some[i]]);
    }
    return some;
  }
}
