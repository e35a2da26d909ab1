package io.braid.hadoop.items;

import io.braid.hadoop.cli.JsonText;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Forecast;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanForecast;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/** A plan's batches, the longest first, for people and for programs. Immutable. */
final class Batches {
  private final ItemFile items;
  private final Plan plan;
  private final List<Node> nodes;
  private final Costs costs;
  private final List<Group> longestFirst;

  Batches(ItemFile items, Plan plan, List<Node> nodes, Costs costs) {
    this.items = items;
    this.plan = plan;
    this.nodes = nodes;
    this.costs = costs;
    this.longestFirst = new ArrayList<>(plan.groups());
    longestFirst.sort(Comparator.<Group>comparingDouble(this::seconds).reversed());
  }

  /** Of work, without the start. */
  private double seconds(Group group) {
    return group.length() / costs.bytesPerSecond() + group.size() * costs.openSeconds();
  }

  String text() {
    StringBuilder text = new StringBuilder();
    Forecast forecast = Forecast.of(plan, nodes, costs);
    add(
        text,
        "%d items in %d batches for %d workers, %.1f s in all (%s)%n",
        items.names.size(),
        longestFirst.size(),
        nodes.get(0).slots(),
        forecast.seconds(),
        plan.reason());
    if (!longestFirst.isEmpty()) {
      Group longest = longestFirst.get(0);
      Group shortest = longestFirst.get(longestFirst.size() - 1);
      add(
          text,
          "the longest batch: %d items, %.1f s of work; the shortest: %d, %.1f s%n",
          longest.size(),
          seconds(longest),
          shortest.size(),
          seconds(shortest));
    }
    for (PlanForecast other : plan.forecasts()) {
      add(
          text,
          "  %-50s %7d batches %9.1f s%n",
          other.label(),
          other.containers(),
          other.seconds(0));
    }
    return text.toString();
  }

  String json() {
    StringBuilder json = new StringBuilder();
    add(
        json,
        "{\"items\": %d, \"workers\": %d, \"policy\": %s, \"reason\": %s,%n"
            + " \"forecastSeconds\": %.3f,%n \"forecasts\": [",
        items.names.size(),
        nodes.get(0).slots(),
        JsonText.quoted(plan.policy().label()),
        JsonText.quoted(plan.reason()),
        Forecast.of(plan, nodes, costs).seconds());
    String comma = "";
    for (PlanForecast other : plan.forecasts()) {
      add(
          json,
          "%s%n  {\"plan\": %s, \"batches\": %d, \"seconds\": %.3f}",
          comma,
          JsonText.quoted(other.label()),
          other.containers(),
          other.seconds(0));
      comma = ",";
    }
    json.append("],\n \"batches\": [");
    comma = "";
    for (Group group : longestFirst) {
      add(json, "%s%n  {\"seconds\": %.3f, \"items\": [", comma, seconds(group));
      for (int i = 0; i < group.size(); ++i) {
        json.append(i == 0 ? "" : ", ").append(JsonText.quoted(items.names.get(group.block(i))));
      }
      json.append("]}");
      comma = ",";
    }
    return json.append("]}\n").toString();
  }

  private static void add(StringBuilder text, String format, Object... values) {
    text.append(String.format(Locale.ROOT, format, values));
  }
}
