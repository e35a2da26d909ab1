package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.List;

/**
 * How long the map phase of a plan should take: the groups, largest first as MapReduce asks for
 * them, each go to the slot that is free first; the mean over a few fixed draws of the spreads.
 * Draws come from a fixed seed, so that the same input gives the same forecast on every machine.
 * Locality is not modelled. Immutable.
 */
public final class Forecast {
  /** Enough that the longest of a few containers is known to some percent, whatever the spread. */
  private static final int MOST_DRAWS = 256;
  private static final int GROUPS_OF_ALL_DRAWS = 1 << 17;
  private static final int MOST_GROUPS = 1 << 15;
  private static final int FEWEST_NODES = 16;
  private static final double[] NORMAL = normal(4096);

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
    return of(lengths, blocks, slots, costs);
  }

  /** For groups of these lengths, of so many blocks in all, on nodes with these slots. */
  static Forecast of(long[] lengths, long blocks, int[] slots, Costs costs) {
    double all = Arrays.stream(slots).asLongStream().sum();
    if (all == 0 || lengths.length == 0) {
      return new Forecast(0, 0, 0);
    }
    long[] sorted = lengths.clone();
    Arrays.sort(sorted);
    double bytes = Arrays.stream(sorted).asDoubleStream().sum();
    int[] someSlots = thinned(slots, lengths.length);
    double part = Arrays.stream(someSlots).asLongStream().sum() / all;
    long[] some =
        part == 1 ? sorted : spaced(sorted, (int) Math.max(1, Math.round(sorted.length * part)));
    int draws = Math.max(1, Math.min(MOST_DRAWS, GROUPS_OF_ALL_DRAWS / some.length));
    if (costs.blockSpread() + costs.containerSpread() + costs.nodeSpread() == 0) {
      draws = 1;
    }
    double sum = 0;
    for (int draw = 0; draw < draws; ++draw) {
      sum += listSchedule(some, Math.max(1, bytes / blocks), someSlots, costs, draw);
    }
    double busy = lengths.length * costs.startSeconds() + bytes / costs.bytesPerSecond();
    return new Forecast(sum / draws, lengths.length / all, busy);
  }

  /** Every k-th node, with k such that the groups for them are not too many to draw a few times. */
  private static int[] thinned(int[] slots, int groups) {
    int step = Math.max(1, Math.min(groups / MOST_GROUPS, slots.length / FEWEST_NODES));
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
  private static double listSchedule(
      long[] sorted, double block, int[] slots, Costs costs, int draw) {
    Draws random = new Draws(draw);
    Slots free = new Slots(Math.min(sorted.length, Arrays.stream(slots).sum()));
    double sigma = sigma(costs.nodeSpread());
    for (int n = 0, number = 0; n < slots.length && number < free.slowness.length; ++n) {
      double slowness = factor(sigma, random.normal());
      for (int s = 0; s < slots[n] && number < free.slowness.length; ++s) {
        free.slowness[number++] = slowness;
      }
    }
    double container = sigma(costs.containerSpread());
    double blockVariance = costs.blockSpread() * costs.blockSpread();
    double last = 0;
    for (int g = sorted.length - 1; g >= 0; --g) {
      double work = sorted[g] / costs.bytesPerSecond() * free.slowness[0];
      work *= container == 0 ? 1 : factor(container, random.normal());
      // The mean of n independent times varies by the root of n less than one does.
      double ofBlocks = Math.sqrt(blockVariance / Math.max(1, sorted[g] / block));
      work *= ofBlocks == 0 ? 1 : factor(sigma(ofBlocks), random.normal());
      last = Math.max(last, free.until[0] + costs.startSeconds() + work);
      free.occupyFirst(costs.startSeconds() + work);
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

  /** The parameter of a lognormal factor with mean 1 and this coefficient of variation. */
  private static double sigma(double spread) {
    return spread == 0 ? 0 : Math.sqrt(StrictMath.log(1 + spread * spread));
  }

  private static double factor(double sigma, double normal) {
    return sigma == 0 ? 1 : StrictMath.exp(sigma * normal - sigma * sigma / 2);
  }

  /**
   * The middles of that many equally probable parts of the normal distribution, by adding up its
   * density.
   */
  private static double[] normal(int parts) {
    double[] table = new double[parts];
    double step = 1.0 / 4096;
    double below = 0;
    int filled = 0;
    for (double z = -5; z < 5 && filled < parts; z += step) {
      below += step * StrictMath.exp(-z * z / 2) / StrictMath.sqrt(2 * Math.PI);
      for (; filled < parts && below >= (filled + 0.5) / parts; ++filled) {
        table[filled] = z;
      }
    }
    Arrays.fill(table, filled, parts, 5);
    return table;
  }

  /**
   * Places for containers with what their nodes do to times: a heap, the one that is free first on
   * top.
   */
  private static final class Slots {
    final double[] until;
    final double[] slowness;

    Slots(int count) {
      until = new double[count];
      slowness = new double[count];
    }

    void occupyFirst(double seconds) {
      double time = until[0] + seconds;
      double slow = slowness[0];
      int at = 0;
      for (int child = 1; child < until.length; child = 2 * at + 1) {
        if (child + 1 < until.length && until[child + 1] < until[child]) {
          ++child;
        }
        if (until[child] >= time) {
          break;
        }
        until[at] = until[child];
        slowness[at] = slowness[child];
        at = child;
      }
      until[at] = time;
      slowness[at] = slow;
    }
  }

  /** Draws from the table; the generator is a 64-bit counter, mixed. */
  private static final class Draws {
    private long state;

    Draws(int seed) {
      state = seed * 0x632be59bd9b4e019L;
    }

    double normal() {
      state += 0x9e3779b97f4a7c15L;
      long mixed = (state ^ (state >>> 31)) * 0xbf58476d1ce4e5b9L;
      mixed = (mixed ^ (mixed >>> 29)) * 0x94d049bb133111ebL;
      return NORMAL[(int) ((mixed ^ (mixed >>> 32)) & (NORMAL.length - 1))];
    }
  }
}
