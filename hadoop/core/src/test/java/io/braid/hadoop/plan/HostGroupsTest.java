package io.braid.hadoop.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Groups by host, within a limit, for engines whose processes stay. */
class HostGroupsTest {
  private static final long MIB = Inputs.MIB;
  private static final long MOST = 128 * MIB;
  private static final long OPEN = 4 * MIB;

  static LongStream seeds() {
    return LongStream.range(0, 60);
  }

  /** As the limit counts it: opening one of the blocks is free. */
  private static long weight(Group group, long open) {
    return group.length() + open * (group.size() - 1);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void eachBlockIsInOneGroupWithinTheLimitAndOnOneHost(long seed) {
    Inputs in = Inputs.any(seed);
    long most = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 1000 : MOST;
    long open = seed % 2 == 0 ? 0 : most / 30;
    int[] times = new int[in.blocks.size()];
    double before = Double.MAX_VALUE;
    for (Group group : HostGroups.of(in.blocks, in.nodes, most, open)) {
      assertTrue(group.size() > 0, "an empty group");
      assertTrue(group.size() == 1 || weight(group, open) <= most, "above the limit");
      double weight = (double) group.length() + (double) open * group.size();
      assertTrue(weight <= before, "not the largest first");
      before = weight;
      assertEquals(group.hosts().isEmpty() ? 0 : group.length(), group.leastLocalLength());
      for (int i = 0; i < group.size(); ++i) {
        ++times[group.block(i)];
        boolean isHeld =
            in.nodes.stream()
                .anyMatch(
                    n -> n.slots() > 0 && in.blocks.get(group.block(0)).hosts().contains(n.host()));
        assertEquals(isHeld, !group.hosts().isEmpty());
      }
    }
    assertTrue(Arrays.stream(times).allMatch(t -> t == 1), Arrays.toString(times));
  }

  @Test
  void theOrderOfTheNodesDoesNotMatter() {
    Inputs in = Inputs.even(500, 12, 4, 3, 5);
    List<Node> turned = new ArrayList<>(in.nodes);
    turned.sort((a, b) -> b.host().compareTo(a.host()));
    List<Group> one = HostGroups.of(in.blocks, in.nodes, MOST * 4, OPEN);
    List<Group> other = HostGroups.of(in.blocks, turned, MOST * 4, OPEN);
    assertEquals(one.size(), other.size());
    for (int g = 0; g < one.size(); ++g) {
      assertEquals(one.get(g).hosts(), other.get(g).hosts());
      assertEquals(one.get(g).block(0), other.get(g).block(0));
    }
  }

  /** Files of 1 to 30 MiB on ten hosts: a group or two a host above the least, and alike. */
  @Test
  void smallFilesComeInEvenGroups() {
    Random random = new Random(11);
    Inputs in = Inputs.even(2000, 10, 4, 3, 9);
    List<Block> files = new ArrayList<>();
    double sum = 0;
    for (Block block : in.blocks) {
      files.add(new Block(MIB + random.nextInt(29 << 20), block.hosts()));
      sum += files.get(files.size() - 1).length() + OPEN;
    }
    List<Group> groups = HostGroups.of(files, in.nodes, MOST, OPEN);
    int least = (int) Math.ceil(sum / (MOST + OPEN));
    assertTrue(groups.size() <= least + 20, groups.size() + " groups, at least " + least);
    long largest = weight(groups.get(0), OPEN);
    long smallest = weight(groups.get(groups.size() - 1), OPEN);
    assertTrue(smallest >= 0.9 * largest, smallest + " to " + largest);
  }

  @Test
  void aFileAboveTheLimitStandsAlone() {
    List<Block> files =
        List.of(
            new Block(MOST * 5, List.of("a", "b")),
            new Block(MIB, List.of("a")),
            new Block(MIB, List.of("a")));
    List<Node> nodes = List.of(new Node("a", 1), new Node("b", 1));
    List<Group> groups = HostGroups.of(files, nodes, MOST, OPEN);
    assertEquals(2, groups.size());
    assertEquals(1, groups.get(0).size());
    assertEquals(List.of("b", "a"), sortedByChoice(groups.get(0)));
    assertEquals(List.of("a"), groups.get(1).hosts());
  }

  /** Which of two holders comes first is the planner's choice, that both are named is not. */
  private static List<String> sortedByChoice(Group group) {
    List<String> hosts = new ArrayList<>(group.hosts());
    hosts.sort((x, y) -> y.compareTo(x));
    return hosts;
  }

  @Test
  void whatNobodyHoldsComesTogetherWithoutHosts() {
    List<Block> files = new ArrayList<>();
    for (int i = 0; i < 64; ++i) {
      files.add(new Block(8 * MIB, i % 2 == 0 ? List.of() : List.of("elsewhere")));
    }
    List<Group> groups = HostGroups.of(files, List.of(new Node("a", 2)), MOST, OPEN);
    // (128 + 4) / (8 + 4) = 11 files a group.
    assertEquals(6, groups.size());
    assertTrue(groups.stream().allMatch(group -> group.hosts().isEmpty()));
    assertEquals(6, HostGroups.of(files, List.of(), MOST, OPEN).size());
  }

  @Test
  void limitsThatMakeNoSenseAreRefused() {
    List<Block> one = List.of(new Block(1, List.of()));
    assertThrows(IllegalArgumentException.class, () -> HostGroups.of(one, List.of(), 0, 1));
    assertThrows(IllegalArgumentException.class, () -> HostGroups.of(one, List.of(), 1, -1));
    List<Block> kinds = List.of(new Block(1, List.of(), 1), new Block(1, List.of(), 2));
    assertThrows(IllegalArgumentException.class, () -> HostGroups.of(kinds, List.of(), 1, 1));
    assertEquals(List.of(), HostGroups.of(List.of(), List.of(), 1, 1));
  }
}
