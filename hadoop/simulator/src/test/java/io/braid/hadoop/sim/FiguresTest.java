package io.braid.hadoop.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The figures' claims: those that the model bears out must go on to hold, and those that it does
 * not are listed in hadoop/docs/simulator.md.
 */
class FiguresTest {
  private static boolean holds(Report report, String claim, String skew) {
    for (Map<String, Object> entry : report.claims()) {
      if (((String) entry.get("claim")).startsWith(claim)
          && ((String) entry.get("skew")).startsWith(skew)) {
        return (boolean) entry.get("holds");
      }
    }
    throw new AssertionError(report.title + " has no claim \"" + claim + "\" under " + skew);
  }

  @Test
  void aContainersStartIsTheTextsOne() {
    Report report = Figures.of(1);
    assertEquals(2, report.claims().size());
    assertTrue(report.claims().stream().allMatch(claim -> (boolean) claim.get("holds")));
  }

  @Test
  void oneWaveMakesWordCountIndependentOfTheBlockSize() {
    Report report = Figures.of(2);
    assertTrue(holds(report, "with logical splits", "independent"), report.text());
    assertTrue(holds(report, "2 GiB blocks take about twice", "independent"), report.text());
  }

  @Test
  void largeSplitsUnbalanceGrepOnlyUnderCorrelatedSkew() {
    Report report = Figures.of(6);
    String slower = "Grep with the largest splits in all slots is slower";
    assertTrue(holds(report, slower, "correlated 0.8 by container"), report.text());
    assertTrue(!holds(report, slower, "independent"), report.text());
    assertTrue(holds(report, "the fastest node ends earlier", "independent"), report.text());
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 4, 7})
  void theOtherFiguresHaveDataAndClaims(int number) {
    hasDataAndClaims(number);
  }

  @Tag("share-0")
  @Test
  void theNinthFigureHasDataAndClaims() {
    hasDataAndClaims(9);
  }

  @Tag("share-1")
  @Test
  void theTenthFigureHasDataAndClaims() {
    hasDataAndClaims(10);
  }

  private static void hasDataAndClaims(int number) {
    Report report = Figures.of(number);
    assertTrue(!report.claims().isEmpty());
    assertTrue(report.json().contains("\"rows\":[["), report.title);
    assertTrue(report.text().contains("skew: "), report.title);
  }
}
