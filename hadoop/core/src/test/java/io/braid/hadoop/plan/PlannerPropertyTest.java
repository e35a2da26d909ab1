package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What must hold for every input and policy. Each seed is an input of its own; a failure names it.
 */
class PlannerPropertyTest {
  private static final double OPEN = Costs.ASSUMED.openBytes();

  private static long measured(Group group) {
    return (long) (group.length() + OPEN * group.size());
  }

  static LongStream seeds() {
    return LongStream.range(0, 200);
  }

  /** All; the automatic one, which plans some twenty times, for every eighth input. */
  private static List<Policy> policies(long seed) {
    List<Policy> policies = new ArrayList<>(List.of(Policy.values()));
    if (seed % 8 != 0) {
      policies.remove(Policy.AUTO);
    }
    return policies;
  }

  private static Plan plan(Inputs in, Policy policy) {
    return Planner.plan(in.blocks, in.nodes, PlanSettings.DEFAULTS.withPolicy(policy));
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void eachBlockIsInOneGroup(long seed) {
    Inputs in = Inputs.any(seed);
    for (Policy policy : policies(seed)) {
      int[] times = new int[in.blocks.size()];
      for (Group group : plan(in, policy).groups()) {
        assertTrue(group.size() > 0, "an empty group");
        for (int i = 0; i < group.size(); ++i) {
          ++times[group.block(i)];
        }
      }
      assertTrue(Arrays.stream(times).allMatch(t -> t == 1), policy + " " + Arrays.toString(times));
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void groupsSayWhatTheirBlocksSay(long seed) {
    Inputs in = Inputs.any(seed);
    for (Policy policy : policies(seed)) {
      for (Group group : plan(in, policy).groups()) {
        long length = 0;
        for (int i = 0; i < group.size(); ++i) {
          length += in.blocks.get(group.block(i)).length();
        }
        assertEquals(length, group.length());
        assertEquals(group.hosts().size(), new HashSet<>(group.hosts()).size(), "a host twice");
        assertTrue(group.hosts().size() <= 3);
        long least = group.localLength();
        for (int h = 0; h < group.hosts().size(); ++h) {
          long held = held(in, group, group.hosts().get(h));
          assertTrue(
              h == 0 || held >= 0.9 * length - 1, "host " + h + " holds " + held + " of " + length);
          assertEquals(h == 0 ? group.localLength() : held, held);
          least = Math.min(least, held);
        }
        assertTrue(!group.hosts().isEmpty() || group.localLength() == 0);
        assertEquals(least, group.leastLocalLength());
      }
    }
  }

  private static long held(Inputs in, Group group, String host) {
    long held = 0;
    for (int i = 0; i < group.size(); ++i) {
      Block block = in.blocks.get(group.block(i));
      held += block.hosts().contains(host) ? block.length() : 0;
    }
    return held;
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void maximumHasAGroupASlotAndTheyDifferByAtMostABlock(long seed) {
    Inputs in = Inputs.any(seed);
    // Without a limit that giant blocks would exceed.
    PlanSettings settings = PlanSettings.DEFAULTS.withPolicy(Policy.MAXIMUM).withMaximumSeconds(0);
    Plan plan = Planner.plan(in.blocks, in.nodes, settings);
    assertEquals(Math.min(in.slots(), in.blocks.size()), plan.groups().size());
    long most = plan.groups().stream().mapToLong(PlannerPropertyTest::measured).max().orElse(0);
    long least = plan.groups().stream().mapToLong(PlannerPropertyTest::measured).min().orElse(0);
    // Of each group a byte may be lost by rounding.
    assertTrue(
        most - least <= in.longest() + OPEN + 2,
        "from " + least + " to " + most + " with blocks of up to " + in.longest());
  }

  /**
   * Few more blocks than slots, of very different lengths: no group may take what another needs.
   */
  @ParameterizedTest
  @MethodSource("seeds")
  void maximumHasAGroupASlotForHardlyMoreBlocks(long seed) {
    Random random = new Random(seed);
    List<Block> blocks = new ArrayList<>();
    int slots = 2 + random.nextInt(8);
    for (int i = slots + 1 + random.nextInt(slots); i > 0; --i) {
      blocks.add(new Block((long) Math.exp(random.nextDouble() * 20), List.of("a", "b")));
    }
    List<Node> nodes = List.of(new Node("a", slots / 2), new Node("b", slots - slots / 2));
    PlanSettings settings = PlanSettings.DEFAULTS.withPolicy(Policy.MAXIMUM);
    assertEquals(slots, Planner.plan(blocks, nodes, settings).groups().size());
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void assortedGroupsAreNoLargerThanAnEvenShare(long seed) {
    Inputs in = Inputs.any(seed);
    long share = in.slots() == 0 ? 0 : (long) (in.bytes() + OPEN * in.blocks.size()) / in.slots();
    for (Group group : plan(in, Policy.ASSORTED_BALANCED).groups()) {
      assertTrue(
          group.size() == 1 || measured(group) <= share + in.longest() + OPEN,
          measured(group) + " bytes where a slot's share is " + share);
    }
    for (Group group : plan(in, Policy.ASSORTED_STRICT).groups()) {
      assertTrue(group.size() <= Math.max(1, in.blocks.size() / in.slots()));
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void strictGroupsAreLocalButForATenth(long seed) {
    Inputs in = Inputs.any(seed);
    for (Group group : plan(in, Policy.ASSORTED_STRICT).groups()) {
      int local = 0;
      boolean placed = !group.hosts().isEmpty();
      for (int i = 0; i < group.size() && placed; ++i) {
        local += in.blocks.get(group.block(i)).hosts().contains(group.hosts().get(0)) ? 1 : 0;
      }
      assertTrue(!placed || local >= 0.9 * group.size(), local + " of " + group.size());
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void theSameInTheSameOrderOfNodesOrAnother(long seed) {
    Inputs in = Inputs.any(seed);
    List<Node> shuffled = new ArrayList<>(in.nodes);
    Collections.shuffle(shuffled, new Random(seed));
    for (Policy policy : policies(seed)) {
      PlanSettings settings = PlanSettings.DEFAULTS.withPolicy(policy);
      assertEquals(print(plan(in, policy)), print(plan(in, policy)));
      assertEquals(print(plan(in, policy)), print(Planner.plan(in.blocks, shuffled, settings)));
    }
  }

  static String print(Plan plan) {
    StringBuilder text = new StringBuilder(plan.policy() + " " + plan.reason());
    for (Group group : plan.groups()) {
      text.append('\n')
          .append(group.hosts())
          .append(group.length())
          .append(' ')
          .append(group.localLength());
      for (int i = 0; i < group.size(); ++i) {
        text.append(' ').append(group.block(i));
      }
    }
    return text.toString();
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void smallGroupsJoinUpToTheMinimum(long seed) {
    Inputs in = Inputs.any(seed);
    long minimum = Math.max(1, in.bytes() / (1 + new Random(seed).nextInt(20)));
    for (Policy policy : Set.of(Policy.ASSORTED_BALANCED, Policy.MAXIMUM)) {
      PlanSettings settings = PlanSettings.DEFAULTS.withPolicy(policy).withMinimumBytes(minimum);
      List<Group> groups = Planner.plan(in.blocks, in.nodes, settings).groups();
      long below = groups.stream().filter(g -> measured(g) + in.blocks.size() < minimum).count();
      boolean exact = policy == Policy.MAXIMUM;
      assertTrue(
          groups.size() <= 1
              || (exact
                  ? groups.size() <= (in.bytes() + OPEN * in.blocks.size()) / minimum + 1
                  : below == 0),
          policy + ": " + below + " of " + groups.size() + " are below " + minimum);
    }
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void atMostATenthIsRemoteWherePlacementIsEven(long seed) {
    Random random = new Random(seed);
    int nodes = 3 + random.nextInt(40);
    int slots = 1 + random.nextInt(8);
    Inputs in = Inputs.even(nodes * slots * (1 + random.nextInt(20)), nodes, slots, 3, seed);
    for (Policy policy : policies(seed)) {
      Plan plan = plan(in, policy);
      long local = plan.groups().stream().mapToLong(Group::localLength).sum();
      assertTrue(
          local >= 0.9 * in.bytes(), policy + ": " + local + " of " + in.bytes() + ", " + in.what);
    }
  }
}
