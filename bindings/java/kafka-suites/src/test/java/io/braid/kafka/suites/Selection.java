package io.braid.kafka.suites;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;

/** Which tests run: those whose name holds the pattern, without those on the list of exclusions. */
final class Selection implements PostDiscoveryFilter {
  private static final String LIST = "/excluded.txt";

  private final Pattern pattern;
  private final Map<String, String> reasons = new TreeMap<>(); // CLASS or CLASS.METHOD
  private final Set<String> matched = new HashSet<>();

  Selection(String pattern) {
    this.pattern = Pattern.compile(pattern);
    try (BufferedReader lines = new BufferedReader(new InputStreamReader(
        Selection.class.getResourceAsStream(LIST), StandardCharsets.UTF_8))) {
      lines.lines().filter(line -> !line.isBlank() && !line.startsWith("#")).forEach(this::read);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void read(String line) {
    String[] parts = line.split(":", 2);
    if (parts.length < 2 || parts[1].isBlank()) {
      throw new IllegalArgumentException(LIST + " gives no reason: " + line);
    }
    if (reasons.put(parts[0].trim(), parts[1].trim()) != null) {
      throw new IllegalArgumentException(LIST + " has it twice: " + line);
    }
  }

  @Override
  public FilterResult apply(TestDescriptor test) {
    if (!(test.getSource().orElse(null) instanceof MethodSource method)) {
      return FilterResult.included("it holds tests, which are looked at one by one");
    }
    String top = method.getClassName().replaceAll(".*\\.", "").replaceAll("\\$.*", "");
    String name = top + "." + method.getMethodName();
    boolean excluded = reasons.containsKey(top) || reasons.containsKey(name);
    if (excluded) {
      matched.add(reasons.containsKey(top) ? top : name);
    }
    return FilterResult.includedIf(!excluded && pattern.matcher(name).find());
  }

  /** What the list names and no test is called. */
  Set<String> stale() {
    Set<String> unknown = new TreeSet<>(reasons.keySet());
    unknown.removeAll(matched);
    return unknown;
  }

  Map<String, String> reasons() {
    return reasons;
  }
}
