package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.List;

/** The end of the fifth phase: which hosts to ask for. Used by one thread. */
final class Locator {
  private static final int MOST_HOSTS = 3;

  private final Input in;
  private final double[] bytes;
  private final int[] touched;
  private int touchedCount;

  private Locator(Input in) {
    this.in = in;
    this.bytes = new double[in.nowhere() + 1];
    this.touched = new int[in.nowhere() + 1];
  }

  static List<Group> groups(Input in, Draft draft) {
    Locator locator = new Locator(in);
    List<Group> groups = new ArrayList<>(draft.groups.size());
    for (int g = 0; g < draft.groups.size(); ++g) {
      groups.add(locator.group(draft.groups.get(g), draft.node(g)));
    }
    return groups;
  }

  private Group group(int[] blocks, int node) {
    long length = count(blocks);
    int[] chosen = new int[MOST_HOSTS];
    int hosts = 0;
    if (node != in.nowhere() && bytes[node] > 0) {
      chosen[hosts++] = node;
      bytes[node] = -1 - bytes[node];
    }
    for (int best = best(length, hosts);
        best >= 0 && hosts < MOST_HOSTS;
        best = best(length, hosts)) {
      chosen[hosts++] = best;
      bytes[best] = -1 - bytes[best];
    }
    List<String> names = new ArrayList<>(hosts);
    for (int k = 0; k < hosts; ++k) {
      names.add(in.hosts[chosen[k]]);
    }
    for (int k = 0; k < touchedCount; ++k) {
      bytes[touched[k]] = 0;
    }
    return new Group(blocks, length, hosts == 0 ? 0 : local(blocks, chosen[0]), names);
  }

  /**
   * Adds up the bytes a node holds, and all. Empty blocks count a little, so that they too have
   * hosts.
   */
  private long count(int[] blocks) {
    touchedCount = 0;
    long length = 0;
    for (int block : blocks) {
      long bytesOfBlock = in.blocks.get(block).length();
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
   * The node, not yet chosen, with most bytes: at least half of all, unless it would be the first.
   * -1 if none.
   */
  private int best(long length, int chosen) {
    int best = -1;
    for (int k = 0; k < touchedCount; ++k) {
      int node = touched[k];
      boolean enough = bytes[node] > 0 && (chosen == 0 || bytes[node] >= length / 2.0);
      boolean better =
          best < 0 || bytes[node] > bytes[best] || (bytes[node] == bytes[best] && node < best);
      if (enough && better) {
        best = node;
      }
    }
    return best;
  }

  private long local(int[] blocks, int node) {
    long local = 0;
    for (int block : blocks) {
      long length = in.holds(node, block) ? in.blocks.get(block).length() : 0;
      local = local + length < 0 ? Long.MAX_VALUE : local + length;
    }
    return local;
  }
}
