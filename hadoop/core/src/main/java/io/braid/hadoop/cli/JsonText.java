package io.braid.hadoop.cli;

/** Text in JSON. Stateless. */
public final class JsonText {
  private JsonText() {}

  /** In quotes, with what JSON does not allow escaped. */
  public static String quoted(String text) {
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
