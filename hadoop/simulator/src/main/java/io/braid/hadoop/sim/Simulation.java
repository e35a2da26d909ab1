package io.braid.hadoop.sim;

import io.braid.hadoop.sim.Noise.Stream;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Runs jobs on a cluster, in simulated time. Slots are given to the job that holds the fewest (fair
 * share without preemption) or to the first that waits (FIFO). The same specs and seed give the
 * same result, to the bit. Confined to one thread; an object runs once.
 */
public final class Simulation {
  /** Which job gets a slot that is free. */
  public enum Discipline {
    FAIR,
    FIFO
  }

  final ClusterSpec cluster;
  final Engine engine = new Engine();
  final Hardware hardware;
  double shuffled;

  private final Discipline discipline;
  private final Noise noise;
  private final double[] slowness;
  private final int[] order;
  private final int[] free;
  private int freeSlots;
  private int peakContainers;
  private final List<JobRun> jobs = new ArrayList<>();
  private final List<JobRun> active = new ArrayList<>();
  private int unfinished;
  private final SimResult result = new SimResult();

  /** A run of that cluster; nothing happens yet. */
  public Simulation(ClusterSpec cluster, Discipline discipline, long seed) {
    this.cluster = cluster;
    this.discipline = discipline;
    noise = new Noise(seed);
    slowness = new double[cluster.nodes];
    free = new int[cluster.nodes];
    order = new int[cluster.nodes];
    for (int i = 0; i < cluster.nodes; ++i) {
      slowness[i] = noise.factor(Stream.NODE, i, cluster.nodeSpread);
      free[i] = cluster.slots;
      int other = noise.below(Stream.ORDER, i, i + 1); // a shuffled order of heartbeats
      order[i] = order[other];
      order[other] = i;
    }
    freeSlots = cluster.nodes * cluster.slots;
    hardware = new Hardware(engine, cluster, slowness);
  }

  /** Runs the jobs to their end. */
  public SimResult run(List<JobSpec> specs) {
    return run(specs, 0);
  }

  /** The same, and notes the cluster's use every so many seconds (0: never). */
  public SimResult run(List<JobSpec> specs, double sampleSeconds) {
    for (JobSpec spec : specs) {
      JobRun job = new JobRun(this, spec, jobs.size(), noise.part(jobs.size()));
      jobs.add(job);
      result.jobs.add(job.result);
      engine.after(spec.submitSeconds + cluster.masterSeconds, () -> submit(job));
    }
    unfinished = jobs.size();
    if (sampleSeconds > 0) {
      engine.after(0, () -> sample(sampleSeconds));
    }
    engine.run();
    if (unfinished > 0) {
      throw new IllegalStateException(
          "the simulation stopped with "
              + unfinished
              + " jobs unfinished: this is a mistake of the simulator, please report its options");
    }
    result.coreSeconds = hardware.computed();
    result.diskBytes = hardware.diskBytes();
    result.networkBytes = hardware.networkBytes();
    result.shuffledBytes = shuffled;
    result.peakContainers = peakContainers;
    result.events = engine.events();
    return result;
  }

  /** What the time of all work on a node is multiplied with. */
  double slowness(int node) {
    return slowness[node];
  }

  int activeJobs() {
    return active.size();
  }

  private void submit(JobRun job) {
    job.plan();
    active.add(job);
    if (job.isEmpty()) {
      jobDone(job);
    } else {
      engine.after(0, this::offerAll); // once all that come at this moment are in
    }
  }

  /** Offers each node's free slots, a slot a node in turn, until none is taken any more. */
  void offerAll() {
    boolean taken = true;
    while (taken && freeSlots > 0) {
      taken = false;
      for (int node : order) {
        taken |= free[node] > 0 && offer(node);
      }
    }
  }

  private boolean offer(int node) {
    boolean wanted = false;
    for (JobRun job : active) {
      wanted |= job.wants();
    }
    if (!wanted) {
      return false;
    }
    if (discipline == Discipline.FAIR && active.size() > 1) {
      active.sort(
          Comparator.<JobRun>comparingInt(job -> job.running).thenComparingInt(job -> job.number));
    }
    for (JobRun job : active) {
      if (job.offer(node)) {
        --free[node];
        --freeSlots;
        peakContainers = Math.max(peakContainers, cluster.nodes * cluster.slots - freeSlots);
        return true;
      }
    }
    return false;
  }

  /** A container has ended; {@code more} if its job may now start reducers on other nodes too. */
  void release(int node, boolean more) {
    ++free[node];
    ++freeSlots;
    if (free[node] > cluster.slots) {
      throw new IllegalStateException("node " + node + " has more free slots than slots");
    }
    while (free[node] > 0 && offer(node)) {
      continue;
    }
    if (more) {
      offerAll();
    }
  }

  void jobDone(JobRun job) {
    active.remove(job);
    engine.after(
        cluster.finishSeconds,
        () -> {
          --unfinished;
          job.result.finished = engine.now();
          result.finished = Math.max(result.finished, engine.now());
        });
    engine.after(0, this::offerAll);
  }

  private void sample(double seconds) {
    SimResult.Sample sample = new SimResult.Sample();
    sample.time = engine.now();
    sample.coreSeconds = hardware.computed();
    sample.diskBytes = hardware.diskBytes();
    sample.networkBytes = hardware.networkBytes();
    sample.shuffledBytes = shuffled;
    sample.containers = cluster.nodes * cluster.slots - freeSlots;
    sample.running = new int[jobs.size()];
    sample.waiting = new boolean[jobs.size()];
    for (JobRun job : jobs) {
      sample.running[job.number] = job.running;
      sample.waiting[job.number] = active.contains(job) && job.wants();
    }
    result.samples.add(sample);
    if (unfinished > 0) {
      engine.after(seconds, () -> sample(seconds));
    }
  }
}
