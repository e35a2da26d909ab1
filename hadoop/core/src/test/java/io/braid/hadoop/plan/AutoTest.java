package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The automatic choice against all others, judged by a schedule of its own: other random numbers,
 * each block drawn by itself, containers on their own nodes first. The simulator's sweep does the
 * same with a whole cluster.
 */
class AutoTest {
  private static final int DRAWS = 16;

  static Stream<Costs> costs() {
    List<Costs> all = new ArrayList<>();
    double rate = 30e6;
    double work = 128 * Inputs.MIB / rate;
    for (double start : new double[] {work, 3 * work, 30 * work}) {
      for (double spread : new double[] {0, 0.2, 0.5, 1}) {
        all.add(new Costs(start, rate, spread, 0));
        all.add(new Costs(start, rate, 0.1, spread));
        all.add(new Costs(start, rate, 0.1, 0, spread));
      }
    }
    return all.stream();
  }

  @ParameterizedTest
  @MethodSource("costs")
  void isAtMostATenthWorseThanTheBest(Costs costs) {
    for (Inputs in : List.of(Inputs.even(400, 8, 4, 3, 1), Inputs.even(2000, 32, 8, 3, 2))) {
      double best = Double.MAX_VALUE;
      StringBuilder seen = new StringBuilder(in.what);
      double auto = 0;
      for (Policy policy : Policy.values()) {
        PlanSettings settings = PlanSettings.DEFAULTS.withPolicy(policy).withCosts(costs);
        Plan plan = Planner.plan(in.blocks, in.nodes, settings);
        auto = 0;
        for (int draw = 0; draw < DRAWS; ++draw) {
          auto += run(in, plan, costs, draw) / DRAWS;
        }
        seen.append(String.format(", %s %.1f s", policy.label(), auto));
        best = policy == Policy.AUTO ? best : Math.min(best, auto);
      }
      assertTrue(auto <= best * 1.1, seen.toString());
    }
  }

  private static double factor(double spread, Random random) {
    double sigma = Math.sqrt(Math.log(1 + spread * spread));
    return Math.exp(sigma * random.nextGaussian() - sigma * sigma / 2);
  }

  /** One job; when a slot is free it takes the largest group of its node, or of any. */
  private static double run(Inputs in, Plan plan, Costs costs, int seed) {
    Random random = new Random(seed);
    double[] slow = new double[in.nodes.size()];
    PriorityQueue<double[]> free = new PriorityQueue<>(Comparator.comparingDouble(f -> f[0]));
    for (int n = 0; n < slow.length; ++n) {
      slow[n] = factor(costs.nodeSpread(), random);
      for (int s = 0; s < in.nodes.get(n).slots(); ++s) {
        free.add(new double[] {random.nextDouble() * 1e-3, n});
      }
    }
    List<Group> waiting = new ArrayList<>(plan.groups());
    waiting.sort(Comparator.comparingLong(Group::length).reversed());
    double last = 0;
    while (!waiting.isEmpty()) {
      double[] slot = free.remove();
      String host = Inputs.name((int) slot[1]);
      int at = 0;
      while (at < waiting.size() && !waiting.get(at).hosts().contains(host)) {
        ++at;
      }
      Group group = waiting.remove(at < waiting.size() ? at : 0);
      double work = 0;
      for (int i = 0; i < group.size(); ++i) {
        work +=
            in.blocks.get(group.block(i)).length()
                / costs.bytesPerSecond()
                * factor(costs.blockSpread(), random);
      }
      work *= slow[(int) slot[1]] * factor(costs.containerSpread(), random);
      slot[0] += costs.startSeconds() + work;
      last = Math.max(last, slot[0]);
      free.add(slot);
    }
    return last;
  }

  private static Plan plan(Costs costs) {
    Inputs in = Inputs.even(400, 8, 4, 3, 1);
    return Planner.plan(in.blocks, in.nodes, PlanSettings.DEFAULTS.withCosts(costs));
  }

  @Test
  void startUpAloneMeansMaximum() {
    assertEquals(Policy.MAXIMUM, plan(new Costs(60, 30e6, 0.1, 0)).policy());
  }

  @Test
  void skewOfContainersMeansSmallerOnes() {
    assertNotEquals(Policy.MAXIMUM, plan(new Costs(1, 30e6, 0, 1)).policy());
  }

  @Test
  void withNothingToGainTheFewestContainersAreTaken() {
    Inputs in = Inputs.even(32, 8, 4, 3, 1);
    Plan plan = Planner.plan(in.blocks, in.nodes, PlanSettings.DEFAULTS);
    assertEquals(32, plan.groups().size());
    assertEquals(Policy.NONE, plan.policy(), plan.reason());
  }
}
