package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;

/**
 * Puts blocks together into groups. Five phases: {@link PlanInput} (hosts become numbers), {@link
 * GroupSizes} (how large the groups shall be; the only phase that knows the policies), {@link
 * Owners} (a node for each block), {@link GroupBuilder} (rounds, then leftovers), {@link Locator}
 * (hosts to ask for); the last four for each kind of blocks by itself. Deterministic, also in the
 * order of the nodes; linear in blocks but for small factors in nodes; knows nothing of Hadoop.
 * Safe for all threads.
 */
public final class Planner {
  /**
   * Of forecasts this close, the plan with fewer containers is chosen: it costs the cluster less.
   */
  private static final double AS_GOOD = 1.02;

  /** A first, rough look at all candidates takes so many times less work. */
  private static final int SCREENING = 8;

  /** What is farther behind than this in the first look gets no second one. */
  private static final double WORTH_A_LOOK = 1.08;

  private Planner() {}

  /** Plans the blocks for the nodes. */
  public static Plan plan(List<Block> blocks, List<Node> nodes, PlanSettings settings) {
    PlanInput in = PlanInput.of(blocks, nodes);
    if (blocks.isEmpty()) {
      return new Plan(Policy.NONE, "there are no blocks", List.of());
    }
    if (in.totalSlots == 0) {
      return new Plan(Policy.NONE, "no slots are known", singles(blocks));
    }
    if (settings.policy() == Policy.NONE) {
      return new Plan(Policy.NONE, "as set", singles(blocks));
    }
    PlanParts parts = new PlanParts(in, blocks);
    if (settings.policy() == Policy.AUTO) {
      return choose(blocks, in.totalSlots, parts, settings);
    }
    return new Plan(
        settings.policy(),
        "as set",
        parts.groups(parts.drafts(settings, settings.policy()), settings));
  }

  /** A group a block, with the block's own hosts: what Hadoop does by itself. */
  private static List<Group> singles(List<Block> blocks) {
    List<Group> groups = new ArrayList<>(blocks.size());
    for (int i = 0; i < blocks.size(); ++i) {
      Block block = blocks.get(i);
      List<String> hosts = firstHosts(block.hosts());
      long local = hosts.isEmpty() ? 0 : block.length();
      groups.add(new Group(new int[] {i}, block.length(), local, local, hosts));
    }
    return groups;
  }

  /** The first few different ones; mostly the very list, which then costs no memory. */
  private static List<String> firstHosts(List<String> hosts) {
    boolean asTheyAre = hosts.size() <= Locator.MOST_HOSTS;
    for (int k = 1; k < hosts.size() && asTheyAre; ++k) {
      asTheyAre = hosts.indexOf(hosts.get(k)) == k;
    }
    if (asTheyAre) {
      return hosts;
    }
    List<String> distinct = new ArrayList<>(new LinkedHashSet<>(hosts));
    return distinct.subList(0, Math.min(Locator.MOST_HOSTS, distinct.size()));
  }

  /**
   * The candidate whose time is least above the shortest, on average over the costs that are
   * possible; of those as good, the one with fewest containers.
   */
  private static Plan choose(
      List<Block> blocks, int slots, PlanParts parts, PlanSettings settings) {
    List<Costs> possible = settings.costs().possible();
    List<Candidate> candidates = Candidate.all(settings, blocks.size(), slots);
    List<List<PlanDraft>> drafts = new ArrayList<>();
    List<Forecaster> forecasters = new ArrayList<>();
    List<PlanForecast> forecasts = new ArrayList<>();
    for (Candidate candidate : candidates) {
      List<PlanDraft> draft =
          candidate.policy == Policy.NONE
              ? null
              : parts.drafts(candidate.settings, candidate.policy);
      Forecaster forecaster = parts.forecaster(candidate, draft, settings.costs().openBytes());
      drafts.add(draft);
      forecasters.add(forecaster);
      forecasts.add(forecast(candidate, forecaster, possible, SCREENING));
    }
    double[] least = least(forecasts, possible.size());
    double lowest = lowestRegret(forecasts, least);
    BitSet near = new BitSet();
    for (int i = 0; i < forecasts.size(); ++i) {
      boolean isNear = forecasts.get(i).regret(least) <= lowest * WORTH_A_LOOK;
      near.set(i, isNear);
      if (isNear || i == 0) {
        forecasts.set(i, forecast(candidates.get(i), forecasters.get(i), possible, 1));
      }
    }
    int chosen = best(forecasts, near, least(forecasts, possible.size()));
    Candidate winner = candidates.get(chosen);
    String reason = reason(forecasts, chosen, settings.costs());
    List<Group> groups =
        winner.policy == Policy.NONE ? singles(blocks) : parts.groups(drafts.get(chosen), settings);
    return new Plan(winner.policy, reason, groups, forecasts, possible);
  }

  /** The forecast under each of the costs; so many times less exact than it could be. */
  private static PlanForecast forecast(
      Candidate candidate, Forecaster forecaster, List<Costs> possible, int coarseness) {
    int parts = possible.size() * coarseness;
    double[] seconds =
        possible.stream().mapToDouble(costs -> forecaster.under(costs, parts).seconds()).toArray();
    return new PlanForecast(candidate.label, forecaster.groups(), seconds);
  }

  /** The shortest time under each of the costs. */
  private static double[] least(List<PlanForecast> forecasts, int costs) {
    double[] least = new double[costs];
    Arrays.setAll(least, i -> forecasts.stream().mapToDouble(f -> f.seconds(i)).min().orElse(0));
    return least;
  }

  private static double lowestRegret(List<PlanForecast> forecasts, double[] least) {
    return forecasts.stream().mapToDouble(f -> f.regret(least)).min().orElse(1);
  }

  /** Of those that were looked at more closely. */
  private static int best(List<PlanForecast> forecasts, BitSet near, double[] least) {
    List<PlanForecast> some = new ArrayList<>();
    near.stream().forEach(i -> some.add(forecasts.get(i)));
    double lowest = lowestRegret(some, least);
    int best = -1;
    for (int i = near.nextSetBit(0); i >= 0; i = near.nextSetBit(i + 1)) {
      PlanForecast forecast = forecasts.get(i);
      if (forecast.regret(least) <= lowest * AS_GOOD
          && (best < 0 || forecast.containers() < forecasts.get(best).containers())) {
        best = i;
      }
    }
    return best;
  }

  private static String reason(List<PlanForecast> forecasts, int chosen, Costs costs) {
    PlanForecast none = forecasts.get(0);
    if (chosen == 0) {
      return String.format(
          Locale.ROOT,
          "nothing promises less than the %.0f s of single blocks (%s)",
          none.seconds(0),
          costs.certainty());
    }
    PlanForecast best = forecasts.get(chosen);
    return String.format(
        Locale.ROOT,
        "%s promises %.0f s in %d containers against %.0f s in %d with a container a block"
            + " (%s)",
        best.label(),
        best.seconds(0),
        best.containers(),
        none.seconds(0),
        none.containers(),
        costs.certainty());
  }
}
