package io.braid.hadoop.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The largest cluster that the simulator promises: 1,000 nodes and a million blocks. */
class ScaleTest {
  @ParameterizedTest
  @EnumSource(
      value = Policy.class,
      names = {"NONE", "MAXIMUM"})
  @Timeout(value = 240, unit = TimeUnit.SECONDS)
  void aMillionBlocksOnAThousandNodes(Policy policy) {
    ClusterSpec cluster = ClusterSpec.dissertation().nodes(1000, 8);
    JobSpec job =
        JobSpec.grep()
            .input(1_000_000L << 27, 128L << 20, 3)
            .skew(0.3, 0.3)
            .plan(PlanSettings.DEFAULTS.withPolicy(policy));
    SimResult result = new Simulation(cluster, Simulation.Discipline.FAIR, 1).run(List.of(job));
    assertEquals(1_000_000, result.jobs().get(0).blocksRead);
  }

  @Test
  @Timeout(value = 240, unit = TimeUnit.SECONDS)
  void aShuffleBetweenAThousandNodes() {
    ClusterSpec cluster = ClusterSpec.dissertation().nodes(1000, 8);
    JobSpec job = JobSpec.sort().input(20_000L << 27, 128L << 20, 3).reduce(200, 1e-8, 1, 3);
    SimResult result = new Simulation(cluster, Simulation.Discipline.FAIR, 1).run(List.of(job));
    assertEquals(20_000.0 * (1 << 27), result.shuffledBytes, 1e6);
  }
}
