package io.braid.hadoop.benchmarks;

import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Planner;
import io.braid.hadoop.plan.Policy;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** The planner by itself: from a list of blocks to groups, by each policy. */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 2)
@Measurement(iterations = 5)
@Fork(value = 1, jvmArgsAppend = "-Xmx1g")
public class PlanningBenchmark {
  @Param({"100000", "1000000"})
  private int blocks;

  @Param({"true", "false"})
  private boolean hosts;

  @Param({"none", "maximum", "assorted-strict", "assorted-balanced", "auto"})
  private String policy;

  private final List<Block> input = new ArrayList<>();
  private final List<Node> nodes = new ArrayList<>();
  private PlanSettings settings;

  /** The blocks, the same each time. */
  @Setup
  public void prepare() {
    RandomBlocks placement = new RandomBlocks(hosts);
    for (int i = 0; i < blocks; ++i) {
      input.add(new Block(RandomBlocks.BLOCK_BYTES, List.of(placement.next())));
    }
    for (int n = 0; n < RandomBlocks.NODES; ++n) {
      nodes.add(new Node(RandomBlocks.name(n), RandomBlocks.SLOTS));
    }
    settings = PlanSettings.DEFAULTS.withPolicy(Policy.of(policy));
  }

  @Benchmark
  public Plan plan(ProcessorTime processor) {
    long begin = processor.now();
    Plan plan = Planner.plan(input, nodes, settings);
    processor.spent += processor.now() - begin;
    return plan;
  }

  /** The planning thread's processor time, which other load on the machine hardly lengthens. */
  @AuxCounters(AuxCounters.Type.EVENTS)
  @State(Scope.Thread)
  public static class ProcessorTime {
    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private long spent;

    @Setup(Level.Iteration)
    public void reset() {
      spent = 0;
    }

    /** Shown as a column of its own. */
    public double processorMillis() {
      return spent / 1e6;
    }

    private long now() {
      return threads.getCurrentThreadCpuTime();
    }
  }
}
