package io.braid.hadoop.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.sim.Sweep.Case;
import io.braid.hadoop.sim.Sweep.Told;
import io.braid.hadoop.sim.Sweep.Verdict;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A few points of the large grid; all of them are a command. */
class GoalSweepTest {
  @Test
  void theGridHasEachPointOnceInTheSameOrder() {
    List<String> labels = labels();
    assertEquals(432, labels.stream().distinct().count());
    assertEquals(labels(), labels);
  }

  private static List<String> labels() {
    return GoalSweep.grid().stream().map(Case::label).collect(Collectors.toList());
  }

  @Test
  void theReportHoldsTheFirstPointsAgainstTheGoal() {
    List<String> told = new ArrayList<>();
    // Of 100 blocks on 256 slots all plans are alike.
    List<Case> points = List.of(new Case(32, 8, 100, 16, 1, Skew.NONE));
    Report report = new GoalSweep(1).run(points, told::add);
    assertEquals(1, told.size());
    assertTrue(told.get(0).startsWith("1.000 told the truth, 1.000 told nothing: 32x8"), told + "");
    assertTrue(report.text().contains("1 of 432"), report.text());
    assertEquals(true, report.claims().get(0).get("holds"));
  }

  /**
   * Skew that is not told of: with the assumptions of less skew, maximum was taken here, and took
   * 1.45 times as long as the best.
   */
  @Test
  @Tag("night")
  void muchSkewIsAmongWhatIsAssumed() {
    Case point = new Case(4, 2, 300, 64, 6.58, Skew.correlated(1));
    Verdict verdict = new Sweep(25).judge(point, Told.TRUTH, Told.ASSUMED);
    assertTrue(verdict.ratio(Told.ASSUMED) < 1.25, "" + verdict.ratio(Told.ASSUMED));
  }
}
