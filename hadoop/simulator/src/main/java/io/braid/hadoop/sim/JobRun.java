package io.braid.hadoop.sim;

import io.braid.hadoop.sim.Noise.Stream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

/**
 * A job while it runs: which of its splits wait and for which nodes, what its maps have written,
 * and what it has counted. Confined to the simulation's thread.
 */
final class JobRun {
  private static final int NOT_WAITING = -1;

  final Simulation simulation;
  final JobSpec spec;
  final int number;
  final Noise noise;
  final Placement placement;
  final JobResult result;
  List<Split> splits = List.of();
  int running;

  private final boolean[] read;
  private boolean[] taken;
  private int[] heads; // a node's queue is queue[heads[node] .. heads[node + 1]) at first
  private int[] ends;
  private int[] queue;
  private int[] anywhere = new int[0]; // splits in the order of the application master: large first
  private int[] homeless = new int[0]; // those that prefer no node
  private int anywhereHead;
  private int homelessHead;
  private int pendingMaps;
  private int finishedMaps;
  private int launchedReducers;
  private int finishedReducers;
  private double skippedSince = NOT_WAITING;
  private boolean pokePending;
  private final double[] output; // bytes a reducer will fetch, by node
  private double expectedOutput;

  JobRun(Simulation simulation, JobSpec spec, int number, Noise noise) {
    this.simulation = simulation;
    this.spec = spec;
    this.number = number;
    this.noise = noise;
    Noise where = spec.placementSeed == null ? noise : new Noise(spec.placementSeed);
    placement = new Placement(spec, simulation.hardware.rackOf(), where);
    read = new boolean[placement.blocks()];
    output = new double[simulation.cluster.nodes];
    result = new JobResult(spec, number);
  }

  /** Splits the input and queues the splits, as the client and then the application master do. */
  void plan() {
    Splitter.Outcome outcome =
        spec.splitter.split(
            new Splitter.FileView() {
              @Override
              public int blocks() {
                return placement.blocks();
              }

              @Override
              public long length(int block) {
                return placement.length(block);
              }

              @Override
              public int[] nodes(int block) {
                int[] nodes = new int[placement.copies()];
                for (int copy = 0; copy < nodes.length; ++copy) {
                  nodes[copy] = placement.node(block, copy);
                }
                return nodes;
              }
            },
            simulation.cluster.nodes,
            simulation.cluster.slots);
    splits = outcome.splits;
    result.policy = outcome.policy;
    result.reason = outcome.reason;
    result.maps = splits.size();
    pendingMaps = splits.size();
    taken = new boolean[splits.size()];
    expectedOutput = spec.inputBytes * spec.mapOutputRatio;
    enqueue();
  }

  private void enqueue() {
    Integer[] bySize = new Integer[splits.size()];
    long[] lengths = new long[splits.size()];
    for (int i = 0; i < bySize.length; ++i) {
      bySize[i] = i;
      for (int block : splits.get(i).blocks) {
        lengths[i] += placement.length(block);
      }
    }
    Arrays.sort(bySize, Comparator.comparingLong((Integer i) -> -lengths[i]));
    int nodes = simulation.cluster.nodes;
    int[] counts = new int[nodes + 1];
    List<Integer> without = new ArrayList<>();
    for (Split split : splits) {
      for (int node : split.nodes) {
        ++counts[node + 1];
      }
    }
    for (int node = 0; node < nodes; ++node) {
      counts[node + 1] += counts[node];
    }
    heads = Arrays.copyOf(counts, nodes);
    ends = Arrays.copyOf(counts, nodes);
    queue = new int[counts[nodes]];
    anywhere = new int[bySize.length];
    for (int i = 0; i < bySize.length; ++i) {
      int split = bySize[i];
      anywhere[i] = split;
      for (int node : splits.get(split).nodes) {
        queue[ends[node]++] = split;
      }
      if (splits.get(split).nodes.length == 0) {
        without.add(split);
      }
    }
    homeless = without.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Whether it would take a slot somewhere. */
  boolean wants() {
    return pendingMaps > 0 || reducersAllowed() > launchedReducers;
  }

  /** Takes one of a node's free slots if it likes; false if it lets it pass. */
  boolean offer(int node) {
    if (reducersAllowed() > launchedReducers) {
      ++running;
      result.launched(simulation.engine.now());
      new ReduceTask(this, launchedReducers++, node).launch();
      return true;
    }
    if (pendingMaps == 0) {
      return false;
    }
    int split = choose(node);
    if (split < 0) {
      return false;
    }
    taken[split] = true;
    --pendingMaps;
    ++running;
    result.launched(simulation.engine.now());
    new MapTask(this, split, node).launch();
    return true;
  }

  /** Its next split for a node: one that lies there, or after a while one of its rack, or any. */
  private int choose(int node) {
    while (heads[node] < ends[node]) {
      int split = queue[heads[node]++];
      if (!taken[split]) {
        skippedSince = NOT_WAITING;
        ++result.localMaps;
        return split;
      }
    }
    while (homelessHead < homeless.length) {
      int split = homeless[homelessHead++];
      if (!taken[split]) {
        return split;
      }
    }
    double now = simulation.engine.now();
    if (skippedSince == NOT_WAITING) {
      skippedSince = now;
    }
    double delay = simulation.cluster.localityDelaySeconds;
    double waited = now - skippedSince + 1e-9;
    if (waited >= 2 * delay) {
      while (taken[anywhere[anywhereHead]]) {
        ++anywhereHead;
      }
      return anywhere[anywhereHead];
    }
    if (waited >= delay) {
      int split = ofRack(node);
      if (split >= 0) {
        ++result.rackMaps;
        return split;
      }
    }
    pokeAt(skippedSince + (waited >= delay ? 2 * delay : delay));
    return -1;
  }

  private int ofRack(int node) {
    int[] rackOf = simulation.hardware.rackOf();
    for (int step = 1; step < rackOf.length; ++step) {
      int other = (node + step) % rackOf.length;
      while (rackOf[other] == rackOf[node] && heads[other] < ends[other]) {
        int split = queue[heads[other]];
        if (!taken[split]) {
          return split;
        }
        ++heads[other];
      }
    }
    return -1;
  }

  private void pokeAt(double time) {
    if (!pokePending) {
      pokePending = true;
      simulation.engine.after(
          Math.max(0, time - simulation.engine.now()),
          () -> {
            pokePending = false;
            if (pendingMaps > 0) {
              simulation.offerAll();
            }
          });
    }
  }

  /**
   * As Hadoop's ramp-up: after slow start a growing share, at most half of the job's, while maps
   * wait.
   */
  private int reducersAllowed() {
    if (spec.reducers == launchedReducers) {
      return launchedReducers;
    }
    double share = splits.isEmpty() ? 1 : (double) finishedMaps / splits.size();
    if (share == 0 || share < simulation.cluster.slowstart) {
      return 0;
    }
    if (pendingMaps == 0) {
      return spec.reducers;
    }
    double slots =
        (double) simulation.cluster.nodes * simulation.cluster.slots / simulation.activeJobs();
    return (int) Math.min(spec.reducers, Math.min(share, 0.5) * slots);
  }

  /**
   * The node that a block is read from: its own if it has a copy, or else one of its rack, or any.
   */
  int source(int block, int reader) {
    int[] rackOf = simulation.hardware.rackOf();
    int copies = placement.copies();
    int first = noise.below(Stream.SOURCE, block, copies);
    int best = -1;
    for (int i = 0; i < copies; ++i) {
      int node = placement.node(block, (first + i) % copies);
      if (node == reader) {
        return node;
      }
      if (best < 0 || rackOf[best] != rackOf[reader] && rackOf[node] == rackOf[reader]) {
        best = node;
      }
    }
    return best;
  }

  /** What a block's time is multiplied with. */
  double slownessOf(int block) {
    // A block of many units is slow only if most of them are.
    double units = Math.max(1, placement.length(block) / JobSpec.SPREAD_UNIT);
    return noise.factor(Stream.BLOCK, block, spec.blockSpread / Math.sqrt(units))
        * noise.factor(Stream.REGION, block / spec.regionBlocks, spec.regionSpread);
  }

  void blockRead(int block, int reader) {
    if (read[block]) {
      throw new IllegalStateException("block " + block + " of " + spec.name + " is in two splits");
    }
    read[block] = true;
    long length = placement.length(block);
    ++result.blocksRead;
    if (placement.isOn(block, reader)) {
      result.localBytes += length;
    } else {
      result.remoteBytes += length;
    }
  }

  void mapDone(int node, long bytes) {
    ++finishedMaps;
    if (spec.reducers > 0) {
      output[node] += bytes * spec.mapOutputRatio / spec.reducers;
    }
    if (finishedMaps == splits.size()) {
      result.mapsDone = simulation.engine.now();
    }
    finishIfDone();
  }

  void reduceDone() {
    ++finishedReducers;
    finishIfDone();
  }

  private void finishIfDone() {
    if (allMapsDone() && finishedReducers == spec.reducers) {
      simulation.jobDone(this);
    }
  }

  void mapReleased(MapTask task) {
    result.mapDone(task.node, task.launched, task.working, simulation.engine.now());
    released(task.node);
  }

  void reduceReleased(ReduceTask task) {
    result.reduceDone(task.node, task.launched, simulation.engine.now());
    released(task.node);
  }

  private void released(int node) {
    --running;
    simulation.release(node, reducersAllowed() > launchedReducers);
  }

  boolean allMapsDone() {
    return finishedMaps == splits.size();
  }

  boolean isEmpty() {
    return splits.isEmpty() && spec.reducers == 0;
  }

  double outputOn(int node) {
    return output[node];
  }

  double expectedOutput() {
    return expectedOutput;
  }
}
