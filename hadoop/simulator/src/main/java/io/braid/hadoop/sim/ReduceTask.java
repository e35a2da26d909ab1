package io.braid.hadoop.sim;

import io.braid.hadoop.sim.Noise.Stream;

/**
 * A reduce container: it starts, fetches its share of the maps' output from a few nodes at a time
 * while maps still run, merges and reduces, and writes its output with copies. Confined to the
 * simulation's thread.
 */
final class ReduceTask extends Activity {
  private enum State {
    STARTING,
    SHUFFLING,
    REDUCING,
    WRITING,
    STOPPING
  }

  private final JobRun job;
  private final int index;
  final int node;
  final double launched;
  private final double[] fetched; // bytes by node
  private State state = State.STARTING;
  private int fetching;
  private int cursor;
  private boolean polling;
  private double received;
  private double unwritten;
  private int chunks;

  ReduceTask(JobRun job, int index, int node) {
    this.job = job;
    this.index = index;
    this.node = node;
    launched = job.simulation.engine.now();
    fetched = new double[job.simulation.cluster.nodes];
    cursor = job.noise.below(Stream.REDUCE, index, fetched.length);
  }

  void launch() {
    ClusterSpec cluster = job.simulation.cluster;
    job.simulation.engine.after(
        cluster.schedulingSeconds + cluster.launchSeconds,
        () -> {
          job.simulation.hardware.compute(
              this,
              node,
              cluster.startCpuSeconds * job.simulation.slowness(node),
              cluster.startThreads);
          job.simulation.engine.begin(this);
        });
  }

  @Override
  void done() {
    switch (state) {
      case STARTING:
        state = State.SHUFFLING;
        shuffle();
        return;
      case REDUCING:
        state = State.WRITING;
        unwritten = received * job.spec.outputRatio;
        write();
        return;
      case WRITING:
        write();
        return;
      default:
        job.reduceReleased(this);
    }
  }

  /**
   * Fetches from as many nodes as it may; asks again in a while for what maps have yet to write.
   */
  private void shuffle() {
    ClusterSpec cluster = job.simulation.cluster;
    while (fetching < cluster.parallelCopies && fetchOne()) {
      ++fetching;
    }
    if (fetching > 0 && fetching == cluster.parallelCopies) {
      return;
    }
    if (job.allMapsDone()) {
      if (fetching == 0) {
        reduce();
      }
    } else if (!polling) {
      polling = true;
      job.simulation.engine.after(
          cluster.pollSeconds,
          () -> {
            polling = false;
            if (state == State.SHUFFLING) {
              shuffle();
            }
          });
    }
  }

  private boolean fetchOne() {
    for (int i = 0; i < fetched.length; ++i) {
      int source = cursor;
      cursor = cursor + 1 == fetched.length ? 0 : cursor + 1;
      double there = job.outputOn(source) - fetched[source];
      if (there > 0) {
        fetched[source] = job.outputOn(source);
        received += there;
        fetch(source, there);
        return true;
      }
    }
    return false;
  }

  private void fetch(int source, double bytes) {
    Activity copy =
        new Activity() {
          @Override
          void done() {
            --fetching;
            job.simulation.shuffled += bytes;
            shuffle();
          }
        };
    // What the source sends was just written and comes from its memory; what the reducer can't hold
    // goes to its disk.
    job.simulation.hardware.send(copy, source, node, bytes);
    job.simulation.hardware.disk(copy, node, bytes * spilledShare());
    job.simulation.engine.begin(copy);
  }

  private double spilledShare() {
    double expected = job.expectedOutput() / job.spec.reducers;
    double memory = job.simulation.cluster.reduceMemoryBytes;
    return expected <= memory ? 0 : 1 - memory / expected;
  }

  private void reduce() {
    state = State.REDUCING;
    job.simulation.hardware.compute(
        this, node, received * job.spec.reduceSecondsPerByte * job.simulation.slowness(node), 1);
    job.simulation.hardware.disk(this, node, received * spilledShare());
    job.simulation.engine.begin(this);
  }

  /** Writes a block of output: here, and on a chain of other nodes for the copies. */
  private void write() {
    Hardware hardware = job.simulation.hardware;
    if (unwritten <= 0) {
      state = State.STOPPING;
      job.reduceDone();
      hardware.compute(this, node, job.simulation.cluster.stopCpuSeconds, 1);
      job.simulation.engine.begin(this);
      return;
    }
    double bytes = Math.min(unwritten, job.spec.blockBytes);
    unwritten -= bytes;
    hardware.disk(this, node, bytes);
    int from = node;
    int copies = Math.min(job.spec.outputReplication, fetched.length);
    for (int copy = 1; copy < copies; ++copy) {
      long draw = ((long) index << 32) + chunks * 16L + copy;
      int to =
          (from + 1 + job.noise.below(Stream.OUTPUT, draw, fetched.length - 1)) % fetched.length;
      hardware.send(this, from, to, bytes);
      hardware.disk(this, to, bytes);
      from = to;
    }
    ++chunks;
    job.simulation.engine.begin(this);
  }
}
