package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The second phase, the only one that knows the policies: how large the groups shall be, and how
 * many of each size a node gets. Sizes are in a measure: one a block for assorted-strict, whose
 * algorithms count blocks; otherwise bytes, and for each block those that could be read while it is
 * opened. Blocks above the largest size measure no more than it, since each fills a container
 * alone. Immutable.
 */
final class GroupSizes {
  /** Shares that are whole in theory must not be lost to rounding. */
  static final double TOLERANCE = 1e-9;

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
  final boolean isEven;

  /** Where the quota is from. */
  final Quotas quotas;

  private GroupSizes(
      double[] measure,
      double target,
      Quotas quotas,
      List<List<Round>> rounds,
      double leftover,
      double minimum,
      boolean isEven) {
    this.measure = measure;
    this.target = target;
    this.quotas = quotas;
    this.quota = quotas.groups;
    this.rounds = rounds;
    this.leftover = leftover;
    this.minimum = minimum;
    this.isEven = isEven;
  }

  static GroupSizes of(PlanInput in, PlanSettings settings, Policy policy) {
    switch (policy) {
      case MAXIMUM:
        return even(in, settings, in.totalSlots);
      case WAVES:
        return even(in, settings, Math.floor(in.totalSlots * settings.waves() + TOLERANCE));
      case ASSORTED_STRICT:
        return counted(in, settings);
      default:
        return uneven(in, settings, policy);
    }
  }

  /** The same with other numbers: block i becomes block {@code places[i]}. */
  GroupSizes renumbered(int[] places) {
    double[] measureOf = new double[places.length];
    for (int i = 0; i < places.length; ++i) {
      measureOf[places[i]] = measure[i];
    }
    return new GroupSizes(measureOf, target, quotas, rounds, leftover, minimum, isEven);
  }

  /** Groups that are alike: as many as wanted, or whole waves more if these would be too large. */
  private static GroupSizes even(PlanInput in, PlanSettings settings, double wanted) {
    double[] measure = measures(in, settings.costs().openBytes());
    double total = Arrays.stream(measure).sum();
    int groups = (int) Math.min(measure.length, wanted);
    if (share(measure, total, groups) > settings.mostMeasure()) {
      double enough = groupsOfAtMost(settings.mostMeasure(), measure);
      double waves = Math.ceil(enough / in.totalSlots - TOLERANCE);
      groups = (int) Math.min(measure.length, Math.max(groups, waves * in.totalSlots));
    }
    double minimum = settings.minimumBytes();
    if (minimum > 0) {
      groups = (int) Math.max(1, Math.min(groups, Math.floor(total / minimum)));
    }
    double target = share(measure, total, groups);
    cut(measure, target);
    Quotas quotas = Quotas.of(in, measure, groups);
    List<List<Round>> rounds = new ArrayList<>();
    for (int count : quotas.groups) {
      rounds.add(List.of(new Round(target, count)));
    }
    return new GroupSizes(measure, target, quotas, rounds, 0, minimum, true);
  }

  /** How many groups there must be for none but single blocks to measure more. */
  private static double groupsOfAtMost(double most, double[] measure) {
    double above = 0;
    double rest = 0;
    for (double m : measure) {
      above += m >= most ? 1 : 0;
      rest += m >= most ? 0 : m;
    }
    return above + rest / most;
  }

  /** Algorithms 1 and 2: sizes are numbers of blocks. */
  private static GroupSizes counted(PlanInput in, PlanSettings settings) {
    double[] bytes = measures(in, settings.costs().openBytes());
    double largest = settings.mostMeasure();
    double block = Arrays.stream(bytes).map(b -> Math.min(b, largest)).sum() / bytes.length;
    double[] measure = new double[bytes.length];
    Arrays.fill(measure, 1);
    double minimum = Math.ceil(settings.minimumBytes() / block);
    double most = Math.max(1, Math.floor(largest / block));
    double target = Math.min(most, Math.floor((double) measure.length / in.totalSlots));
    Quotas quotas = Quotas.of(in, measure, in.totalSlots);
    List<List<Round>> rounds = new ArrayList<>();
    for (int count : quotas.groups) {
      rounds.add(strict(target, count, settings, minimum));
    }
    return new GroupSizes(measure, target, quotas, rounds, minimum, minimum, false);
  }

  /** Sizes that fall, in bytes, down to that of a block. */
  private static GroupSizes uneven(PlanInput in, PlanSettings settings, Policy policy) {
    double[] measure = measures(in, settings.costs().openBytes());
    double minimum = settings.minimumBytes();
    double total = Arrays.stream(measure).sum();
    int groups = Math.min(in.totalSlots, measure.length);
    if (minimum > 0) {
      groups = (int) Math.max(1, Math.min(groups, Math.floor(total / minimum)));
    }
    double share = share(measure, total, groups);
    cut(measure, share);
    double target = Math.min(share, settings.mostMeasure());
    // With a slot for each block there is nothing to gain.
    boolean single = groups == measure.length;
    Quotas quotas = Quotas.of(in, measure, groups);
    double smallest = Math.max(minimum, Arrays.stream(measure).sum() / measure.length);
    List<List<Round>> rounds = new ArrayList<>();
    for (int count : quotas.groups) {
      if (single || count == 0) {
        rounds.add(List.of());
      } else if (policy == Policy.FACTORING) {
        rounds.add(factoring(target, share, count, settings.factoringShare(), smallest));
      } else {
        rounds.add(balanced(target, share * count, settings, smallest));
      }
    }
    return new GroupSizes(measure, target, quotas, rounds, single ? 0 : smallest, minimum, false);
  }

  /**
   * Empty blocks measure a byte even where opening them costs nothing, so that they do not pile up
   * in one group.
   */
  private static double[] measures(PlanInput in, double openBytes) {
    double[] measure = new double[in.blockCount()];
    for (int i = 0; i < measure.length; ++i) {
      measure[i] = Math.max(1, in.lengths[i] + openBytes);
    }
    return measure;
  }

  /**
   * The even share of a group when blocks above it have a group each. Ends since each step finds
   * further blocks above a share that only shrinks; the limit is for lengths made to be nasty.
   */
  private static double share(double[] measure, double total, int groups) {
    double target = total / groups;
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
    return target;
  }

  private static void cut(double[] measure, double most) {
    for (int i = 0; i < measure.length; ++i) {
      measure[i] = Math.min(measure[i], most);
    }
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
    int now = (int) Math.floor(remaining * settings.largeShare() + TOLERANCE);
    while (now > 0 && size >= Math.max(2, minimum)) {
      rounds.add(new Round(size, now * (int) Math.floor(target / size)));
      remaining -= now;
      size = Math.floor(size / settings.ratio());
      now = (int) Math.floor(remaining * settings.largeShare() + TOLERANCE);
    }
    return rounds;
  }

  /** The same progression in bytes: each size gets its share of what the node has left to read. */
  private static List<Round> balanced(
      double target, double all, PlanSettings settings, double smallest) {
    List<Round> rounds = new ArrayList<>();
    double left = all;
    for (double size = target; size >= smallest && left > 0; size /= settings.ratio()) {
      int groups = (int) Math.floor(left * settings.largeShare() / size + TOLERANCE);
      rounds.add(new Round(size, groups));
      left -= groups * size;
    }
    return rounds;
  }

  /** Batches of a group a slot; each reads a share of what is left. */
  private static List<Round> factoring(
      double target, double share, int slots, double part, double smallest) {
    List<Round> rounds = new ArrayList<>();
    double left = share;
    if (left * part > target) {
      // As many batches of the largest size as it takes until a batch's share is no larger.
      double batches = Math.ceil((left - target / part) / target);
      rounds.add(new Round(target, (int) Math.min(Integer.MAX_VALUE, batches * slots)));
      left -= batches * target;
    }
    for (double size = left * part; size >= smallest; size = left * part) {
      rounds.add(new Round(size, slots));
      left -= size;
    }
    return rounds;
  }
}
