package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;

/**
 * Groups that one host holds whole, alike in size, none above a limit: for engines whose processes
 * stay and take task after task. There a task costs next to nothing to start, so that locality and
 * even sizes are all there is to gain; how large groups may be is the engine's to say. Each block
 * goes to one of its holders so that all hosts get their share ({@link Owners}), and each host's
 * blocks into as few groups as the limit allows. For one thread, once.
 */
public final class HostGroups {
  private final PlanInput in;
  private final double[] weight;
  private final double most;
  private final PlanDraft draft;

  private HostGroups(PlanInput in, double[] weight, double most) {
    this.in = in;
    this.weight = weight;
    this.most = most;
    this.draft = new PlanDraft(in);
  }

  /**
   * The groups, the largest first. A group of several blocks has at most {@code most} bytes, where
   * each block but one counts {@code open} bytes besides its length. Blocks that none of the nodes
   * holds come together in groups without hosts. There may be a group or two more for each host
   * than the bytes need. All blocks must be of one kind. Time: blocks x log(blocks).
   */
  public static List<Group> of(List<Block> blocks, List<Node> nodes, long most, long open) {
    if (most < 1 || open < 0) {
      throw new IllegalArgumentException(
          "groups can't have " + most + " bytes with " + open + " to open a block");
    }
    List<Group> groups = new ArrayList<>();
    if (blocks.isEmpty()) {
      return groups;
    }
    int kind = blocks.get(0).kind();
    if (blocks.stream().anyMatch(block -> block.kind() != kind)) {
      throw new IllegalArgumentException("all blocks must be of one kind");
    }
    PlanInput in = PlanInput.of(blocks, nodes);
    double[] weight = new double[in.blockCount()];
    Arrays.setAll(weight, i -> (double) in.lengths[i] + open);
    // The limit leaves out what one of the blocks costs to open, the weights do not.
    HostGroups made = new HostGroups(in, weight, (double) most + open);
    made.group(owners(in, open));
    Locator.addGroups(made.draft, 1, groups);
    groups.sort(
        Comparator.comparingDouble(
            group -> -(double) group.length() - (double) open * group.size()));
    return groups;
  }

  private static int[] owners(PlanInput in, long open) {
    if (in.totalSlots == 0) {
      int[] nowhere = new int[in.blockCount()];
      Arrays.fill(nowhere, in.nowhere());
      return nowhere;
    }
    PlanSettings settings =
        PlanSettings.DEFAULTS
            .withMaximumSeconds(0)
            .withCosts(new Costs(0, 1, 0, 0, 0).withOpen(open));
    return Owners.of(in, GroupSizes.of(in, settings, Policy.MAXIMUM));
  }

  private void group(int[] owners) {
    int[] counts = new int[in.nowhere() + 1];
    for (int owner : owners) {
      ++counts[owner];
    }
    int[][] own = new int[counts.length][];
    Arrays.setAll(own, node -> new int[counts[node]]);
    for (int i = 0; i < owners.length; ++i) {
      own[owners[i]][own[owners[i]].length - counts[owners[i]]--] = i;
    }
    for (int node = 0; node < own.length; ++node) {
      groupsOf(node, own[node]);
    }
  }

  /** A bin that is being filled. */
  private static final class Bin {
    final List<Integer> blocks = new ArrayList<>();
    double filled;
  }

  /** One node's blocks: those above the limit alone, the others as evenly as it goes. */
  private void groupsOf(int node, int[] own) {
    List<Integer> rest = new ArrayList<>();
    double sum = 0;
    for (int block : own) {
      if (weight[block] >= most) {
        draft.add(new int[] {block}, node);
      } else {
        rest.add(block);
        sum += weight[block];
      }
    }
    rest.sort(Comparator.comparingDouble(block -> -weight[block]));
    if (rest.isEmpty()) {
      return;
    }
    int count = (int) Math.max(1, Math.min(rest.size(), Math.ceil(sum / most)));
    List<Bin> filled = spread(rest, count);
    // Whole blocks may need some more; a bin for each always is enough.
    while (filled == null) {
      count = Math.min(rest.size(), count + Math.max(1, count / 32));
      filled = spread(rest, count);
    }
    for (Bin bin : filled) {
      draft.add(bin.blocks.stream().mapToInt(Integer::intValue).sorted().toArray(), node);
    }
  }

  /** The longest first, each to the emptiest bin; null if one would hold too much. */
  private List<Bin> spread(List<Integer> blocks, int count) {
    PriorityQueue<Bin> emptiest =
        new PriorityQueue<>(count, Comparator.comparingDouble(bin -> bin.filled));
    List<Bin> bins = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      bins.add(new Bin());
    }
    emptiest.addAll(bins);
    for (int block : blocks) {
      Bin bin = emptiest.remove();
      bin.blocks.add(block);
      bin.filled += weight[block];
      if (bin.filled > most) {
        return null;
      }
      emptiest.add(bin);
    }
    return bins;
  }
}
