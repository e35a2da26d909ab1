package io.braid.hadoop.conf;

import java.util.List;

/** Writes docs/options.md from {@link Keys}. Stateless. */
public final class OptionsPage {
  private static final int WIDTH = 100;

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
    for (Key key : keys) {
      page.append("\n## ").append(key.name()).append("\n\n");
      String value = key.defaultText().isEmpty() ? "not set" : "`" + key.defaultText() + "`";
      paragraph(page, "Default: " + value + ". Allowed: " + key.allowed() + ".");
      page.append('\n');
      paragraph(page, key.paragraph());
    }
    return page.toString();
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
