package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * An input by kinds of blocks, each of which is planned by itself: drafts and forecasts of all of
 * them together. For one thread.
 */
final class PlanParts {
  private final PlanInput in;
  private final List<KindPart> parts;

  /** Owners depend on the measure alone: blocks for assorted-strict, bytes for all others. */
  private final List<Map<Boolean, OwnedBlocks>> owners = new ArrayList<>();

  PlanParts(PlanInput in, List<Block> blocks) {
    this.in = in;
    this.parts = KindPart.of(in, blocks);
    parts.forEach(part -> owners.add(new HashMap<>()));
  }

  /** A draft for each kind. */
  List<PlanDraft> drafts(PlanSettings settings, Policy policy) {
    List<PlanDraft> drafts = new ArrayList<>(parts.size());
    for (int p = 0; p < parts.size(); ++p) {
      PlanInput part = parts.get(p).in;
      GroupSizes sizes = GroupSizes.of(part, settings, policy);
      OwnedBlocks blocks =
          owners
              .get(p)
              .computeIfAbsent(
                  policy == Policy.ASSORTED_STRICT,
                  c -> new OwnedBlocks(part, Owners.of(part, sizes)));
      drafts.add(GroupBuilder.run(blocks, sizes, settings.localFraction()));
    }
    return drafts;
  }

  /** The groups of all drafts. */
  List<Group> groups(List<PlanDraft> drafts, PlanSettings settings) {
    List<Group> groups = new ArrayList<>(count(drafts));
    for (PlanDraft draft : drafts) {
      Locator.addGroups(draft, settings.localFraction(), groups);
    }
    return groups;
  }

  static int count(List<PlanDraft> drafts) {
    return drafts.stream().mapToInt(draft -> draft.groups.size()).sum();
  }

  /**
   * For the forecasts of drafts, or of single blocks without any, under costs that have the same
   * for opening a block.
   */
  Forecaster forecaster(Candidate candidate, List<PlanDraft> drafts, double openBytes) {
    if (drafts == null) {
      return new Forecaster(singles(openBytes), this::holders, in.blockCount(), in.slots);
    }
    IntFunction<int[]> nodes = nodes(drafts, candidate.settings.localFraction());
    return new Forecaster(lengths(drafts, openBytes), nodes, in.blockCount(), in.slots);
  }

  private long[] singles(double open) {
    long[] lengths = new long[in.blockCount()];
    Arrays.setAll(lengths, i -> Forecast.measured(in.lengths[i], 1, open));
    return lengths;
  }

  private long[] lengths(List<PlanDraft> drafts, double open) {
    long[] lengths = new long[count(drafts)];
    int at = 0;
    for (PlanDraft draft : drafts) {
      for (int[] group : draft.groups) {
        long length = 0;
        for (int block : group) {
          long sum = length + draft.in.lengths[block];
          length = sum < 0 ? Long.MAX_VALUE : sum;
        }
        lengths[at++] = Forecast.measured(length, group.length, open);
      }
    }
    return lengths;
  }

  /** The nodes that each group asks for. */
  private IntFunction<int[]> nodes(List<PlanDraft> drafts, double localFraction) {
    int[] starts = new int[parts.size() + 1];
    List<IntFunction<int[]>> each = new ArrayList<>();
    for (int p = 0; p < parts.size(); ++p) {
      starts[p + 1] = starts[p] + drafts.get(p).groups.size();
      each.add(Locator.nodes(drafts.get(p), localFraction));
    }
    return group -> {
      int part = Arrays.binarySearch(starts, group);
      part = part < 0 ? -part - 2 : part;
      return parts.get(part).nodesInWhole(each.get(part).apply(group - starts[part]));
    };
  }

  /** The nodes that a single block asks for. */
  private int[] holders(int block) {
    int from = in.holderStart[block];
    int to = Math.min(in.holderStart[block + 1], from + 3);
    return in.holders[from] == in.nowhere() ? new int[0] : Arrays.copyOfRange(in.holders, from, to);
  }
}
