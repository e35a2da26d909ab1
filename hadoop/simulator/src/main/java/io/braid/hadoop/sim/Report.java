package io.braid.hadoop.sim;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Tables and checked claims, to be written as text or as JSON. Not thread safe. */
final class Report {
  /** Rows of strings and numbers under named columns. */
  static final class Table {
    final String name;
    final List<String> columns;
    final List<List<Object>> rows = new ArrayList<>();

    /** Too long to read: only JSON has it. */
    boolean bulky;

    Table(String name, String... columns) {
      this.name = name;
      this.columns = List.of(columns);
    }

    Table row(Object... cells) {
      if (cells.length != columns.size()) {
        throw new IllegalArgumentException(
            name + " has " + columns.size() + " columns, not " + cells.length);
      }
      rows.add(List.of(cells));
      return this;
    }
  }

  final String title;
  private final Map<String, Object> facts = new LinkedHashMap<>();
  private final List<Table> tables = new ArrayList<>();
  private final List<Map<String, Object>> claims = new ArrayList<>();

  Report(String title) {
    this.title = title;
  }

  /** Something to know beside the tables: a parameter, an assumption. */
  Report fact(String name, Object value) {
    facts.put(name, value);
    return this;
  }

  Table table(String name, String... columns) {
    Table table = new Table(name, columns);
    tables.add(table);
    return table;
  }

  /**
   * What the text says, under which skew it was tried here, what came out and whether that agrees.
   */
  Report claim(String text, String skew, String seen, boolean holds) {
    Map<String, Object> claim = new LinkedHashMap<>();
    claim.put("claim", text);
    claim.put("skew", skew);
    claim.put("seen", seen);
    claim.put("holds", holds);
    claims.add(claim);
    return this;
  }

  List<Map<String, Object>> claims() {
    return claims;
  }

  String json() {
    Map<String, Object> all = new LinkedHashMap<>();
    all.put("title", title);
    all.put("facts", facts);
    Map<String, Object> byName = new LinkedHashMap<>();
    for (Table table : tables) {
      Map<String, Object> content = new LinkedHashMap<>();
      content.put("columns", table.columns);
      content.put("rows", table.rows);
      byName.put(table.name, content);
    }
    all.put("tables", byName);
    all.put("claims", claims);
    StringBuilder out = new StringBuilder();
    write(out, all);
    return out.append('\n').toString();
  }

  String text() {
    StringBuilder out = new StringBuilder(title).append('\n');
    facts.forEach(
        (name, value) ->
            out.append("  ").append(name).append(": ").append(shown(value)).append('\n'));
    for (Table table : tables) {
      if (table.bulky) {
        out.append('\n')
            .append(table.name)
            .append(": ")
            .append(table.rows.size())
            .append(" rows (with --json)\n");
      } else {
        align(out, table);
      }
    }
    for (Map<String, Object> claim : claims) {
      out.append('\n')
          .append((boolean) claim.get("holds") ? "holds:         " : "does not hold: ")
          .append(claim.get("claim"))
          .append("\n  skew: ")
          .append(claim.get("skew"))
          .append("\n  seen: ")
          .append(claim.get("seen"))
          .append('\n');
    }
    return out.toString();
  }

  private static void align(StringBuilder out, Table table) {
    int[] widths = new int[table.columns.size()];
    List<List<String>> lines = new ArrayList<>();
    lines.add(table.columns);
    for (List<Object> row : table.rows) {
      List<String> line = new ArrayList<>();
      row.forEach(cell -> line.add(shown(cell)));
      lines.add(line);
    }
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; ++i) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    out.append('\n').append(table.name).append('\n');
    for (int at = 0; at < lines.size(); ++at) {
      for (int i = 0; i < widths.length; ++i) {
        String cell = lines.get(at).get(i);
        boolean left = !table.rows.isEmpty() && table.rows.get(0).get(i) instanceof String;
        String pad = " ".repeat(widths[i] - cell.length());
        out.append("  ").append(left ? cell + pad : pad + cell);
      }
      while (out.charAt(out.length() - 1) == ' ') {
        out.setLength(out.length() - 1);
      }
      out.append('\n');
    }
  }

  private static String shown(Object value) {
    if (!(value instanceof Double)) {
      return String.valueOf(value);
    }
    double number = (Double) value;
    int digits = Math.abs(number) >= 100 ? 0 : Math.abs(number) >= 10 ? 1 : 2;
    return String.format(Locale.ROOT, "%." + digits + "f", number);
  }

  private static void write(StringBuilder out, Object value) {
    if (value instanceof Map) {
      String separator = "{";
      for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
        out.append(separator);
        quote(out, String.valueOf(entry.getKey()));
        out.append(':');
        write(out, entry.getValue());
        separator = ",";
      }
      out.append(separator.equals("{") ? "{}" : "}");
    } else if (value instanceof List) {
      String separator = "[";
      for (Object element : (List<?>) value) {
        out.append(separator);
        write(out, element);
        separator = ",";
      }
      out.append(separator.equals("[") ? "[]" : "]");
    } else if (value instanceof Double) {
      double number = (Double) value;
      out.append(Double.isFinite(number) ? Double.toString(Math.rint(number * 1e4) / 1e4) : "null");
    } else if (value instanceof Number || value instanceof Boolean) {
      out.append(value);
    } else {
      quote(out, String.valueOf(value));
    }
  }

  private static void quote(StringBuilder out, String text) {
    out.append('"');
    for (int i = 0; i < text.length(); ++i) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    out.append('"');
  }
}
