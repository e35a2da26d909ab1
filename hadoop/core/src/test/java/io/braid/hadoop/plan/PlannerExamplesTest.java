package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
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

  /** Algorithm 2's line 16: nine of ten blocks are enough, and the tenth comes from elsewhere. */
  @Test
  void strictFetchesTheTenthBlock() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 40; ++i) {
      blocks.add(new Block(128 * Inputs.MIB, List.of(i < 9 ? "a" : "b")));
    }
    List<Node> nodes = List.of(new Node("a", 2), new Node("b", 2));
    Plan plan = plan(blocks, nodes, Policy.ASSORTED_STRICT);
    Group ofA =
        plan.groups().stream().filter(g -> g.hosts().equals(List.of("a"))).findFirst().get();
    assertEquals(10, ofA.size());
    assertEquals(9 * 128 * Inputs.MIB, ofA.localLength());
  }

  @Test
  void factoringReadsHalfOfTheRestInEachBatch() {
    Inputs in = Inputs.even(256, 4, 2, 4, 1);
    Map<Integer, Integer> counts = counts(plan(in.blocks, in.nodes, Policy.FACTORING));
    // 256 = 8 * 16 + 8 * 8 + 8 * 4 + 8 * 2 + 8 + 8
    assertEquals(Map.of(16, 8, 8, 8, 4, 8, 2, 8, 1, 16), counts);
  }

  @Test
  void wavesAreAlike() {
    Inputs in = Inputs.even(340, 4, 5, 4, 1);
    assertEquals(Map.of(10, 34), counts(plan(in.blocks, in.nodes, Policy.WAVES)));
    PlanSettings three =
        PlanSettings.DEFAULTS.withPolicy(Policy.WAVES).withWaves(3).withMaximumSeconds(0);
    assertEquals(60, Planner.plan(in.blocks, in.nodes, three).groups().size());
  }

  @Test
  void noGroupIsLargerThanTheMaximum() {
    Inputs in = Inputs.even(400, 4, 2, 3, 1);
    long most = 10 * 128 * Inputs.MIB;
    for (Policy policy : Policy.values()) {
      PlanSettings settings =
          PlanSettings.DEFAULTS
              .withPolicy(policy)
              .withCosts(Costs.ASSUMED.withOpen(0))
              .withMaximumBytes(most);
      for (Group group : Planner.plan(in.blocks, in.nodes, settings).groups()) {
        assertTrue(group.length() <= most, policy + ": " + group.size() + " blocks");
      }
    }
    // Whole waves: 400 / 10 is 40 groups, 5 for each of 8 slots.
    PlanSettings maximum =
        PlanSettings.DEFAULTS
            .withPolicy(Policy.MAXIMUM)
            .withCosts(Costs.ASSUMED.withOpen(0))
            .withMaximumBytes(most);
    assertEquals(Map.of(10, 40), counts(Planner.plan(in.blocks, in.nodes, maximum)));
    // 20 TiB, by the assumed costs' half an hour.
    Inputs large = Inputs.even(163_840, 8, 4, 3, 2);
    plan(large.blocks, large.nodes, Policy.MAXIMUM)
        .groups()
        .forEach(g -> assertTrue(g.length() <= 64L << 30, "a group of " + g.length()));
  }

  /** Opening a file takes time, too: small files do not come into one group beside large ones. */
  @Test
  void manySmallFilesAreSpread() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 50_004; ++i) {
      blocks.add(new Block(i < 4 ? 1L << 30 : 100, List.of()));
    }
    List<Node> nodes = List.of(new Node("a", 4), new Node("b", 4));
    for (Policy policy : List.of(Policy.MAXIMUM, Policy.ASSORTED_BALANCED, Policy.FACTORING)) {
      for (Group group : plan(blocks, nodes, policy).groups()) {
        assertTrue(group.size() <= 6500, policy + ": " + group.size() + " files in a group");
      }
    }
  }

  @Test
  void kindsStayApartAndShareTheSlots() {
    Inputs in = Inputs.even(0, 4, 2, 3, 1);
    for (Policy policy : Policy.values()) {
      List<Block> blocks = new ArrayList<>();
      for (int i = 0; i < 320; ++i) {
        List<String> hosts = List.of(Inputs.name(i % 4), Inputs.name((i + 1) % 4));
        // Half of the bytes are of kind 1, a quarter each of 2 and 3.
        blocks.add(new Block(128 * Inputs.MIB, hosts, i < 160 ? 1 : i < 240 ? 2 : 3));
      }
      Plan plan = plan(blocks, in.nodes, policy);
      int[] seen = new int[blocks.size()];
      Map<Integer, Integer> groupsOfKind = new TreeMap<>();
      for (Group group : plan.groups()) {
        int kind = blocks.get(group.block(0)).kind();
        groupsOfKind.merge(kind, 1, Integer::sum);
        for (int i = 0; i < group.size(); ++i) {
          assertEquals(kind, blocks.get(group.block(i)).kind());
          ++seen[group.block(i)];
        }
      }
      assertTrue(Arrays.stream(seen).allMatch(n -> n == 1), policy.label());
      if (policy == Policy.MAXIMUM) {
        assertEquals(Map.of(1, 4, 2, 2, 3, 2), groupsOfKind);
      }
    }
  }

  @Test
  void moreKindsThanSlotsHaveAGroupEach() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 60; ++i) {
      blocks.add(new Block(Inputs.MIB, List.of(Inputs.name(i % 2)), i % 20));
    }
    List<Node> nodes = List.of(new Node(Inputs.name(0), 2), new Node(Inputs.name(1), 1));
    assertEquals(Map.of(3, 20), counts(plan(blocks, nodes, Policy.MAXIMUM)));
    plan(blocks, nodes, Policy.MAXIMUM)
        .groups()
        .forEach(g -> assertEquals(1, g.hosts().size(), "hosts " + g.hosts()));
  }

  /** A further host that holds half of a group would read the other half over the network. */
  @Test
  void furtherHostsHoldAlmostAll() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 20; ++i) {
      blocks.add(new Block(Inputs.MIB, List.of("a", i < 10 ? "b" : "c")));
    }
    List<Node> nodes = List.of(new Node("a", 1));
    assertEquals(List.of("a"), plan(blocks, nodes, Policy.MAXIMUM).groups().get(0).hosts());
    List<Node> all = List.of(new Node("a", 2), new Node("b", 0), new Node("c", 0));
    for (Group group : plan(blocks, all, Policy.MAXIMUM).groups()) {
      assertEquals(10, group.size());
    }
  }

  /** Blocks that another host holds as well come into one group, which then may run there, too. */
  @Test
  void blocksWithTheSameSecondHolderComeTogether() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < 40; ++i) {
      blocks.add(new Block(Inputs.MIB, List.of("a", i % 2 == 0 ? "b" : "c")));
    }
    List<Node> nodes = List.of(new Node("a", 2), new Node("b", 1), new Node("c", 1));
    PlanSettings settings =
        PlanSettings.DEFAULTS.withPolicy(Policy.MAXIMUM).withCosts(Costs.ASSUMED.withOpen(0));
    for (Group group : Planner.plan(blocks, nodes, settings).groups()) {
      assertEquals(10, group.size());
      assertEquals(2, group.hosts().size(), "hosts " + group.hosts());
      assertEquals(group.length(), group.leastLocalLength());
    }
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
  @EnumSource(value = Policy.class, mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
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
