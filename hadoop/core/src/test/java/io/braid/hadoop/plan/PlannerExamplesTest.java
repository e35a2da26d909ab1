package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Inputs with a known answer: those of the text, and the corners. */
class PlannerExamplesTest {
  private static Plan plan(List<Block> blocks, List<Node> nodes, Policy policy) {
    return Planner.plan(blocks, nodes, PlanSettings.DEFAULTS.withPolicy(policy));
  }

  /** How many groups there are of each number of blocks. */
  private static Map<Integer, Integer> counts(Plan plan) {
    Map<Integer, Integer> counts = new TreeMap<>();
    plan.groups().forEach(g -> counts.merge(g.size(), 1, Integer::sum));
    return counts;
  }

  /** Figure 5's file: 36 blocks, the two replicas of each on two of three nodes in turn. */
  private static Inputs figure5() {
    Inputs in = Inputs.even(0, 3, 2, 2, 0);
    for (int i = 0; i < 36; ++i) {
      in.blocks.add(
          new Block(128 * Inputs.MIB, List.of(Inputs.name(i % 3), Inputs.name((i + 1) % 3))));
    }
    return in;
  }

  private static void assertAllLocal(Plan plan) {
    plan.groups().forEach(g -> assertEquals(g.length(), g.localLength(), "remote blocks"));
  }

  private static Map<String, Integer> groupsByNode(Plan plan) {
    Map<String, Integer> groups = new TreeMap<>();
    plan.groups().forEach(g -> groups.merge(g.hosts().get(0), 1, Integer::sum));
    return groups;
  }

  @Test
  void figure5Maximum() {
    Inputs in = figure5();
    Plan plan = plan(in.blocks, in.nodes, Policy.MAXIMUM);
    assertEquals(Map.of(6, 6), counts(plan));
    assertEquals(Map.of("node000", 2, "node001", 2, "node002", 2), groupsByNode(plan));
    assertAllLocal(plan);
  }

  @Test
  void figure5MaximumOnRandomPlacements() {
    for (int seed = 0; seed < 200; ++seed) {
      Inputs in = Inputs.even(36, 3, 2, 2, seed);
      Plan plan = plan(in.blocks, in.nodes, Policy.MAXIMUM);
      assertEquals(Map.of(6, 6), counts(plan));
      assertAllLocal(plan);
    }
  }

  @Test
  void figure5Assorted() {
    Inputs in = figure5();
    Plan balanced = plan(in.blocks, in.nodes, Policy.ASSORTED_BALANCED);
    assertAllLocal(balanced);
    // A slot of each node reads an even share at once, the other one shares that halve.
    assertEquals(3, counts(balanced).get(6));
    assertEquals(3, counts(balanced).get(3));
    assertTrue(counts(balanced).keySet().stream().allMatch(s -> s == 6 || s <= 3));
    // To the letter, two slots a node have one size: one half of two slots; of one slot left, half
    // is none.
    assertEquals(Map.of(6, 3, 1, 18), counts(plan(in.blocks, in.nodes, Policy.ASSORTED_STRICT)));
  }

  /**
   * Algorithm 1 gives <7, 4> and <3, 2> (half of the one slot left, at size 1, ends it); line 10
   * makes 4 and 4 of them.
   */
  @Test
  void strictLeaves720Single() {
    Inputs in = Inputs.even(2000, 32, 8, 3, 1);
    Plan plan = plan(in.blocks, in.nodes, Policy.ASSORTED_STRICT);
    assertEquals(Map.of(7, 128, 3, 128, 1, 720), counts(plan));
  }

  @Test
  void theTextsTenJobs() {
    int maximum = 0;
    int strict = 0;
    for (int blocks : new int[] {512, 512, 512, 512, 512, 2000, 2000, 2000, 2000, 2000}) {
      Inputs in = Inputs.even(blocks, 32, 8, 3, blocks);
      maximum += plan(in.blocks, in.nodes, Policy.MAXIMUM).groups().size();
      strict += plan(in.blocks, in.nodes, Policy.ASSORTED_STRICT).groups().size();
    }
    assertEquals(2560, maximum);
    assertEquals(6800, strict);
  }

  @Test
  void maximumOfEqualBlocksCountsExactly() {
    Inputs in = Inputs.even(2000, 32, 8, 3, 1);
    Plan plan = plan(in.blocks, in.nodes, Policy.MAXIMUM);
    // 2,000 = 208 * 8 + 48 * 7
    assertEquals(Map.of(7, 48, 8, 208), counts(plan));
    assertEquals(32, groupsByNode(plan).size());
    assertTrue(groupsByNode(plan).values().stream().allMatch(g -> g == 8));
  }

  @ParameterizedTest
  @EnumSource(Policy.class)
  void noBlocks(Policy policy) {
    assertEquals(0, plan(List.of(), List.of(new Node("a", 2)), policy).groups().size());
  }

  @ParameterizedTest
  @EnumSource(Policy.class)
  void noNodesOrNoSlots(Policy policy) {
    Inputs in = Inputs.even(20, 4, 2, 2, 0);
    for (List<Node> nodes : List.of(List.<Node>of(), List.of(new Node("node000", 0)))) {
      Plan plan = plan(in.blocks, nodes, policy);
      assertEquals(Policy.NONE, plan.policy());
      assertEquals("no slots are known", plan.reason());
      assertEquals(Map.of(1, 20), counts(plan));
      assertEquals(in.blocks.get(7).hosts(), plan.groups().get(7).hosts());
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Policy.class,
      names = {"NONE", "MAXIMUM", "ASSORTED_STRICT", "ASSORTED_BALANCED"})
  void moreSlotsThanBlocks(Policy policy) {
    Inputs in = Inputs.even(20, 32, 8, 3, 5);
    assertEquals(Map.of(1, 20), counts(plan(in.blocks, in.nodes, policy)));
  }

  @Test
  void oneSlot() {
    Inputs in = Inputs.even(20, 1, 1, 1, 5);
    assertEquals(Map.of(20, 1), counts(plan(in.blocks, in.nodes, Policy.MAXIMUM)));
    assertEquals(Map.of(1, 20), counts(plan(in.blocks, in.nodes, Policy.ASSORTED_STRICT)));
    // No half of one slot can have the largest size; the progression starts at the next.
    Map<Integer, Integer> balanced = counts(plan(in.blocks, in.nodes, Policy.ASSORTED_BALANCED));
    assertEquals(1, balanced.get(10));
    assertEquals(1, balanced.get(5));
  }

  @Test
  void objectStoresHaveOnePseudoNode() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 2000; ++i) {
      blocks.add(new Block(64 * Inputs.MIB, List.of()));
    }
    Inputs in = Inputs.even(0, 32, 8, 3, 0);
    assertEquals(Map.of(7, 48, 8, 208), counts(plan(blocks, in.nodes, Policy.MAXIMUM)));
    // 256 slots of one node: sizes 7, 3 with 128 and 2 * 64 groups, as on real nodes.
    assertEquals(
        Map.of(7, 128, 3, 128, 1, 720), counts(plan(blocks, in.nodes, Policy.ASSORTED_STRICT)));
    plan(blocks, in.nodes, Policy.MAXIMUM)
        .groups()
        .forEach(
            g -> {
              assertEquals(List.of(), g.hosts());
              assertEquals(0, g.localLength());
            });
  }

  @Test
  void hostsThatAreNoNodesAreNotAskedFor() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 40; ++i) {
      blocks.add(new Block(Inputs.MIB, List.of("elsewhere" + i % 3)));
    }
    Plan plan = plan(blocks, List.of(new Node("a", 2), new Node("b", 2)), Policy.MAXIMUM);
    assertEquals(Map.of(10, 4), counts(plan));
    plan.groups().forEach(g -> assertEquals(List.of(), g.hosts()));
  }

  @Test
  void aGiantBlockHasAContainerAlone() {
    Inputs in = Inputs.even(90, 3, 2, 2, 4);
    in.blocks.add(41, new Block(100L << 30, List.of("node001")));
    for (Policy policy : List.of(Policy.MAXIMUM, Policy.ASSORTED_BALANCED)) {
      List<Group> groups = plan(in.blocks, in.nodes, policy).groups();
      assertEquals(1, groups.stream().filter(g -> g.length() >= 100L << 30).count());
      assertEquals(1, groups.stream().filter(g -> g.length() == 100L << 30).count(), "it is alone");
    }
    // The five other slots share the rest.
    assertEquals(Map.of(1, 1, 18, 5), counts(plan(in.blocks, in.nodes, Policy.MAXIMUM)));
  }

  @Test
  void emptyBlocksAreSpread() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 100; ++i) {
      blocks.add(new Block(0, List.of("a")));
    }
    List<Node> nodes = List.of(new Node("a", 4), new Node("b", 1));
    assertEquals(Map.of(20, 5), counts(plan(blocks, nodes, Policy.MAXIMUM)));
  }

  @Test
  void allDataOnOneNodeIsStillReadByAllSlots() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 80; ++i) {
      blocks.add(new Block(Inputs.MIB, List.of("b")));
    }
    List<Node> nodes = List.of(new Node("a", 2), new Node("b", 2), new Node("c", 4));
    Plan plan = plan(blocks, nodes, Policy.MAXIMUM);
    assertEquals(Map.of(10, 8), counts(plan));
    plan.groups().forEach(g -> assertEquals(List.of("b"), g.hosts()));
  }

  @Test
  void theSameHostTwiceCountsOnce() {
    List<Block> blocks = List.of(new Block(10, List.of("a", "a", "b", "b")));
    for (Policy policy : Policy.values()) {
      Plan plan =
          plan(blocks, List.of(new Node("a", 1), new Node("b", 1), new Node("a", 1)), policy);
      assertEquals(2, plan.groups().get(0).hosts().size());
    }
  }

  @Test
  void lengthsBeyondALongDoNotOverflow() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 9; ++i) {
      blocks.add(new Block(Long.MAX_VALUE, List.of("a")));
    }
    for (Policy policy : Policy.values()) {
      plan(blocks, List.of(new Node("a", 2)), policy)
          .groups()
          .forEach(g -> assertEquals(Long.MAX_VALUE, g.length()));
    }
  }

  @Test
  void settingsOutOfRangeAreRefused() {
    PlanSettings defaults = PlanSettings.DEFAULTS;
    assertThrows(IllegalArgumentException.class, () -> defaults.withRatio(1));
    assertThrows(IllegalArgumentException.class, () -> defaults.withLargeShare(0));
    assertThrows(IllegalArgumentException.class, () -> defaults.withLargeShare(Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> defaults.withLocalFraction(1.1));
    assertThrows(IllegalArgumentException.class, () -> defaults.withMinimumBytes(-1));
    assertThrows(IllegalArgumentException.class, () -> new Costs(1, 0, 0, 0));
    assertThrows(IllegalArgumentException.class, () -> new Costs(Double.NaN, 1, 0, 0));
  }
}
