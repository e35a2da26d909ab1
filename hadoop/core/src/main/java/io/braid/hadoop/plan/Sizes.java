package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The second phase, the only one that knows the policies: how large the groups shall be, and how
 * many of each size a node gets. Sizes are in a measure: one a block for assorted-strict, whose
 * algorithms count blocks; bytes otherwise. Blocks above the largest size measure no more than it,
 * since each fills a container alone. Immutable.
 */
final class Sizes {
  /** Groups of about this size that a node should get. */
  static final class Round {
    final double size;
    final int groups;

    Round(double size, int groups) {
      this.size = size;
      this.groups = groups;
    }
  }

  final double[] measure;

  /** The largest size: what each slot reads when all work is spread evenly. */
  final double target;

  /** Groups of the largest size that each node would get, the pseudo-node last. */
  final int[] quota;

  /** The rounds of each node; a node may have fewer than another. */
  final List<List<Round>> rounds;

  /** The size of groups of what the rounds leave; 0: each block by itself. */
  final double leftover;

  /** No group shall be below this where others are there to join. */
  final double minimum;

  /** There must be exactly the quota's groups, whatever the placement. */
  final boolean exact;

  private Sizes(
      double[] measure,
      double target,
      int[] quota,
      List<List<Round>> rounds,
      double leftover,
      double minimum,
      boolean exact) {
    this.measure = measure;
    this.target = target;
    this.quota = quota;
    this.rounds = rounds;
    this.leftover = leftover;
    this.minimum = minimum;
    this.exact = exact;
  }

  static Sizes of(Input in, PlanSettings settings, Policy policy) {
    boolean counting = policy == Policy.ASSORTED_STRICT;
    double[] measure = measures(in, counting);
    double total = Arrays.stream(measure).sum();
    double minimum = settings.minimumBytes();
    if (counting) {
      minimum = Math.ceil(minimum * measure.length / Arrays.stream(measures(in, false)).sum());
    }
    int groups = in.totalSlots;
    double target = Math.floor(total / groups);
    if (!counting) {
      groups = Math.min(groups, measure.length);
      groups =
          minimum > 0 ? (int) Math.max(1, Math.min(groups, Math.floor(total / minimum))) : groups;
      target = clip(measure, groups);
    }
    // With a slot for each block there is nothing to gain.
    boolean single = !counting && groups == measure.length;
    int[] quota = Quotas.of(in, measure, groups);
    double smallest = Math.max(minimum, Arrays.stream(measure).sum() / measure.length);
    List<List<Round>> rounds = new ArrayList<>();
    double leftover = counting ? minimum : single ? 0 : smallest;
    for (int count : quota) {
      if (policy == Policy.MAXIMUM) {
        rounds.add(List.of(new Round(target, count)));
      } else if (counting) {
        rounds.add(strict(target, count, settings, minimum));
      } else if (single) {
        rounds.add(List.of());
      } else {
        rounds.add(balanced(target, count, settings, smallest));
      }
    }
    return new Sizes(measure, target, quota, rounds, leftover, minimum, policy == Policy.MAXIMUM);
  }

  /**
   * Empty blocks measure a byte: opening them costs something, so they should not pile up in one
   * group.
   */
  private static double[] measures(Input in, boolean counting) {
    double[] measure = new double[in.blockCount()];
    for (int i = 0; i < measure.length; ++i) {
      measure[i] = counting ? 1 : Math.max(1, in.blocks.get(i).length());
    }
    return measure;
  }

  /**
   * The even share of a group when blocks above it have a group each; those blocks' measures are
   * cut to it. Ends since each step finds further blocks above a share that only shrinks; the limit
   * is for lengths made to be nasty.
   */
  private static double clip(double[] measure, int groups) {
    double target = Arrays.stream(measure).sum() / groups;
    for (int step = 0, before = 0; step < 64; ++step) {
      double rest = 0;
      int above = 0;
      for (double m : measure) {
        above += m >= target ? 1 : 0;
        rest += m >= target ? 0 : m;
      }
      if (above == before || above >= groups) {
        break;
      }
      before = above;
      target = rest / (groups - above);
    }
    for (int i = 0; i < measure.length; ++i) {
      measure[i] = Math.min(measure[i], target);
    }
    return target;
  }

  /**
   * Algorithm 1, with the ratio and the share of slots that it has at 2 and one half, and line 10
   * of Algorithm 2.
   */
  private static List<Round> strict(
      double target, int slots, PlanSettings settings, double minimum) {
    List<Round> rounds = new ArrayList<>();
    int remaining = slots;
    double size = target;
    int now = (int) Math.floor(remaining * settings.largeShare());
    while (now > 0 && size >= Math.max(2, minimum)) {
      rounds.add(new Round(size, now * (int) Math.floor(target / size)));
      remaining -= now;
      size = Math.floor(size / settings.ratio());
      now = (int) Math.floor(remaining * settings.largeShare());
    }
    return rounds;
  }

  /**
   * The same progression in bytes: each size gets its share of what the node's slots have left to
   * read.
   */
  private static List<Round> balanced(
      double target, int slots, PlanSettings settings, double smallest) {
    List<Round> rounds = new ArrayList<>();
    double left = target * slots;
    // Shares that are whole in theory must not be lost to rounding.
    double tolerance = 1e-9;
    for (double size = target; size >= smallest && left > 0; size /= settings.ratio()) {
      int groups = (int) Math.floor(left * settings.largeShare() / size + tolerance);
      rounds.add(new Round(size, groups));
      left -= groups * size;
    }
    return rounds;
  }
}
