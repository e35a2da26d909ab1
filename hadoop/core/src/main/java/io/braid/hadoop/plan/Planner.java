package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * Puts blocks together into groups. Five phases: {@link Input} (hosts become numbers), {@link
 * Sizes} (how large the groups shall be; the only phase that knows the policies), {@link Owners} (a
 * node for each block), {@link Coalescer} (rounds, then leftovers), {@link Locator} (hosts to ask
 * for). Deterministic, also in the order of the nodes; linear in blocks but for small factors in
 * nodes; knows nothing of Hadoop. Safe for all threads.
 */
public final class Planner {
  /**
   * Of forecasts this close, the plan with fewer containers is chosen: it costs the cluster less.
   */
  private static final double AS_GOOD = 1.02;

  private Planner() {}

  /** Plans the blocks for the nodes. */
  public static Plan plan(List<Block> blocks, List<Node> nodes, PlanSettings settings) {
    Input in = Input.of(blocks, nodes);
    if (blocks.isEmpty()) {
      return new Plan(Policy.NONE, "there are no blocks", List.of());
    }
    if (in.totalSlots == 0) {
      return new Plan(Policy.NONE, "no slots are known", singles(in));
    }
    if (settings.policy() == Policy.NONE) {
      return new Plan(Policy.NONE, "as set", singles(in));
    }
    if (settings.policy() == Policy.AUTO) {
      return choose(in, settings);
    }
    Sizes sizes = Sizes.of(in, settings, settings.policy());
    Draft draft = Coalescer.run(in, sizes, Owners.of(in, sizes), settings.localFraction());
    return new Plan(settings.policy(), "as set", Locator.groups(in, draft));
  }

  /** A group a block, with the block's own hosts: what Hadoop does by itself. */
  private static List<Group> singles(Input in) {
    List<Group> groups = new ArrayList<>(in.blockCount());
    for (int i = 0; i < in.blockCount(); ++i) {
      Block block = in.blocks.get(i);
      List<String> hosts = block.hosts();
      if (hosts.size() > 1) {
        hosts = new ArrayList<>(new LinkedHashSet<>(hosts));
        hosts = hosts.subList(0, Math.min(3, hosts.size()));
      }
      groups.add(
          new Group(new int[] {i}, block.length(), hosts.isEmpty() ? 0 : block.length(), hosts));
    }
    return groups;
  }

  private static Draft draft(Input in, Candidate candidate, Map<Boolean, int[]> owners) {
    Sizes sizes = Sizes.of(in, candidate.settings, candidate.policy);
    boolean counting = candidate.policy == Policy.ASSORTED_STRICT;
    int[] owner = owners.computeIfAbsent(counting, c -> Owners.of(in, sizes));
    return Coalescer.run(in, sizes, owner, candidate.settings.localFraction());
  }

  /** The candidate with the shortest forecast; of those as good, the one with fewest containers. */
  private static Plan choose(Input in, PlanSettings settings) {
    Candidate chosen = null;
    Draft draft = null;
    int containers = in.blockCount();
    Forecast none = forecast(in, null, settings.costs());
    double seconds = none.seconds();
    double least = seconds;
    // Owners depend on the measure alone: blocks for strict, bytes for all others.
    Map<Boolean, int[]> owners = new HashMap<>();
    for (Candidate candidate : Candidate.all(settings)) {
      Draft other = draft(in, candidate, owners);
      double now = forecast(in, other, settings.costs()).seconds();
      least = Math.min(least, now);
      if (now <= least * AS_GOOD
          && (seconds > least * AS_GOOD || other.groups.size() < containers)) {
        chosen = candidate;
        draft = other;
        containers = other.groups.size();
        seconds = now;
      }
    }
    if (chosen == null) {
      return new Plan(
          Policy.NONE,
          String.format(
              Locale.ROOT, "nothing promises less than the %.0f s of single blocks", seconds),
          singles(in));
    }
    String reason =
        String.format(
            Locale.ROOT,
            "%s promises %.0f s in %d containers against %.0f s in %d with a container a block",
            chosen.label,
            seconds,
            containers,
            none.seconds(),
            in.blockCount());
    return new Plan(chosen.policy, reason, Locator.groups(in, draft));
  }

  /** Of a draft, or of single blocks without one. */
  private static Forecast forecast(Input in, Draft draft, Costs costs) {
    long[] lengths = new long[draft == null ? in.blockCount() : draft.groups.size()];
    for (int g = 0; g < lengths.length; ++g) {
      for (int block : draft == null ? new int[] {g} : draft.groups.get(g)) {
        long sum = lengths[g] + in.blocks.get(block).length();
        lengths[g] = sum < 0 ? Long.MAX_VALUE : sum;
      }
    }
    IntFunction<int[]> nodes =
        draft == null ? block -> holders(in, block) : Locator.nodes(in, draft);
    return Forecast.of(lengths, nodes, in.blockCount(), in.slots, costs);
  }

  /** The nodes that a single block asks for. */
  private static int[] holders(Input in, int block) {
    int from = in.holderStart[block];
    int to = Math.min(in.holderStart[block + 1], from + 3);
    return in.holders[from] == in.nowhere()
        ? new int[0]
        : Arrays.copyOfRange(in.holders, from, to);
  }
}
