package io.braid.hadoop.sim;

import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import java.util.List;

/**
 * How the time for a byte varies between blocks, containers and nodes, as coefficients of
 * variation. Immutable.
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

  /**
   * What a planner would be told that knows the truth of work that is the processor's alone: from
   * the specs.
   */
  static Costs trueCosts(ClusterSpec cluster, JobSpec job) {
    double crowd = Math.max(1, (double) cluster.slots * cluster.nodesPerMachine / cluster.cores);
    double threads =
        Math.max(1, cluster.slots * cluster.nodesPerMachine * cluster.startThreads / cluster.cores);
    double start =
        cluster.schedulingSeconds
            + cluster.launchSeconds
            + cluster.startCpuSeconds / cluster.startThreads * threads;
    double units = Math.max(1, job.blockBytes / JobSpec.SPREAD_UNIT);
    return new Costs(
            start,
            1 / Math.max(1e-12, job.mapSecondsPerByte * crowd),
            job.blockSpread / Math.sqrt(units),
            job.containerSpread,
            cluster.nodeSpread)
        .withLocalityWait(cluster.localityDelaySeconds);
  }

  /**
   * What a planner would be told by the history of two earlier runs of the job, one with a
   * container a block and one with what it planned after that, on as much of the input as gives
   * each slot 8 blocks. The second tells the rate when few containers start and more of them wait
   * for a disk. Where a disk is waited for, times vary less than the processor's work does, and the
   * spreads are lowered alike.
   */
  static Costs measuredCosts(ClusterSpec cluster, JobSpec job) {
    Costs truth = trueCosts(cluster, job);
    JobResult plain = pilot(cluster, job, PlanSettings.DEFAULTS.withPolicy(Policy.NONE));
    if (plain.meanWorkSeconds() <= 0) {
      return truth;
    }
    double declared =
        Math.sqrt(
            (1 + truth.blockSpread() * truth.blockSpread())
                    * (1 + truth.containerSpread() * truth.containerSpread())
                    * (1 + truth.nodeSpread() * truth.nodeSpread())
                - 1);
    double lowered = declared == 0 ? 0 : Math.min(1, plain.workSpread() / declared);
    Costs first =
        new Costs(
                plain.meanStartSeconds(),
                plain.bytesPerWorkSecond(),
                truth.blockSpread() * lowered,
                truth.containerSpread() * lowered,
                truth.nodeSpread() * lowered)
            .withLocalityWait(truth.localityWaitSeconds());
    JobResult planned =
        pilot(cluster, job, PlanSettings.DEFAULTS.withPolicy(Policy.AUTO).withCosts(first));
    return new Costs(
            first.startSeconds(),
            planned.bytesPerWorkSecond(),
            first.blockSpread(),
            first.containerSpread(),
            first.nodeSpread())
        .withLocalityWait(truth.localityWaitSeconds());
  }

  private static JobResult pilot(ClusterSpec cluster, JobSpec job, PlanSettings settings) {
    JobSpec pilot =
        new JobSpec(job.name)
            .input(
                Math.min(job.inputBytes, 8L * cluster.nodes * cluster.slots * job.blockBytes),
                job.blockBytes,
                job.replication)
            .map(job.mapSecondsPerByte, job.mapOutputRatio, job.spillFactor)
            .skew(job.blockSpread, job.containerSpread)
            .regions(job.regionSpread, job.regionBlocks)
            .plan(settings);
    return new Simulation(cluster, Simulation.Discipline.FAIR, 1000)
        .run(List.of(pilot))
        .jobs
        .get(0);
  }
}
