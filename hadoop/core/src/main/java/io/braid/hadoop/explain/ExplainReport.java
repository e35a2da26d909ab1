package io.braid.hadoop.explain;

import io.braid.hadoop.cli.ByteCount;
import io.braid.hadoop.cli.JsonText;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Group;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanForecast;
import java.util.List;
import java.util.Locale;

/** The rows as a table, or as JSON. Stateless. */
final class ExplainReport {
  private ExplainReport() {}

  static String text(Scene scene, Costs costs, List<Row> rows) {
    StringBuilder text = new StringBuilder();
    long bytes = scene.blocks.stream().mapToLong(b -> b.length()).sum();
    add(
        text,
        "%s: %d blocks, %s, on %d nodes with %d slots%n",
        scene.what,
        scene.blocks.size(),
        ByteCount.print(bytes),
        scene.nodes.size(),
        scene.slots());
    add(text, "Costs: %s%n%n", costs);
    add(
        text,
        "%-18s %10s %10s %10s %10s %7s %7s %7s %10s%n",
        "policy",
        "containers",
        "smallest",
        "median",
        "largest",
        "local",
        "worst",
        "waves",
        "map phase");
    for (Row row : rows) {
      add(
          text,
          "%-18s %10d %10s %10s %10s %6.1f%% %6.1f%% %7.2f %8.1f s%n",
          row.asked.label(),
          row.lengths.length,
          ByteCount.print(row.least()),
          ByteCount.print(row.median()),
          ByteCount.print(row.most()),
          row.localPercent(),
          row.leastLocalPercent(),
          row.forecast.waves(),
          row.forecast.seconds());
    }
    for (Row row : rows) {
      if (row.asked != row.plan.policy()) {
        add(text, "%n%s: %s%n", row.asked.label(), row.plan.reason());
        forecasts(text, row.plan);
      }
    }
    return text.toString();
  }

  /** All that was considered, and under which costs. */
  private static void forecasts(StringBuilder text, Plan plan) {
    if (plan.forecasts().isEmpty()) {
      return;
    }
    add(text, "%n%-50s %10s", "considered", "containers");
    for (int i = 0; i < plan.assumptions().size(); ++i) {
      add(text, " %10s", "costs " + (i + 1));
    }
    for (PlanForecast forecast : plan.forecasts()) {
      add(text, "%n%-50s %10d", forecast.label(), forecast.containers());
      for (int i = 0; i < plan.assumptions().size(); ++i) {
        add(text, " %8.1f s", forecast.seconds(i));
      }
    }
    text.append('\n');
    for (int i = 0; i < plan.assumptions().size(); ++i) {
      add(text, "costs %d: %s%n", i + 1, plan.assumptions().get(i));
    }
  }

  private static void add(StringBuilder text, String format, Object... values) {
    text.append(String.format(Locale.ROOT, format, values));
  }

  static String json(Scene scene, Costs costs, List<Row> rows, boolean withGroups) {
    StringBuilder json = new StringBuilder();
    add(
        json,
        "{\"input\": %s, \"blocks\": %d, \"bytes\": %d, \"nodes\": %d, \"slots\": %d,%n",
        JsonText.quoted(scene.what),
        scene.blocks.size(),
        scene.blocks.stream().mapToLong(b -> b.length()).sum(),
        scene.nodes.size(),
        scene.slots());
    add(
        json,
        " \"costs\": {\"startSeconds\": %s, \"bytesPerSecond\": %s, \"blockSpread\": %s,"
            + " \"containerSpread\": %s, \"nodeSpread\": %s, \"openSeconds\": %s,"
            + " \"localityWaitSeconds\": %s, \"certainty\": %s},%n \"policies\": [",
        costs.startSeconds(),
        costs.bytesPerSecond(),
        costs.blockSpread(),
        costs.containerSpread(),
        costs.nodeSpread(),
        costs.openSeconds(),
        costs.localityWaitSeconds(),
        JsonText.quoted(costs.certainty()));
    String comma = "";
    for (Row row : rows) {
      add(
          json,
          "%s%n  {\"policy\": %s, \"planned\": %s, \"reason\": %s, \"containers\": %d, "
              + "\"smallest\": %d, \"median\": %d, \"largest\": %d, \"localBytes\": %d, "
              + "\"leastLocalBytes\": %d, "
              + "\"waves\": %.4f, \"seconds\": %.3f, \"containerSeconds\": %.3f",
          comma,
          JsonText.quoted(row.asked.label()),
          JsonText.quoted(row.plan.policy().label()),
          JsonText.quoted(row.plan.reason()),
          row.lengths.length,
          row.least(),
          row.median(),
          row.most(),
          row.localBytes,
          row.leastLocalBytes,
          row.forecast.waves(),
          row.forecast.seconds(),
          row.forecast.containerSeconds());
      json.append(withGroups ? groups(row) : "").append('}');
      comma = ",";
    }
    return json.append("\n ]}\n").toString();
  }

  private static String groups(Row row) {
    StringBuilder json = new StringBuilder(", \"groups\": [");
    String comma = "";
    for (Group group : row.plan.groups()) {
      json.append(comma).append("{\"hosts\": [");
      for (int h = 0; h < group.hosts().size(); ++h) {
        json.append(h == 0 ? "" : ", ").append(JsonText.quoted(group.hosts().get(h)));
      }
      json.append("], \"blocks\": [");
      for (int i = 0; i < group.size(); ++i) {
        json.append(i == 0 ? "" : ", ").append(group.block(i));
      }
      json.append("]}");
      comma = ", ";
    }
    return json.append(']').toString();
  }
}
