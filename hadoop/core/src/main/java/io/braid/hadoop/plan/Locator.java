package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;

/** The end of the fifth phase: which hosts to ask for. Used by one thread. */
final class Locator {
  /** No group asks for more. */
  static final int MOST_HOSTS = 3;

  private final PlanInput in;
  private final double localFraction;
  private final double[] bytes;
  private final int[] touched;
  private final int[] chosen = new int[MOST_HOSTS];
  private int touchedCount;
  private int hosts;

  private Locator(PlanInput in, double localFraction) {
    this.in = in;
    this.localFraction = localFraction;
    this.bytes = new double[in.nowhere() + 1];
    this.touched = new int[in.nowhere() + 1];
  }

  /** Adds a draft's groups. */
  static void addGroups(PlanDraft draft, double localFraction, List<Group> groups) {
    Locator locator = new Locator(draft.in, localFraction);
    for (int g = 0; g < draft.groups.size(); ++g) {
      groups.add(locator.group(draft.groups.get(g), draft.node(g)));
    }
  }

  /** The nodes to ask for, by the number of the group. For one thread. */
  static IntFunction<int[]> nodes(PlanDraft draft, double localFraction) {
    Locator locator = new Locator(draft.in, localFraction);
    return g -> {
      locator.choose(draft.groups.get(g), draft.node(g));
      return Arrays.copyOf(locator.chosen, locator.hosts);
    };
  }

  private Group group(int[] blocks, int node) {
    long length = choose(blocks, node);
    List<String> names = new ArrayList<>(hosts);
    long local = hosts == 0 ? 0 : local(blocks, chosen[0]);
    long least = local;
    for (int k = 0; k < hosts; ++k) {
      names.add(in.hosts[chosen[k]]);
      least = Math.min(least, k == 0 ? local : local(blocks, chosen[k]));
    }
    return new Group(in.inWhole(blocks), length, local, least, names);
  }

  /** Sets the chosen hosts; returns the bytes of all blocks. */
  private long choose(int[] blocks, int node) {
    long length = count(blocks);
    hosts = 0;
    if (node != in.nowhere() && bytes[node] > 0) {
      take(node);
    }
    for (int best = best(length); best >= 0 && hosts < MOST_HOSTS; best = best(length)) {
      take(best);
    }
    for (int k = 0; k < touchedCount; ++k) {
      bytes[touched[k]] = 0;
    }
    return length;
  }

  private void take(int node) {
    chosen[hosts++] = node;
    bytes[node] = -1 - bytes[node];
  }

  /**
   * Adds up the bytes a node holds, and all. Empty blocks count a little, so that they too have
   * hosts.
   */
  private long count(int[] blocks) {
    touchedCount = 0;
    long length = 0;
    for (int block : blocks) {
      long bytesOfBlock = in.lengths[block];
      length = length + bytesOfBlock < 0 ? Long.MAX_VALUE : length + bytesOfBlock;
      for (int k = in.holderStart[block]; k < in.holderStart[block + 1]; ++k) {
        int node = in.holders[k];
        if (node != in.nowhere()) {
          if (bytes[node] == 0) {
            touched[touchedCount++] = node;
          }
          bytes[node] += Math.max(bytesOfBlock, 1e-3);
        }
      }
    }
    return length;
  }

  /**
   * The node, not yet chosen, with most bytes: at least the local fraction of all, unless it would
   * be the first. -1 if none.
   */
  private int best(long length) {
    int best = -1;
    double enough = length * localFraction * (1 - GroupSizes.TOLERANCE);
    for (int k = 0; k < touchedCount; ++k) {
      int node = touched[k];
      boolean eligible = bytes[node] > 0 && (hosts == 0 || bytes[node] >= enough);
      boolean better =
          best < 0 || bytes[node] > bytes[best] || (bytes[node] == bytes[best] && node < best);
      if (eligible && better) {
        best = node;
      }
    }
    return best;
  }

  private long local(int[] blocks, int node) {
    long local = 0;
    for (int block : blocks) {
      long length = in.holds(node, block) ? in.lengths[block] : 0;
      local = local + length < 0 ? Long.MAX_VALUE : local + length;
    }
    return local;
  }
}
