package io.braid.hadoop.sim;

import io.braid.hadoop.sim.Noise.Stream;

/**
 * A map container: it is scheduled, starts, reads its split's blocks one after another (reading and
 * computing overlap), writes its output and ends. Confined to the simulation's thread.
 */
final class MapTask extends Activity {
  private enum State {
    STARTING,
    READING,
    WRITING,
    STOPPING
  }

  /**
   * Reading and computing overlap within so many bytes: of a larger block it reads no more ahead.
   */
  private static final long READ_AHEAD = 128L << 20;

  private final JobRun job;
  private final int split;
  final int node;
  final double launched;
  private State state = State.STARTING;
  private double factor;
  private int next;
  private long offset; // within the block that is read
  private long bytes;
  double working;

  MapTask(JobRun job, int split, int node) {
    this.job = job;
    this.split = split;
    this.node = node;
    launched = job.simulation.engine.now();
  }

  void launch() {
    ClusterSpec cluster = job.simulation.cluster;
    job.simulation.engine.after(cluster.schedulingSeconds + cluster.launchSeconds, this::start);
  }

  private void start() {
    Simulation simulation = job.simulation;
    ClusterSpec cluster = simulation.cluster;
    long first = firstBlock();
    double slow = simulation.slowness(node);
    factor = slow * job.noise.factor(Stream.CONTAINER, first, job.spec.containerSpread);
    double work =
        cluster.startCpuSeconds * slow * job.noise.factor(Stream.START, first, cluster.startSpread);
    simulation.hardware.compute(this, node, work, cluster.startThreads);
    simulation.engine.begin(this);
  }

  /** Names the container for the noise: the same split meets the same luck under any schedule. */
  private long firstBlock() {
    int[] blocks = job.splits.get(split).blocks;
    return blocks.length == 0 ? -1 - split : blocks[0];
  }

  @Override
  void done() {
    switch (state) {
      case STARTING:
        working = job.simulation.engine.now();
        state = State.READING;
        read();
        return;
      case READING:
        int block = job.splits.get(split).blocks[next];
        if (offset == job.placement.length(block)) {
          job.blockRead(block, node);
          ++next;
          offset = 0;
        }
        read();
        return;
      case WRITING:
        state = State.STOPPING;
        job.mapDone(node, bytes); // the job goes on; the slot waits for the process to end
        job.simulation.hardware.compute(this, node, job.simulation.cluster.stopCpuSeconds, 1);
        job.simulation.engine.begin(this);
        return;
      default:
        job.mapReleased(this);
    }
  }

  private void read() {
    Simulation simulation = job.simulation;
    int[] blocks = job.splits.get(split).blocks;
    if (next < blocks.length) {
      int block = blocks[next];
      long length = Math.min(READ_AHEAD, job.placement.length(block) - offset);
      int source = job.source(block, node);
      offset += length;
      bytes += length;
      simulation.hardware.compute(
          this, node, length * job.spec.mapSecondsPerByte * factor * job.slownessOf(block), 1);
      simulation.hardware.disk(this, source, length);
      simulation.hardware.send(this, source, node, length);
    } else {
      state = State.WRITING;
      simulation.hardware.disk(this, node, bytes * job.spec.mapOutputRatio * job.spec.spillFactor);
    }
    simulation.engine.begin(this);
  }
}
