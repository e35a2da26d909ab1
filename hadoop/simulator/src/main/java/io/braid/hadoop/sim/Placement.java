package io.braid.hadoop.sim;

import io.braid.hadoop.sim.Noise.Stream;

/**
 * Where the copies of a file's blocks lie, by HDFS's rule: the first on the writer's node, the
 * second in another rack, the third in the second's rack, further ones anywhere. The file is taken
 * to be written from all nodes alike. Immutable.
 */
final class Placement {
  private final int copies;
  private final int[] nodeOf;
  private final JobSpec job;

  Placement(JobSpec job, int[] rackOf, Noise noise) {
    this.job = job;
    copies = Math.min(job.replication, rackOf.length);
    nodeOf = new int[Math.multiplyExact(copies, job.blocks())];
    Racks racks = new Racks(rackOf);
    for (int block = 0; block < job.blocks(); ++block) {
      for (int copy = 0; copy < copies; ++copy) {
        nodeOf[block * copies + copy] = choose(block, copy, racks, noise);
      }
    }
  }

  int blocks() {
    return job.blocks();
  }

  long length(int block) {
    return job.lengthOf(block);
  }

  int copies() {
    return copies;
  }

  int node(int block, int copy) {
    return nodeOf[block * copies + copy];
  }

  boolean isOn(int block, int node) {
    return contains(block * copies, (block + 1) * copies, node);
  }

  private int choose(int block, int copy, Racks racks, Noise noise) {
    int first = block * copies;
    long draw = ((long) block << 20) + copy * 64L;
    for (int attempt = 0; attempt < 40; ++attempt, ++draw) {
      int node;
      if (copy == 1 && racks.count() > 1) {
        node = racks.outside(racks.of(nodeOf[first]), noise, draw);
      } else if (copy == 2 && racks.count() > 1) {
        node = racks.inside(racks.of(nodeOf[first + 1]), noise, draw);
      } else {
        node = noise.below(Stream.PLACEMENT, draw, racks.nodes());
      }
      if (!contains(first, first + copy, node)) {
        return node;
      }
    }
    // A rack of one node can't hold two copies, and small clusters repeat: the next node that has
    // none.
    int node = noise.below(Stream.PLACEMENT, draw, racks.nodes());
    while (contains(first, first + copy, node)) {
      node = (node + 1) % racks.nodes();
    }
    return node;
  }

  private boolean contains(int from, int to, int node) {
    for (int i = from; i < to; ++i) {
      if (nodeOf[i] == node) {
        return true;
      }
    }
    return false;
  }

  /** The racks as ranges of nodes. */
  private static final class Racks {
    private final int[] rackOf;
    private final int[] start;

    Racks(int[] rackOf) {
      this.rackOf = rackOf;
      int count = rackOf[rackOf.length - 1] + 1;
      start = new int[count + 1];
      for (int rack : rackOf) {
        ++start[rack + 1];
      }
      for (int rack = 0; rack < count; ++rack) {
        start[rack + 1] += start[rack];
      }
    }

    int nodes() {
      return rackOf.length;
    }

    int count() {
      return start.length - 1;
    }

    int of(int node) {
      return rackOf[node];
    }

    int inside(int rack, Noise noise, long draw) {
      return start[rack] + noise.below(Stream.PLACEMENT, draw, start[rack + 1] - start[rack]);
    }

    int outside(int rack, Noise noise, long draw) {
      int size = start[rack + 1] - start[rack];
      int node = noise.below(Stream.PLACEMENT, draw, nodes() - size);
      return node < start[rack] ? node : node + size;
    }
  }
}
