package io.braid.hadoop.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Policy;
import io.braid.hadoop.sim.Sweep.Case;
import io.braid.hadoop.sim.Sweep.Told;
import io.braid.hadoop.sim.Sweep.Verdict;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The automatic policy against the best fixed one, over a small grid; the large one is a command.
 */
class SweepTest {
  /** A tenth is what must hold everywhere; on this grid no point is over 1.05. */
  private static final double WORST = 1.05;

  /** Where nine seeds say that a point is over the limit, so many times as many must say so too. */
  private static final int CLOSER = 8;

  @Test
  void autoIsHardlySlowerThanTheBestWhereStartUpDominates() {
    List<Case> grid = Sweep.grid(true);
    assertTrue(grid.size() > 40, "a grid of " + grid.size());
    Sweep sweep = new Sweep(9);
    for (Case point : grid) {
      Verdict verdict = sweep.judge(point, Told.TRUTH);
      if (verdict.ratio(Told.TRUTH) > WORST) {
        verdict = sweep.judgeAgain(verdict, CLOSER, Told.TRUTH);
      }
      assertTrue(
          verdict.ratio(Told.TRUTH) <= WORST,
          verdict.ratio(Told.TRUTH)
              + " times "
              + Sweep.FIXED.get(verdict.best).label
              + ": "
              + point.label());
    }
  }

  /**
   * A short job of uneven nodes: a few small splits beside a wave of large ones would wait for slow
   * nodes.
   */
  @Test
  void leftoversThatWouldWaitForTheirHostsAreNotPlanned() {
    Case point = new Case(32, 8, 1000, 64, 1, Skew.nodes(0.3));
    Verdict verdict = new Sweep(9).judge(point, Told.TRUTH, Told.NO_WAIT);
    assertTrue(verdict.ratio(Told.TRUTH) <= WORST, "told: " + verdict.ratio(Told.TRUTH));
    assertTrue(verdict.ratio(Told.NO_WAIT) > 1.1, "not told: " + verdict.ratio(Told.NO_WAIT));
  }

  @Test
  void theGridHasPointsWhereTheFixedPoliciesDiffer() {
    Case many = new Case(4, 2, 300, 4, 6.58, Skew.NONE);
    Verdict verdict = new Sweep(1).judge(many, Told.TRUTH);
    assertEquals(Policy.MAXIMUM.label(), Sweep.FIXED.get(verdict.best).label);
    assertTrue(
        verdict.fixed[0][0] > 5 * verdict.fixed[verdict.best][0], "a container a block is slower");
  }

  @Test
  void theTruthIsWhatAContainerTakes() {
    Case point = new Case(4, 2, 8, 64, 5, Skew.NONE);
    Costs truth = point.truth();
    assertEquals(5 + 1.28, truth.startSeconds(), 1e-9);
    assertEquals(
        1.51 + truth.startSeconds() + (64 << 20) / truth.bytesPerSecond(),
        point.seconds(Runs.settings(Policy.NONE), 1),
        1e-6);
  }
}
