package io.braid.hadoop.conf;

import java.util.List;

/** Writes hadoop/docs/options.md from {@link Keys}. Stateless. */
public final class OptionsPage {
  private static final int WIDTH = 100;

  /** Of the jar for Spark, which reads them from Spark's session. */
  private static final List<Key> SPARK =
      List.of(
          Key.choice(
              "spark.braid.scan.enabled",
              "true",
              List.of("true", "false"),
              "Whether scans of files get partitions by host, once spark.sql.extensions names"
                  + " io.braid.hadoop.spark.HostScanExtension. May change within a session."),
          Key.choice(
              "spark.braid.scan.hosts",
              "auto",
              List.of("auto", "executors", "blocks"),
              "Which hosts partitions may prefer: those of the executors, or those of the files'"
                  + " blocks, where executors are started by what tasks prefer. `auto`: the"
                  + " executors', but the blocks' under spark.dynamicAllocation.enabled."));

  private OptionsPage() {}

  /** Prints the page. */
  public static void main(String[] args) {
    System.out.print(markdown(Keys.ALL));
  }

  /** The page for those keys. */
  static String markdown(List<Key> keys) {
    StringBuilder page = new StringBuilder();
    page.append("# Options\n\n");
    paragraph(
        page,
        "Made from io.braid.hadoop.conf.Keys; a test compares. Set them like any Hadoop property:"
            + " `-D key=value` behind the name of a job's class, in mapred-site.xml, or on the"
            + " job's Configuration. A value that is not allowed stops the job when it is"
            + " submitted, with a message that names the key.");
    keys(page, keys);
    page.append("\n# Options of the jar for Tez\n\n");
    paragraph(
        page,
        "Those above that speak of plans and costs, from the configuration of the vertex or of"
            + " Hive's session, but for these defaults: braid.input.policy is `factoring`,"
            + " braid.input.mix is `files`, braid.input.cost.start-seconds is `0`,"
            + " braid.input.cost.history is `none`; braid.input.maximum-bytes and"
            + " braid.input.minimum-bytes are tez.grouping.max-size and tez.grouping.min-size, or"
            + " Tez's defaults of these. Slots are Tez's. Where tez.grouping.split-count is set,"
            + " Tez groups by itself.");
    page.append("\n# Options of the jar for Spark\n\n");
    paragraph(page, "Set them like any of Spark's, with `--conf` or in the session.");
    keys(page, SPARK);
    return page.toString();
  }

  private static void keys(StringBuilder page, List<Key> keys) {
    for (Key key : keys) {
      page.append("\n## ").append(key.name()).append("\n\n");
      String value = key.defaultText().isEmpty() ? "not set" : "`" + key.defaultText() + "`";
      paragraph(page, "Default: " + value + ". Allowed: " + key.allowed() + ".");
      page.append('\n');
      paragraph(page, key.paragraph());
    }
  }

  private static void paragraph(StringBuilder page, String text) {
    int column = 0;
    for (String word : text.split(" ")) {
      if (column > 0 && column + 1 + word.length() > WIDTH) {
        page.append('\n');
        column = 0;
      }
      if (column > 0) {
        page.append(' ');
        ++column;
      }
      page.append(word);
      column += word.length();
    }
    page.append('\n');
  }
}
