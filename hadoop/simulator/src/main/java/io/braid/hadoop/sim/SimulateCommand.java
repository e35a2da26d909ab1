package io.braid.hadoop.sim;

import io.braid.hadoop.plan.Policy;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;

/** The command {@code simulate}: a figure, a sweep, or a cluster and jobs of one's own. */
public final class SimulateCommand {
  private static final String USAGE =
      String.join(
          "\n",
          "Usage: simulate [option]...           jobs on a simulated cluster, a line a" + " policy",
          "       simulate --figure N [--json]    a figure of the text: 1-4, 6-10",
          "       simulate --sweep [--small]      auto against the others over a grid",
          "       simulate --sweep --goal [--points N]  the same over another grid, or N points of it",
          "       simulate --calibration          a real cluster next to simulated" + " ones",
          "",
          "cluster (default: 32 nodes of 8 slots behind two switches, a disk of 100 MiB/s each)",
          "  --nodes N            nodes",
          "  --slots N            map containers that a node runs at once, and its cores",
          "  --racks N            racks of equal size (default: of at most 40 nodes)",
          "  --cores N            cores of a machine",
          "  --machine-nodes N    nodes that share a machine's cores (default 1)",
          "  --disk MIB           MiB a second of a node's disk",
          "  --port MIB           MiB a second of a node's network port, each way",
          "  --uplink MIB         MiB a second of a rack's uplink, each way",
          "  --start S            seconds that a container needs to start on a free node (6.58)",
          "  --delay S            seconds that a job waits for a slot near its data (3)",
          "  --node-spread X      coefficient of variation of the nodes' speed (0)",
          "  --scheduler NAME     fair (default) or fifo",
          "jobs",
          "  --job NAME           grep (default), wordcount or sort",
          "  --blocks N           blocks of each job's input (2000)",
          "  --block-size SIZE    bytes, or with a suffix k, m or g (128m)",
          "  --replication N      copies of a block (3)",
          "  --map-seconds S      core seconds of a map for 128 MiB, instead of the job's own",
          "  --output-ratio X     bytes that maps put out for each that they read",
          "  --reducers N         reducers of each job",
          "  --block-spread X     variation of the blocks' time, independent (0)",
          "  --container-spread X variation of the containers' time, shared by a container's blocks"
              + " (0)",
          "  --jobs N             so many equal jobs, each with its own input (1)",
          "  --interval S         seconds between their submissions (0)",
          "what is compared",
          "  --policy LIST        of none, maximum, assorted-strict, assorted-balanced, waves,"
              + " factoring, auto (all)",
          "  --seed N             of all that is drawn (1)",
          "  --json               JSON instead of text",
          "  --help               this text",
          "");

  private SimulateCommand() {}

  public static void main(String[] args) {
    System.exit(run(args, System.out, System.err));
  }

  /**
   * Runs the command; returns 0, 1 if a claim that it checks fails to hold (--sweep), 2 for bad
   * options.
   */
  public static int run(String[] args, PrintStream out, PrintStream err) {
    try {
      Options options = Options.parse(args);
      if (options.has("help")) {
        out.print(USAGE);
        return 0;
      }
      Report report = report(options, err);
      out.print(options.has("json") ? report.json() : report.text());
      out.flush();
      return options.has("sweep")
              && report.claims().stream().anyMatch(c -> !(boolean) c.get("holds"))
          ? 1
          : 0;
    } catch (IllegalArgumentException wrong) {
      err.println("simulate: " + wrong.getMessage());
      err.println("simulate --help lists the options");
      return 2;
    }
  }

  private static Report report(Options options, PrintStream err) {
    if (options.has("figure")) {
      options.allowOnly("figure", "json");
      return Figures.of((int) options.whole("figure", 0, 0, 1000));
    }
    if (options.has("sweep")) {
      if (options.has("goal")) {
        options.allowOnly("sweep", "goal", "points", "json");
        List<Sweep.Case> grid = GoalSweep.grid();
        long points = options.whole("points", grid.size(), 1, grid.size());
        return new GoalSweep(4).run(grid.subList(0, (int) points), err::println);
      }
      options.allowOnly("sweep", "small", "json");
      return new Sweep(25).run(Sweep.grid(options.has("small")), Sweep.Told.values());
    }
    if (options.has("calibration")) {
      options.allowOnly("calibration", "json");
      return Calibration.report();
    }
    for (String name : List.of("small", "goal", "points")) {
      if (options.has(name)) {
        throw new IllegalArgumentException("--" + name + " goes with --sweep");
      }
    }
    return compare(options);
  }

  private static ClusterSpec cluster(Options options) {
    ClusterSpec cluster = ClusterSpec.dissertation();
    if (options.has("nodes") || options.has("slots")) {
      cluster.nodes(
          (int) options.whole("nodes", 32, 1, 100_000), (int) options.whole("slots", 8, 1, 1000));
    }
    if (options.has("racks")) {
      cluster.racks((int) options.whole("racks", 1, 1, 100_000));
    }
    cluster.cores(
        (int) options.whole("cores", cluster.cores, 1, 10_000),
        (int) options.whole("machine-nodes", 1, 1, 1000));
    double mib = ClusterSpec.MIB;
    cluster.rates(
        mib * options.real("disk", cluster.diskBytesPerSecond / mib),
        mib * options.real("port", cluster.portBytesPerSecond / mib),
        mib * options.real("uplink", cluster.uplinkBytesPerSecond / mib));
    double start = options.real("start", cluster.startSeconds());
    cluster.start(start * 0.2, start * 0.8, 1, 0);
    return cluster
        .localityDelay(options.real("delay", cluster.localityDelaySeconds))
        .nodeSpread(options.real("node-spread", 0));
  }

  private static JobSpec job(Options options, int number) {
    JobSpec job = JobSpec.of(options.text("job", "grep"));
    long blockBytes = options.bytes("block-size", 128L << 20);
    long blocks = options.whole("blocks", 2000, 0, 50_000_000);
    if (blocks > 0 && blockBytes > Long.MAX_VALUE / 2 / blocks) {
      throw new IllegalArgumentException(
          blocks
              + " blocks of "
              + blockBytes
              + " bytes are more than can be counted: lower --blocks or --block-size");
    }
    double unit = 128 * ClusterSpec.MIB;
    return job.input(blocks * blockBytes, blockBytes, (int) options.whole("replication", 3, 1, 100))
        .map(
            options.real("map-seconds", job.mapSecondsPerByte * unit) / unit,
            options.real("output-ratio", job.mapOutputRatio),
            job.spillFactor)
        .reduce(
            (int) options.whole("reducers", job.reducers, 0, 100_000),
            job.reduceSecondsPerByte,
            job.outputRatio,
            job.outputReplication)
        .skew(options.real("block-spread", 0), options.real("container-spread", 0))
        .submit(number * options.real("interval", 0));
  }

  private static Simulation.Discipline discipline(String name) {
    switch (name) {
      case "fair":
        return Simulation.Discipline.FAIR;
      case "fifo":
        return Simulation.Discipline.FIFO;
      default:
        throw new IllegalArgumentException(
            "there is no scheduler \"" + name + "\": use fair or fifo");
    }
  }

  private static Report compare(Options options) {
    ClusterSpec cluster = cluster(options);
    int count = (int) options.whole("jobs", 1, 1, 1000);
    Simulation.Discipline discipline = discipline(options.text("scheduler", "fair"));
    List<Policy> policies = new ArrayList<>();
    for (String name :
        options
            .text(
                "policy",
                "none,maximum,assorted-strict,assorted-balanced,waves,factoring,auto")
            .split(",")) {
      policies.add(Policy.of(name));
    }
    long seed = options.whole("seed", 1, Long.MIN_VALUE, Long.MAX_VALUE);
    JobSpec first = job(options, 0);
    Report report =
        new Report(
            count
                + " x "
                + first.name
                + ", "
                + first.blocks()
                + " blocks of "
                + first.blockBytes
                + " bytes, on "
                + cluster.nodes
                + " nodes of "
                + cluster.slots
                + " slots");
    report.fact(
        "spread",
        "block "
            + first.blockSpread
            + " (independent), container "
            + first.containerSpread
            + " and node "
            + cluster.nodeSpread
            + " (correlated)");
    Report.Table table =
        report.table(
            "policies",
            "policy",
            "used",
            "containers",
            "mean_job_s",
            "last_job_s",
            "maps_local_%",
            "bytes_local_%",
            "start_s",
            "work_s",
            "cpu_s",
            "fairness");
    for (Policy policy : policies) {
      List<JobSpec> jobs = new ArrayList<>();
      for (int i = 0; i < count; ++i) {
        JobSpec job = job(options, i);
        jobs.add(job.plan(Runs.settings(policy).withCosts(Skew.measuredCosts(cluster, job))));
      }
      row(table, policy, new Simulation(cluster, discipline, seed).run(jobs, count > 1 ? 2 : 0));
    }
    return report;
  }

  private static void row(Report.Table table, Policy policy, SimResult result) {
    double maps = 0;
    double local = 0;
    double bytes = 0;
    double start = 0;
    double work = 0;
    for (JobResult job : result.jobs()) {
      maps += job.maps;
      local += job.localMaps;
      bytes += job.localShare() / result.jobs().size();
      start += job.meanStartSeconds() / result.jobs().size();
      work += job.meanWorkSeconds() / result.jobs().size();
    }
    table.row(
        policy.label(),
        result.jobs.get(0).policy,
        result.containers(),
        result.meanJobSeconds(),
        result.finished,
        maps == 0 ? 100.0 : 100 * local / maps,
        100 * bytes,
        start,
        work,
        result.coreSeconds,
        result.fairness());
  }
}
