package io.braid.hadoop.plan;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * How long the map phase of a plan should take: the groups, largest first as MapReduce asks for
 * them, each go to the slot that is free first, which prefers those that ask for its node and waits
 * for them as long as the scheduler does ({@link HostSchedule}); the mean over a few fixed draws of
 * the spreads. The same input gives the same forecast on every machine. Immutable.
 */
public final class Forecast {
  private final double seconds;
  private final double waves;
  private final double containerSeconds;

  Forecast(double seconds, double waves, double containerSeconds) {
    this.seconds = seconds;
    this.waves = waves;
    this.containerSeconds = containerSeconds;
  }

  /** For a plan's groups. */
  public static Forecast of(Plan plan, List<Node> nodes, Costs costs) {
    double open = costs.openBytes();
    long[] lengths =
        plan.groups().stream().mapToLong(g -> measured(g.length(), g.size(), open)).toArray();
    long blocks = plan.groups().stream().mapToLong(Group::size).sum();
    int[] slots = nodes.stream().mapToInt(Node::slots).toArray();
    Map<String, Integer> numbers = new HashMap<>();
    for (int n = 0; n < slots.length; ++n) {
      numbers.putIfAbsent(nodes.get(n).host(), n);
    }
    IntFunction<int[]> asked =
        g ->
            plan.groups().get(g).hosts().stream()
                .filter(numbers::containsKey)
                .mapToInt(numbers::get)
                .toArray();
    return of(lengths, asked, blocks, slots, costs, 1);
  }

  /** A length and the bytes that could be read while the blocks are opened. */
  static long measured(long length, long blocks, double openBytes) {
    double sum = length + blocks * openBytes;
    return sum >= Long.MAX_VALUE ? Long.MAX_VALUE : (long) sum;
  }

  /** For groups of these lengths, of so many blocks in all, on nodes with these slots. */
  static Forecast of(long[] lengths, long blocks, int[] slots, Costs costs) {
    return of(lengths, g -> new int[0], blocks, slots, costs, 1);
  }

  /**
   * The same, with the nodes that each group asks for. {@code parts}: one of so many forecasts of a
   * plan, which share the work that one would be given.
   */
  static Forecast of(
      long[] lengths, IntFunction<int[]> nodes, long blocks, int[] slots, Costs costs, int parts) {
    return new Forecaster(lengths, nodes, blocks, slots).under(costs, parts);
  }

  /** The mean over the draws of the time from the first container's start to the last one's end. */
  public double seconds() {
    return seconds;
  }

  /** Groups a slot. */
  public double waves() {
    return waves;
  }

  /** What all containers take together. */
  public double containerSeconds() {
    return containerSeconds;
  }
}
