package io.braid.hadoop.explain;

import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Group;
import java.util.List;
import java.util.Locale;

/** The rows as a table, or as JSON. Stateless. */
final class Report {
  private Report() {}

  static String text(Scene scene, Costs costs, List<Row> rows) {
    StringBuilder text = new StringBuilder();
    long bytes = scene.blocks.stream().mapToLong(b -> b.length()).sum();
    add(
        text,
        "%s: %d blocks, %s, on %d nodes with %d slots%n",
        scene.what,
        scene.blocks.size(),
        Sizes.print(bytes),
        scene.nodes.size(),
        scene.slots());
    add(
        text,
        "Costs: %.2f s to start a container, %s/s a task, spreads %.2f by block, "
            + "%.2f by container, %.2f by node%s%n%n",
        costs.startSeconds(),
        Sizes.print(costs.bytesPerSecond()),
        costs.blockSpread(),
        costs.containerSpread(),
        costs.nodeSpread(),
        costs.localityWaitSeconds() == 0
            ? ""
            : String.format(
                Locale.ROOT, ", %.2f s of wait for locality", costs.localityWaitSeconds()));
    add(
        text,
        "%-18s %10s %10s %10s %10s %7s %7s %10s%n",
        "policy",
        "containers",
        "smallest",
        "median",
        "largest",
        "local",
        "waves",
        "map phase");
    for (Row row : rows) {
      add(
          text,
          "%-18s %10d %10s %10s %10s %6.1f%% %7.2f %8.1f s%n",
          row.asked.label(),
          row.lengths.length,
          Sizes.print(row.least()),
          Sizes.print(row.median()),
          Sizes.print(row.most()),
          row.localPercent(),
          row.forecast.waves(),
          row.forecast.seconds());
    }
    for (Row row : rows) {
      if (row.asked != row.plan.policy()) {
        add(text, "%n%s: %s%n", row.asked.label(), row.plan.reason());
      }
    }
    return text.toString();
  }

  private static void add(StringBuilder text, String format, Object... values) {
    text.append(String.format(Locale.ROOT, format, values));
  }

  static String json(Scene scene, Costs costs, List<Row> rows, boolean withGroups) {
    StringBuilder json = new StringBuilder();
    add(
        json,
        "{\"input\": %s, \"blocks\": %d, \"bytes\": %d, \"nodes\": %d, \"slots\": %d,%n",
        quoted(scene.what),
        scene.blocks.size(),
        scene.blocks.stream().mapToLong(b -> b.length()).sum(),
        scene.nodes.size(),
        scene.slots());
    add(
        json,
        " \"costs\": {\"startSeconds\": %s, \"bytesPerSecond\": %s, \"blockSpread\": %s, "
            + "\"containerSpread\": %s, \"nodeSpread\": %s, \"localityWaitSeconds\": %s},%n"
            + " \"policies\": [",
        costs.startSeconds(),
        costs.bytesPerSecond(),
        costs.blockSpread(),
        costs.containerSpread(),
        costs.nodeSpread(),
        costs.localityWaitSeconds());
    String comma = "";
    for (Row row : rows) {
      add(
          json,
          "%s%n  {\"policy\": %s, \"planned\": %s, \"reason\": %s, \"containers\": %d, "
              + "\"smallest\": %d, \"median\": %d, \"largest\": %d, \"localBytes\": %d, "
              + "\"waves\": %.4f, \"seconds\": %.3f, \"containerSeconds\": %.3f",
          comma,
          quoted(row.asked.label()),
          quoted(row.plan.policy().label()),
          quoted(row.plan.reason()),
          row.lengths.length,
          row.least(),
          row.median(),
          row.most(),
          row.localBytes,
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
        json.append(h == 0 ? "" : ", ").append(quoted(group.hosts().get(h)));
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

  static String quoted(String text) {
    StringBuilder quoted = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        quoted.append('\\').append(c);
      } else if (c < ' ') {
        quoted.append(String.format("\\u%04x", (int) c));
      } else {
        quoted.append(c);
      }
    }
    return quoted.append('"').toString();
  }
}
