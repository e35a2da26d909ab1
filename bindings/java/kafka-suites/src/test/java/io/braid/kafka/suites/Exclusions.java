package io.braid.kafka.suites;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;

/** The list of what is left out, and of it what was met so far. */
final class Exclusions {
  static final Exclusions LIST = new Exclusions();

  private static final String FILE = "/excluded.txt"; // its head says what a line is

  private final Map<String, String> reasons = new TreeMap<>();
  private final Set<String> met = ConcurrentHashMap.newKeySet();

  private Exclusions() {
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(
        Exclusions.class.getResourceAsStream(FILE), StandardCharsets.UTF_8))) {
      lines.lines().filter(line -> !line.isBlank() && !line.startsWith("#")).forEach(this::read);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void read(String line) {
    String[] parts = line.split(": ", 2);
    if (parts.length < 2 || parts[1].isBlank()) {
      throw new IllegalArgumentException(FILE + " gives no reason: " + line);
    }
    if (reasons.put(parts[0].trim(), parts[1].trim()) != null) {
      throw new IllegalArgumentException(FILE + " has it twice: " + line);
    }
  }

  /** Whether all of a class or of a method is left out. */
  boolean has(String className, String method) {
    boolean found = false;
    for (String name : List.of(className, className + "." + method)) {
      if (reasons.containsKey(name)) {
        met.add(name);
        found = true;
      }
    }
    return found;
  }

  /** Why one invocation of a method that has parameters is left out; empty: it is not. */
  Optional<String> reason(String className, String method, String displayName) {
    String begin = className + "." + method + "[";
    for (Map.Entry<String, String> entry : reasons.entrySet()) {
      String name = entry.getKey();
      if (name.startsWith(begin) && name.endsWith("]")
          && displayName.contains(name.substring(begin.length(), name.length() - 1))) {
        met.add(name);
        return Optional.of(entry.getValue());
      }
    }
    return Optional.empty();
  }

  /** What no test is called, as far as it was looked for. */
  Set<String> unmet() {
    Set<String> unknown = new TreeSet<>(reasons.keySet());
    unknown.removeAll(met);
    return unknown;
  }

  Map<String, String> reasons() {
    return reasons;
  }
}
