package io.braid.hadoop.plan;

import java.util.Arrays;

/**
 * The third phase: each block gets one of its holders as its owner, so that every node owns about
 * what its slots shall read. Without it the nodes that are served last find their blocks taken.
 * First each block goes to its least loaded holder; then blocks move along chains of nodes from
 * those with too much to those with room. The work of the chains is limited to a multiple of the
 * number of replicas, which keeps the phase linear. Used by one thread.
 */
final class Owners {
  private static final int WORK_A_REPLICA = 20;

  private final PlanInput in;
  private final double[] measure;
  private final double total;
  private final double[] capacity;
  private final double[] load;
  private final int[] owner;
  private final int[] first;
  private final int[] next;
  private final int[] previous;
  private final int[] seen;
  private final int[] via;
  private final int[] queue;
  private long work;

  private Owners(PlanInput in, GroupSizes sizes) {
    this.in = in;
    this.measure = sizes.measure;
    int nodes = in.nowhere() + 1;
    this.load = new double[nodes];
    this.owner = new int[in.blockCount()];
    this.first = new int[nodes];
    this.next = new int[owner.length];
    this.previous = new int[owner.length];
    this.seen = new int[nodes];
    this.via = new int[nodes];
    this.queue = new int[nodes];
    this.work = (long) WORK_A_REPLICA * in.holderStart[owner.length];
    Arrays.fill(first, -1);
    this.total = Arrays.stream(measure).sum();
    double quotas = Arrays.stream(sizes.quota).sum();
    this.capacity = Arrays.stream(sizes.quota).mapToDouble(q -> q * total / quotas).toArray();
  }

  /** The owner of each block. */
  static int[] of(PlanInput in, GroupSizes sizes) {
    Owners owners = new Owners(in, sizes);
    owners.greedy();
    owners.chains();
    return owners.owner;
  }

  private void greedy() {
    for (int i = 0; i < owner.length; ++i) {
      int best = in.holders[in.holderStart[i]];
      for (int k = in.holderStart[i] + 1; k < in.holderStart[i + 1]; ++k) {
        int other = in.holders[k];
        double here = (load[best] + measure[i]) * capacity[other];
        double there = (load[other] + measure[i]) * capacity[best];
        if (there < here || (there == here && other < best && capacity[other] > 0)) {
          best = other;
        }
      }
      give(i, best);
    }
  }

  /**
   * A node from which no chain leads to room, and all it reaches, can't help any other either:
   * never seen again.
   */
  private void chains() {
    double half = total / owner.length / 2;
    int dead = Integer.MAX_VALUE;
    int stamp = 0;
    for (int node = 0; node < load.length; ++node) {
      while (load[node] > capacity[node] + half && seen[node] != dead && work > 0) {
        int reached = search(node, ++stamp, dead);
        for (int k = 0; k < reached; ++k) {
          seen[queue[k]] = dead;
        }
      }
    }
  }

  /**
   * Breadth first from a node with too much to one with room. Returns 0, or how many nodes in vain.
   */
  private int search(int from, int stamp, int dead) {
    int tail = 0;
    queue[tail++] = from;
    seen[from] = stamp;
    for (int head = 0; head < tail; ++head) {
      for (int block = first[queue[head]]; block >= 0; block = next[block]) {
        for (int k = in.holderStart[block]; k < in.holderStart[block + 1]; ++k) {
          --work;
          int node = in.holders[k];
          if (seen[node] == stamp || seen[node] == dead) {
            continue;
          }
          seen[node] = stamp;
          via[node] = block;
          queue[tail++] = node;
          if (load[node] + measure[block] / 2 <= capacity[node]) {
            shift(from, node);
            return 0;
          }
        }
      }
      if (work < 0) {
        return 0;
      }
    }
    return tail;
  }

  private void shift(int from, int to) {
    for (int node = to; node != from; ) {
      int block = via[node];
      int giver = owner[block];
      take(block);
      give(block, node);
      node = giver;
    }
  }

  private void give(int block, int node) {
    owner[block] = node;
    load[node] += measure[block];
    previous[block] = -1;
    next[block] = first[node];
    if (first[node] >= 0) {
      previous[first[node]] = block;
    }
    first[node] = block;
  }

  private void take(int block) {
    int node = owner[block];
    load[node] -= measure[block];
    if (previous[block] >= 0) {
      next[previous[block]] = next[block];
    } else {
      first[node] = next[block];
    }
    if (next[block] >= 0) {
      previous[next[block]] = previous[block];
    }
  }
}
