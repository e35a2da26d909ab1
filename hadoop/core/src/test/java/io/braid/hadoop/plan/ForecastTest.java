package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Forecasts with a known answer. */
class ForecastTest {
  private static final int[] SLOTS = {4, 4};

  private static Forecast of(int groups, long length, Costs costs) {
    long[] lengths = new long[groups];
    Arrays.fill(lengths, length);
    return Forecast.of(lengths, groups, SLOTS, costs);
  }

  @Test
  void withoutSpreadsWavesAddUp() {
    Costs costs = new Costs(5, 10, 0, 0);
    assertEquals(5 + 10, of(8, 100, costs).seconds(), 1e-9);
    assertEquals(3 * (5 + 10), of(24, 100, costs).seconds(), 1e-9);
    assertEquals(4 * (5 + 10), of(25, 100, costs).seconds(), 1e-9);
    assertEquals(3, of(24, 100, costs).waves(), 1e-9);
    assertEquals(24 * 15, of(24, 100, costs).containerSeconds(), 1e-9);
  }

  @Test
  void largestGoFirst() {
    // 60 and 9 times 20 on eight slots of 10 a second: the long one is not left to the end.
    long[] lengths = {20, 20, 20, 20, 20, 20, 20, 20, 20, 60};
    Forecast forecast = Forecast.of(lengths, 12, SLOTS, new Costs(0, 10, 0, 0));
    assertEquals(6, forecast.seconds(), 1e-9);
  }

  @Test
  void spreadsLengthenAWaveAndDependOnTheirKind() {
    double even = of(8, 1000, new Costs(5, 10, 0, 0)).seconds();
    double byBlock =
        Forecast.of(
                new long[] {1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000},
                800,
                SLOTS,
                new Costs(5, 10, 0.5, 0))
            .seconds();
    double byContainer = of(8, 1000, new Costs(5, 10, 0, 0.5)).seconds();
    double byNode = of(8, 1000, new Costs(5, 10, 0, 0, 0.5)).seconds();
    // A hundred blocks a container even out to a twentieth.
    assertTrue(byBlock > even && byBlock < even * 1.15, byBlock + " against " + even);
    // The largest of eight lognormal factors with that spread is 1.87 on average.
    assertEquals(5 + 100 * 1.87, byContainer, 25);
    // The larger of two: 1.26.
    assertEquals(5 + 100 * 1.26, byNode, 20);
  }

  @Test
  void manyGroupsAreSampledWithoutChangingTheAnswer() {
    int[] slots = new int[1000];
    Arrays.fill(slots, 8);
    long[] lengths = new long[1_000_000];
    Arrays.fill(lengths, 100);
    Forecast forecast = Forecast.of(lengths, lengths.length, slots, new Costs(5, 10, 0.2, 0.2));
    double mean = 1_000_000 / 8000.0 * 15;
    assertEquals(mean, forecast.seconds(), mean * 0.03);
    assertEquals(125, forecast.waves(), 1e-9);
  }

  @Test
  void nothingTakesNoTime() {
    assertEquals(0, Forecast.of(new long[0], 0, SLOTS, Costs.ASSUMED).seconds());
    assertEquals(0, Forecast.of(new long[] {1}, 1, new int[] {0}, Costs.ASSUMED).seconds());
  }
}
