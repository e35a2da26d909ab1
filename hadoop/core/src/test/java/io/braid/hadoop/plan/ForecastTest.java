package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.function.IntFunction;
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
  void theLongestOfAFewHasItsMeanAlsoWithALongTail() {
    // The largest of 1, 2 and 8 lognormal factors of mean 1 and deviation 1: means of ten million.
    Costs costs = new Costs(0, 10, 0, 1);
    assertEquals(100, of(1, 1000, costs).seconds(), 0.3);
    assertEquals(144.4, of(2, 1000, costs).seconds(), 1.5);
    assertEquals(265.6, of(8, 1000, costs).seconds(), 4);
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

  /** Groups of a length that each ask for the node of the same place. */
  private static double waiting(long[] lengths, int[] asked, double seconds) {
    Costs costs = new Costs(5, 10, 0, 0).withLocalityWait(seconds);
    IntFunction<int[]> nodes = g -> asked[g] < 0 ? new int[0] : new int[] {asked[g]};
    return Forecast.of(lengths, nodes, lengths.length, SLOTS, costs, 1).seconds();
  }

  @Test
  void aSlotWaitsForAGroupOfItsNode() {
    // Eight groups of 15 s; all ask for the first node, which has four slots.
    long[] alike = {100, 100, 100, 100, 100, 100, 100, 100};
    int[] first = new int[8];
    assertEquals(15, waiting(alike, first, 0), 1e-9);
    assertEquals(3 + 15, waiting(alike, first, 3), 1e-9);
    // Longer than a wave: the second wave runs where it asked to.
    assertEquals(2 * 15, waiting(alike, first, 20), 1e-9);
    assertEquals(15, waiting(alike, new int[] {0, 0, 0, 0, 1, 1, 1, 1}, 20), 1e-9);
    int[] none = {-1, -1, -1, -1, -1, -1, -1, -1};
    assertEquals(15, waiting(alike, none, 20), 1e-9);
  }

  @Test
  void hostsThatAreUnknownOrFarTooManySlotsAreNoTrouble() {
    Costs costs = new Costs(5, 10, 0, 0).withLocalityWait(3);
    List<Block> blocks = List.of(new Block(100, List.of("elsewhere")), new Block(100, List.of()));
    List<Node> nodes = List.of(new Node("here", 1), new Node("there", 1));
    Plan plan = Planner.plan(blocks, nodes, PlanSettings.DEFAULTS.withPolicy(Policy.NONE));
    assertEquals(15, Forecast.of(plan, nodes, costs).seconds(), 1e-9);
    int[] many = {1_000_000_000, 1_000_000_000};
    Forecast forecast = Forecast.of(new long[] {100}, g -> new int[] {1}, 1, many, costs, 1);
    assertEquals(15, forecast.seconds(), 1e-9);
  }

  @Test
  void aLocalStartBeginsTheWaitAnew() {
    // 12, 9 and six times 6 s, all for the first node: its slots are free again at 6, 6, 9 and 12.
    long[] lengths = {70, 40, 10, 10, 10, 10, 10, 10};
    assertEquals(12, waiting(lengths, new int[8], 3.5), 1e-9);
    assertEquals(12 + 6, waiting(lengths, new int[8], 6.5), 1e-9);
  }

  @Test
  void waitsOfManyGroupsAreSampledWithoutChangingTheAnswer() {
    int[] slots = new int[1000];
    Arrays.fill(slots, 8);
    long[] lengths = new long[1_000_000];
    Arrays.fill(lengths, 100);
    lengths[1] = 10_000;
    Costs costs = new Costs(5, 10, 0.2, 0.2).withLocalityWait(3);
    IntFunction<int[]> nodes = g -> new int[] {g % 1000, (g + 7) % 1000, (g + 300) % 1000};
    double mean = 1_000_000 / 8000.0 * 15;
    assertEquals(
        mean, Forecast.of(lengths, nodes, 1_000_000, slots, costs, 1).seconds(), mean * 0.03);
    IntFunction<int[]> nowhere = g -> new int[0];
    double homeless = Forecast.of(lengths, nowhere, 1_000_000, slots, costs, 1).seconds();
    assertEquals(mean, homeless, mean * 0.03);
    // The longest is among those that are looked at.
    lengths[1] = 200_000;
    Costs alike = new Costs(5, 10, 0, 0).withLocalityWait(3);
    assertEquals(20_005, Forecast.of(lengths, nodes, 1_000_000, slots, alike, 1).seconds(), 1e-6);
  }

  @Test
  void nothingTakesNoTime() {
    assertEquals(0, Forecast.of(new long[0], 0, SLOTS, Costs.ASSUMED).seconds());
    assertEquals(0, Forecast.of(new long[] {1}, 1, new int[] {0}, Costs.ASSUMED).seconds());
  }
}
