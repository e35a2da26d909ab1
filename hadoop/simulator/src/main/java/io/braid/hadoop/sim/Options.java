package io.braid.hadoop.sim;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * The options of {@code simulate}: {@code --name value} or {@code --name=value}. Not thread safe.
 */
final class Options {
  private static final Set<String> FLAGS = Set.of("json", "help", "sweep", "small", "goal", "calibration");
  private static final Set<String> VALUES =
      Set.of(
          "figure",
          "nodes",
          "slots",
          "racks",
          "cores",
          "machine-nodes",
          "disk",
          "port",
          "uplink",
          "start",
          "delay",
          "node-spread",
          "scheduler",
          "job",
          "blocks",
          "block-size",
          "replication",
          "map-seconds",
          "output-ratio",
          "reducers",
          "block-spread",
          "container-spread",
          "jobs",
          "interval",
          "policy",
          "points",
          "seed");

  private final Map<String, String> given = new LinkedHashMap<>();

  private Options() {}

  static Options parse(String[] args) {
    Options options = new Options();
    for (int i = 0; i < args.length; ++i) {
      if (args[i].equals("-h")) {
        options.given.put("help", "");
        continue;
      }
      if (!args[i].startsWith("--")) {
        throw new IllegalArgumentException("\"" + args[i] + "\" is no option");
      }
      String name = args[i].substring(2);
      String value = null;
      int equals = name.indexOf('=');
      if (equals >= 0) {
        value = name.substring(equals + 1);
        name = name.substring(0, equals);
      }
      if (FLAGS.contains(name)) {
        if (value != null) {
          throw new IllegalArgumentException("--" + name + " takes no value");
        }
        value = "";
      } else if (!VALUES.contains(name)) {
        throw new IllegalArgumentException("there is no option --" + name);
      } else if (value == null) {
        if (i + 1 == args.length) {
          throw new IllegalArgumentException("--" + name + " needs a value");
        }
        value = args[++i];
      }
      if (options.given.put(name, value) != null) {
        throw new IllegalArgumentException("--" + name + " is given twice");
      }
    }
    return options;
  }

  boolean has(String name) {
    return given.containsKey(name);
  }

  /** Options that would have no effect are mistakes. */
  void allowOnly(String... names) {
    for (String name : given.keySet()) {
      if (!List.of(names).contains(name)) {
        throw new IllegalArgumentException("--" + name + " does not go with --" + names[0]);
      }
    }
  }

  String text(String name, String otherwise) {
    return given.getOrDefault(name, otherwise);
  }

  long whole(String name, long otherwise, long least, long most) {
    if (!has(name)) {
      return otherwise;
    }
    try {
      long value = Long.parseLong(given.get(name));
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException e) {
      // reported below, with the range
    }
    throw new IllegalArgumentException(
        "--"
            + name
            + " must be a whole number from "
            + least
            + " to "
            + most
            + ", not \""
            + given.get(name)
            + "\"");
  }

  double real(String name, double otherwise) {
    if (!has(name)) {
      return otherwise;
    }
    try {
      double value = Double.parseDouble(given.get(name));
      if (value >= 0 && value <= 1e12) {
        return value;
      }
    } catch (NumberFormatException e) {
      // reported below
    }
    throw new IllegalArgumentException(
        "--" + name + " must be a number of at least 0, not \"" + given.get(name) + "\"");
  }

  /** A size, with a suffix k, m or g if it likes. */
  long bytes(String name, long otherwise) {
    if (!has(name)) {
      return otherwise;
    }
    String text = given.get(name).toLowerCase(Locale.ROOT);
    int suffix = text.isEmpty() ? -1 : "kmg".indexOf(text.charAt(text.length() - 1));
    try {
      long value = Long.parseLong(suffix < 0 ? text : text.substring(0, text.length() - 1));
      if (value >= 1 && value <= 1L << 30) {
        return value << (10 * (suffix + 1));
      }
    } catch (NumberFormatException e) {
      // reported below
    }
    throw new IllegalArgumentException(
        "--"
            + name
            + " must be a size such as 134217728, 128m or 1g, "
            + "not \""
            + given.get(name)
            + "\"");
  }
}
