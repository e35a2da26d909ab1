package io.braid.hadoop.items;

import io.braid.hadoop.cli.ByteCount;
import io.braid.hadoop.cli.UsageException;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Items of work from a text file, a line each: what it costs, then, after a tab or blanks, its
 * name, which is the rest of the line. {@code #} begins a comment line. Immutable.
 */
final class ItemFile {
  /** Lengths of items of which seconds are told are in microseconds. */
  static final double UNITS_A_SECOND = 1e6;

  private static final double MOST_SECONDS = 1e9;

  final List<String> names;
  final List<Long> lengths;

  private ItemFile(List<String> names, List<Long> lengths) {
    this.names = List.copyOf(names);
    this.lengths = List.copyOf(lengths);
  }

  /** Costs are bytes, or seconds. An IOException names the line that is wrong. */
  static ItemFile read(Path file, boolean areBytes) throws IOException {
    List<String> names = new ArrayList<>();
    List<Long> lengths = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    int number = 0;
    try (BufferedReader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        ++number;
        String text = line.trim();
        if (text.isEmpty() || text.startsWith("#")) {
          continue;
        }
        String where = file.getFileName() + ", line " + number;
        String[] fields = text.split("\\s+", 2);
        if (fields.length < 2) {
          throw new IOException(where + ": a cost and a name are needed, such as \"1.5 item-7\"");
        }
        lengths.add(cost(where, fields[0], areBytes));
        names.add(fields[1]);
        if (!seen.add(fields[1])) {
          throw new IOException(where + ": there are two items of the name " + fields[1]);
        }
      }
    }
    if (names.isEmpty()) {
      throw new IOException(file + " has no items: a line each, a cost and a name");
    }
    return new ItemFile(names, lengths);
  }

  private static long cost(String where, String text, boolean areBytes) throws IOException {
    try {
      if (areBytes) {
        return ByteCount.parse("the cost", text);
      }
      double seconds = Double.parseDouble(text);
      if (seconds >= 0 && seconds <= MOST_SECONDS) {
        return Math.round(seconds * UNITS_A_SECOND);
      }
    } catch (UsageException e) {
      throw new IOException(where + ": " + e.getMessage(), e);
    } catch (NumberFormatException e) {
      // reported below
    }
    throw new IOException(
        where
            + ": the cost must be seconds of at least 0, not \""
            + text
            + "\"; bytes are for --bytes-per-second");
  }
}
