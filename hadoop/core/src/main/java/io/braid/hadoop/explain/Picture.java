package io.braid.hadoop.explain;

import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Policy;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Draws plans as SVG: a panel a policy, a row a slot, time from left to right; each container with
 * its start-up and its blocks, those its node holds in another colour than those that come over the
 * network. For one thread.
 */
final class Picture {
  private static final int MOST_LANES = 24;
  private static final int MOST_CELLS = 20_000;
  private static final int WIDTH = 1000;
  private static final int LEFT = 110;
  private static final int PLOT = WIDTH - LEFT - 20;
  private static final int LANE = 18;
  private static final int HEAD = 40;
  private static final String LOCAL = "#4c8bc0";
  private static final String REMOTE = "#e08a3c";
  private static final String START = "#c9ccd1";

  private final StringBuilder svg = new StringBuilder();
  private final Scene scene;
  private final Costs costs;
  private int top = HEAD + 34;

  private Picture(Scene scene, Costs costs) {
    this.scene = scene;
    this.costs = costs;
  }

  static String svg(Scene scene, Costs costs, List<Row> rows) {
    Picture picture = new Picture(scene, costs);
    List<Timetable> tables = new ArrayList<>();
    double end = 0;
    for (Row row : rows) {
      Timetable table = new Timetable(row.plan, scene.nodes, costs);
      tables.add(table);
      end = Math.max(end, table.end);
    }
    picture.legend();
    for (int i = 0; i < rows.size(); ++i) {
      if (!isDrawn(rows, i)) {
        picture.panel(rows, i, tables.get(i), end <= 0 ? 1 : end);
      }
    }
    return String.format(
        Locale.ROOT,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            + "height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">%n"
            + "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>%n%s</svg>%n",
        WIDTH,
        picture.top,
        WIDTH,
        picture.top,
        picture.svg);
  }

  private void add(String format, Object... values) {
    svg.append(String.format(Locale.ROOT, format, values)).append('\n');
  }

  private void text(double x, double y, String style, String text) {
    add("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>", x, y, style, escaped(text));
  }

  private void box(double x, double y, double width, double height, String style) {
    add(
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" %s/>",
        x, y, width, height, style);
  }

  private void legend() {
    text(
        LEFT,
        24,
        "font-size=\"15\" font-weight=\"bold\"",
        String.format(
            Locale.ROOT,
            "%s: %d blocks on %d nodes with %d slots",
            scene.what,
            scene.blocks.size(),
            scene.nodes.size(),
            scene.slots()));
    String[][] entries = {
      {START, "start-up of a container"},
      {LOCAL, "block on the container's node"},
      {REMOTE, "block from another node"}
    };
    int x = LEFT;
    for (String[] entry : entries) {
      box(x, HEAD, 14, 14, "fill=\"" + entry[0] + "\"");
      text(x + 20, HEAD + 12, "", entry[1]);
      x += 230;
    }
  }

  /** Whether an earlier row is this one, which auto has chosen. */
  private static boolean isDrawn(List<Row> rows, int at) {
    for (int i = 0; i < at; ++i) {
      if (isSame(rows.get(i), rows.get(at))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isSame(Row fixed, Row chosen) {
    return chosen.asked == Policy.AUTO
        && fixed.asked == chosen.plan.policy()
        && fixed.plan.groups().size() == chosen.plan.groups().size();
  }

  private static String title(List<Row> rows, int at) {
    Row row = rows.get(at);
    if (row.asked != row.plan.policy()) {
      return row.asked.label() + ": " + row.plan.policy().label();
    }
    boolean chosen = rows.stream().anyMatch(r -> isSame(row, r));
    return row.asked.label() + (chosen ? " (the choice of auto)" : "");
  }

  private void panel(List<Row> rows, int at, Timetable table, double end) {
    Row row = rows.get(at);
    int lanes = shownLanes(table);
    text(LEFT, top + 14, "font-weight=\"bold\"", title(rows, at));
    text(
        LEFT + PLOT,
        top + 14,
        "text-anchor=\"end\"",
        String.format(
            Locale.ROOT, "%d containers, %.1f s without spreads", row.lengths.length, table.end));
    top += 22;
    String before = "";
    for (int lane = 0; lane < lanes; ++lane) {
      String host = table.laneHosts.get(lane);
      if (!host.equals(before)) {
        add(
            "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#999\"/>",
            LEFT - 100, LEFT + PLOT, top + lane * LANE, top + lane * LANE);
        text(LEFT - 8, top + lane * LANE + 13, "text-anchor=\"end\"", shortened(host));
        before = host;
      }
    }
    int cells = 0;
    for (Timetable.Run run : table.runs) {
      if (run.lane < lanes && cells < MOST_CELLS) {
        cells += run.group.size();
        container(run, table.laneHosts.get(run.lane), PLOT / end);
      }
    }
    top += lanes * LANE;
    axis(end);
    if (lanes < table.laneHosts.size() || cells >= MOST_CELLS) {
      text(
          LEFT,
          top + 12,
          "fill=\"#666\"",
          String.format(Locale.ROOT, "%d of %d slots are shown", lanes, table.laneHosts.size()));
      top += 16;
    }
    top += 18;
  }

  /** Whole nodes, as many as there is room for; at least the first slots. */
  private static int shownLanes(Timetable table) {
    int all = table.laneHosts.size();
    if (all <= MOST_LANES) {
      return all;
    }
    int lanes = MOST_LANES;
    while (lanes > 0 && table.laneHosts.get(lanes).equals(table.laneHosts.get(lanes - 1))) {
      --lanes;
    }
    return lanes == 0 ? MOST_LANES : lanes;
  }

  private void container(Timetable.Run run, String host, double scale) {
    double x = LEFT + run.start * scale;
    double y = top + run.lane * LANE + 2;
    double height = LANE - 4;
    double startWidth = costs.startSeconds() * scale;
    box(x, y, startWidth, height, "fill=\"" + START + "\"");
    double at = x + startWidth;
    for (int i = 0; i < run.group.size(); ++i) {
      Block block = scene.blocks.get(run.group.block(i));
      double width = block.length() / costs.bytesPerSecond() * scale;
      boolean local = block.hosts().contains(host);
      box(
          at,
          y,
          width,
          height,
          "fill=\""
              + (local ? LOCAL : REMOTE)
              + "\""
              + (width > 3 ? " stroke=\"white\" stroke-width=\"0.7\"" : ""));
      String number = Integer.toString(run.group.block(i));
      if (width > 7 * number.length() + 2) {
        text(
            at + width / 2,
            y + 11,
            "text-anchor=\"middle\" fill=\"white\" font-size=\"10\"",
            number);
      }
      at += width;
    }
    box(x, y, at - x, height, "fill=\"none\" stroke=\"#333\" stroke-width=\"0.8\"");
  }

  private void axis(double end) {
    add(
        "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#333\"/>",
        LEFT, LEFT + PLOT, top, top);
    double step = Math.pow(10, Math.floor(Math.log10(end)));
    step = end / step < 2 ? step / 5 : end / step < 5 ? step / 2 : step;
    for (double t = 0; t <= end; t += step) {
      double x = LEFT + t / end * PLOT;
      add(
          "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"#333\"/>",
          x, x, top, top + 4);
      text(
          x,
          top + 15,
          "text-anchor=\"middle\" font-size=\"10\"",
          String.format(Locale.ROOT, step < 1 ? "%.1f s" : "%.0f s", t));
    }
    top += 20;
  }

  private static String shortened(String host) {
    return host.length() <= 15 ? host : host.substring(0, 14) + "\u2026";
  }

  private static String escaped(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }
}
