package io.braid.hadoop.cli;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** A command's arguments: options with or without a value, and the rest. Immutable once made. */
public final class Arguments {
  private final Map<String, String> values = new HashMap<>();
  private final List<String> definitions = new ArrayList<>();
  private final List<String> rest = new ArrayList<>();

  /**
   * @param withValue options such as {@code --blocks} that a value follows, or {@code
   *     --blocks=value}
   * @param flags options without
   */
  public Arguments(List<String> arguments, Set<String> withValue, Set<String> flags) {
    for (int i = 0; i < arguments.size(); ++i) {
      String argument = arguments.get(i);
      int equals = argument.indexOf('=');
      String name = equals > 0 ? argument.substring(0, equals) : argument;
      if (argument.startsWith("-D")) {
        String definition =
            argument.length() > 2 ? argument.substring(2) : next(arguments, ++i, "-D");
        if (definition.indexOf('=') < 1) {
          throw new UsageException("-D needs key=value, not \"" + definition + "\"");
        }
        definitions.add(definition);
      } else if (flags.contains(argument)) {
        values.put(argument, "");
      } else if (withValue.contains(name)) {
        values.put(name, equals > 0 ? argument.substring(equals + 1) : next(arguments, ++i, name));
      } else if (argument.startsWith("-") && argument.length() > 1) {
        Set<String> all = new TreeSet<>(withValue);
        all.addAll(flags);
        throw new UsageException(
            "there is no option " + name + "; there are " + String.join(", ", all));
      } else {
        rest.add(argument);
      }
    }
  }

  private static String next(List<String> arguments, int at, String name) {
    if (at >= arguments.size()) {
      throw new UsageException(name + " needs a value");
    }
    return arguments.get(at);
  }

  public boolean has(String name) {
    return values.containsKey(name);
  }

  /** The value, or the default. */
  public String text(String name, String standard) {
    return values.getOrDefault(name, standard);
  }

  public double number(String name, double standard) {
    try {
      return has(name) ? Double.parseDouble(values.get(name)) : standard;
    } catch (NumberFormatException e) {
      throw new UsageException(name + " needs a number, not \"" + values.get(name) + "\"");
    }
  }

  public int whole(String name, int standard) {
    try {
      return has(name) ? Integer.parseInt(values.get(name)) : standard;
    } catch (NumberFormatException e) {
      throw new UsageException(name + " needs a whole number, not \"" + values.get(name) + "\"");
    }
  }

  /** A number of bytes, which may end in k, m, g or t. */
  public long bytes(String name, long standard) {
    return has(name) ? ByteCount.parse(name, values.get(name)) : standard;
  }

  /** What -D gave: key=value. */
  public List<String> definitions() {
    return definitions;
  }

  public List<String> rest() {
    return rest;
  }
}
