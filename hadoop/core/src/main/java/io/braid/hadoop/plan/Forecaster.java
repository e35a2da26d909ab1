package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.function.IntFunction;

/**
 * Forecasts of one plan under several costs. What the costs don't change is worked out once, when
 * it is first needed: the nodes that are asked for, and the order of the groups, or of a sample of
 * them where they are many. For one thread.
 */
final class Forecaster {
  private static final int GROUPS_OF_ALL_DRAWS = 1 << 17;
  private static final int MOST_GROUPS = 1 << 15;
  private static final int FEWEST_NODES = 16;

  /** Of more groups there are always some of a free slot's node. */
  private static final int MOST_PLACED = 1 << 18;

  /** With more, waits are not looked at: there are slots free everywhere. */
  private static final int MOST_SLOTS = 1 << 22;

  /** At most 4096 draws, a power of two: enough for the longest of a few containers. */
  private static final int MOST_BITS = 12;

  private final long[] lengths;
  private final IntFunction<int[]> nodes;
  private final int[] slots;
  private final double allSlots;
  private final double bytes;
  private final double block;

  private Boolean areAsked;
  private HostSchedule schedule;
  private int[] someSlots;
  private long[] someLengths; // smallest first

  /** For groups of these lengths, of so many blocks in all, on nodes with these slots. */
  Forecaster(long[] lengths, IntFunction<int[]> nodes, long blocks, int[] slots) {
    this.lengths = lengths;
    this.nodes = nodes;
    this.slots = slots;
    allSlots = Arrays.stream(slots).asLongStream().sum();
    bytes = Arrays.stream(lengths).asDoubleStream().sum();
    block = Math.max(1, bytes / blocks);
  }

  int groups() {
    return lengths.length;
  }

  /**
   * The forecast under these costs. {@code parts}: one of so many forecasts, which share the work
   * that one would be given.
   */
  Forecast under(Costs costs, int parts) {
    if (allSlots == 0 || lengths.length == 0) {
      return new Forecast(0, 0, 0);
    }
    boolean isPlaced = allSlots <= MOST_SLOTS && (costs.localityWaitSeconds() > 0 || areAsked());
    double seconds = isPlaced ? withHosts(costs, parts) : withoutHosts(costs, parts);
    double busy = lengths.length * costs.startSeconds() + bytes / costs.bytesPerSecond();
    return new Forecast(seconds, lengths.length / allSlots, busy);
  }

  /** Whether nodes matter: some group asks for one, and there are not too many to look at. */
  private boolean areAsked() {
    if (areAsked == null) {
      areAsked = false;
      for (int g = 0; !areAsked && lengths.length <= MOST_PLACED && g < lengths.length; ++g) {
        areAsked = nodes.apply(g).length > 0;
      }
    }
    return areAsked;
  }

  private double withHosts(Costs costs, int parts) {
    if (schedule == null) {
      schedule = HostSchedule.of(lengths, nodes, slots, step());
    }
    if (schedule == null) {
      schedule = HostSchedule.of(lengths, nodes, slots, 1);
    }
    SeededRandom draws = new SeededRandom(costs, block, bits(schedule.size(), costs, parts));
    double sum = 0;
    for (int draw = 0; draw < draws.count(); ++draw) {
      draws.begin(draw);
      sum += schedule.last(draws, costs.localityWaitSeconds());
    }
    return sum / draws.count();
  }

  private double withoutHosts(Costs costs, int parts) {
    if (someLengths == null) {
      sample();
    }
    SeededRandom draws = new SeededRandom(costs, block, bits(someLengths.length, costs, parts));
    double sum = 0;
    for (int draw = 0; draw < draws.count(); ++draw) {
      draws.begin(draw);
      sum += listSchedule(someLengths, someSlots, draws);
    }
    return sum / draws.count();
  }

  private void sample() {
    long[] sorted = lengths.clone();
    Arrays.sort(sorted);
    someSlots = thinned();
    double part = Arrays.stream(someSlots).asLongStream().sum() / allSlots;
    int count = (int) Math.max(1, Math.round(sorted.length * part));
    someLengths = part == 1 ? sorted : spaced(sorted, count);
  }

  /** Two to the power of this many draws. */
  private static int bits(int groups, Costs costs, int parts) {
    if (costs.blockSpread() + costs.containerSpread() + costs.nodeSpread() == 0) {
      return 0;
    }
    int bits = 0;
    while (bits < MOST_BITS && (long) groups * parts <= GROUPS_OF_ALL_DRAWS >> bits + 1) {
      ++bits;
    }
    return bits;
  }

  /** Every so many nodes are enough that the groups for them can be drawn a few times. */
  private int step() {
    return Math.max(1, Math.min(lengths.length / MOST_GROUPS, slots.length / FEWEST_NODES));
  }

  /** The slots of every k-th node. */
  private int[] thinned() {
    int step = step();
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
  private static double listSchedule(long[] sorted, int[] slots, SeededRandom random) {
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
}
