package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * How long the map phase of a plan should take: the groups, largest first as MapReduce asks for
 * them, each go to the slot that is free first; the mean over a few fixed draws of the spreads.
 * The same input gives the same forecast on every machine.
 * Locality matters only if the scheduler waits for it ({@link HostSchedule}). Immutable.
 */
public final class Forecast {
  /** At most 4096 draws, a power of two: enough for the longest of a few containers. */
  private static final int MOST_BITS = 12;

  private static final int GROUPS_OF_ALL_DRAWS = 1 << 17;
  private static final int MOST_GROUPS = 1 << 15;
  private static final int FEWEST_NODES = 16;

  /** With more, waits are not looked at: there are slots free everywhere. */
  private static final int MOST_SLOTS = 1 << 22;


  private final double seconds;
  private final double waves;
  private final double containerSeconds;

  private Forecast(double seconds, double waves, double containerSeconds) {
    this.seconds = seconds;
    this.waves = waves;
    this.containerSeconds = containerSeconds;
  }

  /** For a plan's groups. */
  public static Forecast of(Plan plan, List<Node> nodes, Costs costs) {
    long[] lengths = plan.groups().stream().mapToLong(Group::length).toArray();
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
    return of(lengths, asked, blocks, slots, costs);
  }

  /** For groups of these lengths, of so many blocks in all, on nodes with these slots. */
  static Forecast of(long[] lengths, long blocks, int[] slots, Costs costs) {
    return of(lengths, g -> new int[0], blocks, slots, costs);
  }

  /** The same, with the nodes that each group asks for. */
  static Forecast of(
      long[] lengths, IntFunction<int[]> nodes, long blocks, int[] slots, Costs costs) {
    double all = Arrays.stream(slots).asLongStream().sum();
    if (all == 0 || lengths.length == 0) {
      return new Forecast(0, 0, 0);
    }
    double bytes = Arrays.stream(lengths).asDoubleStream().sum();
    double block = Math.max(1, bytes / blocks);
    double seconds =
        costs.localityWaitSeconds() > 0 && all <= MOST_SLOTS
            ? withWaits(lengths, nodes, block, slots, costs)
            : withoutWaits(lengths, block, slots, costs);
    double busy = lengths.length * costs.startSeconds() + bytes / costs.bytesPerSecond();
    return new Forecast(seconds, lengths.length / all, busy);
  }

  private static double withWaits(
      long[] lengths, IntFunction<int[]> nodes, double block, int[] slots, Costs costs) {
    int step = step(slots, lengths.length);
    HostSchedule schedule = HostSchedule.of(lengths, nodes, slots, step, costs);
    if (schedule == null) {
      schedule = HostSchedule.of(lengths, nodes, slots, 1, costs);
    }
    Draws draws = new Draws(costs, block, bits(schedule.size(), costs));
    double sum = 0;
    for (int draw = 0; draw < draws.count(); ++draw) {
      draws.begin(draw);
      sum += schedule.last(draws);
    }
    return sum / draws.count();
  }

  private static double withoutWaits(long[] lengths, double block, int[] slots, Costs costs) {
    long[] sorted = lengths.clone();
    Arrays.sort(sorted);
    int[] someSlots = thinned(slots, lengths.length);
    double part =
        (double) Arrays.stream(someSlots).asLongStream().sum()
            / Arrays.stream(slots).asLongStream().sum();
    long[] some =
        part == 1 ? sorted : spaced(sorted, (int) Math.max(1, Math.round(sorted.length * part)));
    Draws draws = new Draws(costs, block, bits(some.length, costs));
    double sum = 0;
    for (int draw = 0; draw < draws.count(); ++draw) {
      draws.begin(draw);
      sum += listSchedule(some, someSlots, draws);
    }
    return sum / draws.count();
  }

  /** Two to the power of this many draws. */
  private static int bits(int groups, Costs costs) {
    if (costs.blockSpread() + costs.containerSpread() + costs.nodeSpread() == 0) {
      return 0;
    }
    int bits = 0;
    while (bits < MOST_BITS && groups <= GROUPS_OF_ALL_DRAWS >> bits + 1) {
      ++bits;
    }
    return bits;
  }

  /** Every so many nodes are enough that the groups for them can be drawn a few times. */
  private static int step(int[] slots, int groups) {
    return Math.max(1, Math.min(groups / MOST_GROUPS, slots.length / FEWEST_NODES));
  }

  /** The slots of every k-th node. */
  private static int[] thinned(int[] slots, int groups) {
    int step = step(slots, groups);
    int[] some = new int[(slots.length + step - 1) / step];
    Arrays.setAll(some, n -> slots[n * step]);
    return Arrays.stream(some).sum() == 0 ? slots : some;
  }

  /** That many of the sorted lengths, evenly spaced, the longest among them. */
  private static long[] spaced(long[] sorted, int count) {
    long[] some = new long[count];
    for (int k = 0; k < count; ++k) {
      some[k] = sorted[(int) ((k + 1L) * sorted.length / count) - 1];
    }
    return some;
  }

  /** One draw: when the last group ends. */
  private static double listSchedule(long[] sorted, int[] slots, Draws random) {
    SlotHeap free = new SlotHeap(Math.min(sorted.length, Arrays.stream(slots).sum()));
    double[] slowness = new double[slots.length];
    for (int n = 0; n < slots.length && !free.isFull(); ++n) {
      slowness[n] = random.slowness();
      for (int s = 0; s < slots[n] && !free.isFull(); ++s) {
        free.add(n);
      }
    }
    double last = 0;
    for (int g = sorted.length - 1; g >= 0; --g) {
      double end = free.time() + random.seconds(sorted[g], slowness[free.node()]);
      last = Math.max(last, end);
      free.occupyFirst(end);
    }
    return last;
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
