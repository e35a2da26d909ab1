package io.braid.hadoop.benchmarks;

import java.util.Random;

/**
 * Where blocks lie: three replicas on different nodes of 1,000, drawn evenly; or nowhere. One
 * thread.
 */
final class RandomBlocks {
  static final int NODES = 1000;
  static final int SLOTS = 8;
  static final int REPLICAS = 3;
  static final int RACKS = 25;
  static final long BLOCK_BYTES = 128L << 20;

  private static final String[] NAMES = new String[NODES];

  static {
    for (int n = 0; n < NODES; ++n) {
      NAMES[n] = "node" + n;
    }
  }

  private final Random random = new Random(7);
  private final boolean hosts;

  RandomBlocks(boolean hosts) {
    this.hosts = hosts;
  }

  static String name(int node) {
    return NAMES[node];
  }

  /** The hosts of the next block. */
  String[] next() {
    if (!hosts) {
      return new String[0];
    }
    String[] chosen = new String[REPLICAS];
    for (int r = 0; r < REPLICAS; ) {
      String name = NAMES[random.nextInt(NODES)];
      boolean fresh = true;
      for (int k = 0; k < r; ++k) {
        fresh &= !chosen[k].equals(name);
      }
      if (fresh) {
        chosen[r++] = name;
      }
    }
    return chosen;
  }

  /** /rack/host of each host. */
  static String[] topology(String[] hosts) {
    String[] paths = new String[hosts.length];
    for (int h = 0; h < hosts.length; ++h) {
      paths[h] = "/rack" + Integer.parseInt(hosts[h].substring(4)) % RACKS + "/" + hosts[h];
    }
    return paths;
  }
}
