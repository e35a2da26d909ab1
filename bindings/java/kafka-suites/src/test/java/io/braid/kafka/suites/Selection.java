package io.braid.kafka.suites;

import java.util.regex.Pattern;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestDescriptor;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;

/** Which tests run: those whose CLASS.METHOD holds the pattern, without what is left out. */
final class Selection implements PostDiscoveryFilter {
  private final Pattern pattern;

  Selection(String pattern) {
    this.pattern = Pattern.compile(pattern);
  }

  @Override
  public FilterResult apply(TestDescriptor test) {
    if (!(test.getSource().orElse(null) instanceof MethodSource method)) {
      return FilterResult.included("it holds tests, which are looked at one by one");
    }
    String name = classOf(method.getClassName());
    boolean excluded = Exclusions.LIST.has(name, method.getMethodName());
    return FilterResult.includedIf(
        !excluded && pattern.matcher(name + "." + method.getMethodName()).find());
  }

  /** The simple name of the outermost class. */
  static String classOf(String name) {
    return name.replaceAll(".*\\.", "").replaceAll("\\$.*", "");
  }
}
