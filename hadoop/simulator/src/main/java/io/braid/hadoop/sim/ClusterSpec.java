package io.braid.hadoop.sim;

import java.util.Arrays;

/**
 * The cluster that is simulated: its machines and what Hadoop costs on them. Starts as the cluster
 * of chapter III; setters change it and return it. Not thread safe; not to be changed during a run.
 */
public final class ClusterSpec {
  static final double MIB = 1048576.0;
  private static final double GIGABIT = 117e6; // bytes a second of payload

  int nodes = 32;
  int slots = 8;
  int cores = 8;
  int nodesPerMachine = 1;
  int[] rackSizes = {19, 13};
  double diskBytesPerSecond = 100 * MIB;
  double portBytesPerSecond = GIGABIT;
  double uplinkBytesPerSecond = GIGABIT;
  double masterSeconds = 1.51;
  double schedulingSeconds = 1.28;
  double launchSeconds = 1.35;
  double startCpuSeconds = 5.23;
  double startThreads = 1;
  double stopCpuSeconds = 0;
  double finishSeconds = 0;
  double localityDelaySeconds = 3;
  double startSpread = 0;
  double nodeSpread = 0;
  double slowstart = 0.05;
  int parallelCopies = 5;
  double pollSeconds = 1;
  double reduceMemoryBytes = 700 * MIB;

  private ClusterSpec() {}

  /** 32 nodes of 8 slots behind two switches (19 and 13 nodes), a disk each, gigabit Ethernet. */
  public static ClusterSpec dissertation() {
    return new ClusterSpec();
  }

  /** Nodes and the map containers each can run at once; racks of at most 40 nodes unless set. */
  public ClusterSpec nodes(int count, int slotsEach) {
    require(count >= 1 && count <= 100_000, "nodes", "1 to 100000", count);
    require(slotsEach >= 1 && slotsEach <= 1000, "slots", "1 to 1000", slotsEach);
    nodes = count;
    slots = slotsEach;
    cores = slotsEach;
    return racks((count + 39) / 40);
  }

  /** That many racks of equal size, or of sizes that differ by 1. */
  public ClusterSpec racks(int count) {
    require(count >= 1 && count <= nodes, "racks", "1 to the number of nodes", count);
    rackSizes = new int[count];
    for (int i = 0; i < count; ++i) {
      rackSizes[i] = nodes / count + (i < nodes % count ? 1 : 0);
    }
    return this;
  }

  /**
   * Cores of a machine, and how many nodes run on one (several, where a test cluster shares a
   * host).
   */
  public ClusterSpec cores(int coresEach, int nodesEach) {
    require(coresEach >= 1, "cores", "1 or more", coresEach);
    require(nodesEach >= 1, "nodes a machine", "1 or more", nodesEach);
    cores = coresEach;
    nodesPerMachine = nodesEach;
    return this;
  }

  /**
   * Bytes a second of a node's disk, of its network port (each way) and of a rack's uplink (each
   * way).
   */
  public ClusterSpec rates(double disk, double port, double uplink) {
    require(disk > 0, "bytes a second of a disk", "above 0", disk);
    require(port > 0, "bytes a second of a port", "above 0", port);
    require(uplink > 0, "bytes a second of an uplink", "above 0", uplink);
    diskBytesPerSecond = disk;
    portBytesPerSecond = port;
    uplinkBytesPerSecond = uplink;
    return this;
  }

  /**
   * Seconds until a job's application master asks for containers, and until it has one (a slot
   * waits).
   */
  public ClusterSpec master(double start, double scheduling) {
    require(start >= 0 && scheduling >= 0, "start of the master", "0 or more", start);
    masterSeconds = start;
    schedulingSeconds = scheduling;
    return this;
  }

  /**
   * A container's start-up.
   *
   * @param wait seconds that need no processor
   * @param cpu seconds of one core's work
   * @param threads how many cores that work can use at once
   * @param spread coefficient of variation of the work
   */
  public ClusterSpec start(double wait, double cpu, double threads, double spread) {
    require(wait >= 0 && cpu >= 0 && threads > 0 && spread >= 0, "start-up", "0 or more", wait);
    launchSeconds = wait;
    startCpuSeconds = cpu;
    startThreads = threads;
    startSpread = spread;
    return this;
  }

  /**
   * Core seconds between a task's end and its slot's release, and seconds that a job's own end
   * takes.
   */
  public ClusterSpec stop(double cpu, double finish) {
    require(cpu >= 0 && finish >= 0, "stop", "0 or more", cpu);
    stopCpuSeconds = cpu;
    finishSeconds = finish;
    return this;
  }

  /**
   * How long a job lets a node pass that has none of its blocks; again as long for another rack.
   */
  public ClusterSpec localityDelay(double seconds) {
    require(seconds >= 0, "locality delay", "0 or more", seconds);
    localityDelaySeconds = seconds;
    return this;
  }

  /** Coefficient of variation of the nodes' speed: correlated for all that runs on a node. */
  public ClusterSpec nodeSpread(double spread) {
    require(spread >= 0, "spread of nodes", "0 or more", spread);
    nodeSpread = spread;
    return this;
  }

  /** Share of a job's maps that must be done before its reducers start. */
  public ClusterSpec slowstart(double share) {
    require(share >= 0 && share <= 1, "slow start", "0 to 1", share);
    slowstart = share;
    return this;
  }

  /**
   * Seconds from a container's allocation until its task reads, on a machine that does nothing
   * else.
   */
  public double startSeconds() {
    return launchSeconds + startCpuSeconds / Math.min(startThreads, cores);
  }

  int[] rackOfNodes() {
    if (Arrays.stream(rackSizes).sum() != nodes) {
      racks((nodes + 39) / 40);
    }
    int[] racks = new int[nodes];
    int node = 0;
    for (int rack = 0; rack < rackSizes.length; ++rack) {
      for (int i = 0; i < rackSizes[rack]; ++i) {
        racks[node++] = rack;
      }
    }
    return racks;
  }

  static void require(boolean holds, String what, String range, double value) {
    if (!holds) {
      throw new IllegalArgumentException(
          what
              + " must be "
              + range
              + ", not "
              + (value == Math.rint(value) ? Long.toString((long) value) : Double.toString(value)));
    }
  }
}
