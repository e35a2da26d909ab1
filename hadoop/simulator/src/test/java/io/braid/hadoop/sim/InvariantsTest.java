package io.braid.hadoop.sim;

import static io.braid.hadoop.sim.ClusterSpec.MIB;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What must hold of any run: nothing is lost, nothing is used twice, and a run can be repeated. */
class InvariantsTest {
  private static final Noise DICE = new Noise(99);

  private static int dice(int seed, int what, int low, int high) {
    return low + DICE.part(seed).below(Noise.Stream.ORDER, what, high - low + 1);
  }

  private static ClusterSpec cluster(int seed) {
    int nodes = dice(seed, 1, 1, 12);
    return ClusterSpec.dissertation()
        .nodes(nodes, dice(seed, 2, 1, 5))
        .racks(dice(seed, 3, 1, Math.min(3, nodes)))
        .localityDelay(dice(seed, 4, 0, 9))
        .nodeSpread(0.1 * dice(seed, 5, 0, 4))
        .slowstart(0.1 * dice(seed, 6, 0, 10))
        .start(1, 4, dice(seed, 7, 1, 3), 0.3)
        .stop(0.5, 1);
  }

  private static List<JobSpec> jobs(int seed, Policy policy) {
    List<JobSpec> jobs = new ArrayList<>();
    for (int i = 0; i < dice(seed, 10, 1, 4); ++i) {
      int draw = 20 + 10 * i;
      jobs.add(
          new JobSpec("job" + i)
              .submit(dice(seed, draw, 0, 50))
              .input(dice(seed, draw + 1, 0, 2_000_000_000), 8L << 20, dice(seed, draw + 2, 1, 3))
              .map(1 / MIB, 0.1 * dice(seed, draw + 3, 0, 10), 1)
              .reduce(dice(seed, draw + 4, 0, 9), 0.1 / MIB, 1, 2)
              .skew(0.5, 0.5)
              .regions(0.5, 7)
              .plan(PlanSettings.DEFAULTS.withPolicy(policy)));
    }
    return jobs;
  }

  @ParameterizedTest
  @EnumSource(Policy.class)
  void everyBlockIsReadOnceAndNoByteIsLost(Policy policy) {
    for (int seed = 0; seed < 40; ++seed) {
      List<JobSpec> jobs = jobs(seed, policy);
      ClusterSpec cluster = cluster(seed);
      SimResult result =
          new Simulation(cluster, Simulation.Discipline.values()[seed % 2], seed).run(jobs, 1);
      double shuffle = 0;
      for (int i = 0; i < jobs.size(); ++i) {
        JobSpec spec = jobs.get(i);
        JobResult job = result.jobs().get(i);
        assertEquals(spec.blocks(), job.blocksRead, "blocks of " + job.name + ", seed " + seed);
        assertEquals(spec.inputBytes, job.localBytes + job.remoteBytes);
        assertEquals(job.maps + spec.reducers, job.containers());
        assertTrue(job.seconds() > 0);
        shuffle += spec.reducers == 0 ? 0 : spec.inputBytes * spec.mapOutputRatio;
      }
      assertEquals(shuffle, result.shuffledBytes, 1 + shuffle * 1e-9);
      noSlotIsUsedTwice(cluster, result);
    }
  }

  /** Sweeps over the containers' starts and ends, a node at a time. */
  private static void noSlotIsUsedTwice(ClusterSpec cluster, SimResult result) {
    for (int node = 0; node < cluster.nodes; ++node) {
      List<double[]> changes = new ArrayList<>();
      for (JobResult job : result.jobs()) {
        for (int task = 0; task < job.containers(); ++task) {
          if (job.node(task) == node) {
            assertTrue(job.ended(task) >= job.launched(task));
            changes.add(new double[] {job.launched(task) + 1e-3, 1});
            changes.add(new double[] {job.ended(task), -1});
          }
        }
      }
      changes.sort((a, b) -> Double.compare(a[0], b[0]));
      int used = 0;
      for (double[] change : changes) {
        used += (int) change[1];
        assertTrue(used <= cluster.slots, "node " + node + " at " + change[0]);
      }
    }
  }

  @Test
  void aRunCanBeRepeatedToTheBit() {
    for (int seed = 0; seed < 10; ++seed) {
      assertEquals(digest(seed, 5), digest(seed, 5));
    }
    assertNotEquals(digest(1, 5), digest(1, 6));
  }

  private static String digest(int specs, long seed) {
    SimResult result =
        new Simulation(cluster(specs), Simulation.Discipline.FAIR, seed)
            .run(jobs(specs, Policy.NONE), 1);
    StringBuilder text = new StringBuilder();
    for (JobResult job : result.jobs()) {
      text.append(job.seconds()).append(' ').append(job.localBytes).append(' ');
      for (int task = 0; task < job.containers(); ++task) {
        text.append(job.node(task)).append(':').append(job.ended(task)).append(' ');
      }
    }
    return text.append(result.coreSeconds).append(' ').append(result.events).toString();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 5})
  void copiesLieAsHdfsPutsThem(int copies) {
    ClusterSpec cluster = ClusterSpec.dissertation().nodes(30, 1).racks(3);
    int[] rackOf = cluster.rackOfNodes();
    JobSpec job = new JobSpec("file").input(3000, 1, copies);
    Placement placement = new Placement(job, rackOf, new Noise(4));
    int[] perNode = new int[30];
    for (int block = 0; block < job.blocks(); ++block) {
      Set<Integer> nodes = new HashSet<>();
      for (int copy = 0; copy < copies; ++copy) {
        nodes.add(placement.node(block, copy));
        ++perNode[placement.node(block, copy)];
      }
      assertEquals(copies, nodes.size(), "copies on different nodes");
      if (copies >= 2) {
        assertNotEquals(rackOf[placement.node(block, 0)], rackOf[placement.node(block, 1)]);
      }
      if (copies >= 3) {
        assertEquals(rackOf[placement.node(block, 1)], rackOf[placement.node(block, 2)]);
      }
    }
    int expected = 100 * copies;
    assertTrue(
        Arrays.stream(perNode).allMatch(n -> n > expected * 0.6 && n < expected * 1.4),
        Arrays.toString(perNode));
  }

  @Test
  void aSmallClusterHoldsAsManyCopiesAsItHasNodes() {
    JobSpec job = new JobSpec("file").input(100, 1, 3);
    assertEquals(2, new Placement(job, new int[] {0, 0}, new Noise(1)).copies());
    assertEquals(1, new Placement(job, new int[] {0}, new Noise(1)).copies());
    assertEquals(3, new Placement(job, new int[] {0, 1, 2}, new Noise(1)).copies());
  }

  @Test
  void factorsHaveTheMeanAndTheSpreadThatWereAskedFor() {
    for (double spread : new double[] {0.1, 0.5, 1}) {
      double sum = 0;
      double squares = 0;
      int count = 200_000;
      for (int i = 0; i < count; ++i) {
        double factor = DICE.factor(Noise.Stream.BLOCK, i, spread);
        sum += factor;
        squares += factor * factor;
      }
      double mean = sum / count;
      assertEquals(1, mean, 0.02);
      assertEquals(spread, Math.sqrt(squares / count - mean * mean), 0.06 * spread + 0.02);
    }
    assertEquals(1, DICE.factor(Noise.Stream.BLOCK, 5, 0));
  }
}
