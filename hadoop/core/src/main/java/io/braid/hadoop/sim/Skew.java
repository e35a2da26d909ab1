package io.braid.hadoop.sim;

import io.braid.hadoop.plan.Costs;

/**
 * How the time for a byte varies between blocks, containers and nodes, as coefficients of variation.
 * Immutable.
 */
final class Skew {
  static final Skew NONE = new Skew("none", 0, 0, 0);

  final String name;
  final double block;
  final double container;
  final double node;

  Skew(String name, double block, double container, double node) {
    this.name = name;
    this.block = block;
    this.container = container;
    this.node = node;
  }

  static Skew independent(double spread) {
    return new Skew("independent " + spread + " by block", spread, 0, 0);
  }

  static Skew correlated(double spread) {
    return new Skew("correlated " + spread + " by container", 0, spread, 0);
  }

  static Skew nodes(double spread) {
    return new Skew("correlated " + spread + " by node", 0, 0, spread);
  }

  /** Gives a cluster and a job this skew. */
  void apply(ClusterSpec cluster, JobSpec job) {
    cluster.nodeSpread(node);
    job.skew(block, container);
  }

  /** What a planner would be told that knows the truth: as from the history of many equal jobs. */
  static Costs trueCosts(ClusterSpec cluster, JobSpec job) {
    double alone = job.mapSecondsPerByte * Math.max(1,
        (double) cluster.slots * cluster.nodesPerMachine / cluster.cores);
    double shared = cluster.slots / cluster.diskBytesPerSecond;
    double seconds = Math.max(1e-12, Math.max(alone, shared));
    double crowd = cluster.slots * cluster.nodesPerMachine * cluster.startThreads / cluster.cores;
    double start = cluster.schedulingSeconds + cluster.launchSeconds
        + cluster.startCpuSeconds / cluster.startThreads * Math.max(1, crowd);
    double units = Math.max(1, job.blockBytes / JobSpec.SPREAD_UNIT);
    return new Costs(start, 1 / seconds, job.blockSpread / Math.sqrt(units), job.containerSpread, cluster.nodeSpread);
  }
}
