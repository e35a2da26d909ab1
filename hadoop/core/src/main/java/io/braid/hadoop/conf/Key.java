package io.braid.hadoop.conf;

import java.util.List;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.util.StringUtils;

/**
 * One configuration key: its name, default, what is allowed, and a paragraph for the docs.
 * Immutable. All keys are in {@link Keys}.
 */
public final class Key {
  private final String name;
  private final String defaultText;
  private final String allowed;
  private final String paragraph;
  private final double low;
  private final double high;
  private final BiConsumer<Key, Configuration> check;

  private Key(
      String name,
      String defaultText,
      String allowed,
      double low,
      double high,
      String paragraph,
      BiConsumer<Key, Configuration> check) {
    this.check = check;
    this.name = name;
    this.defaultText = defaultText;
    this.allowed = allowed;
    this.low = low;
    this.high = high;
    this.paragraph = paragraph;
  }

  /** A key whose value is text; {@code allowed} says which. An empty default means: not set. */
  static Key text(String name, String defaultText, String allowed, String paragraph) {
    return new Key(name, defaultText, allowed, 0, 0, paragraph, (key, conf) -> {});
  }

  /** The same, with a function that throws IllegalArgumentException for what is not allowed. */
  static Key text(
      String name, String defaultText, String allowed, String paragraph, Consumer<String> parser) {
    return new Key(
        name, defaultText, allowed, 0, 0, paragraph, (key, conf) -> key.parsed(conf, parser));
  }

  /** A key whose value is one of a few words. */
  static Key choice(String name, String defaultText, List<String> choices, String paragraph) {
    String last = choices.get(choices.size() - 1);
    String allowed = String.join(", ", choices.subList(0, choices.size() - 1)) + " or " + last;
    return new Key(
        name,
        defaultText,
        allowed,
        0,
        0,
        paragraph,
        (key, conf) -> {
          String value = key.text(conf);
          if (!value.isEmpty() && !choices.contains(value.toLowerCase(Locale.ROOT))) {
            throw key.refusal(value, null);
          }
        });
  }

  /** A key whose value is a whole number. */
  static Key whole(String name, long value, long low, long high, String paragraph) {
    return new Key(
        name,
        Long.toString(value),
        "a whole number from " + low + " to " + high,
        low,
        high,
        paragraph,
        Key::whole);
  }

  /** A key whose value is a number of bytes, with the binary suffixes k, m, g, t if wanted. */
  static Key bytes(String name, long value, long low, long high, String paragraph) {
    String allowed =
        "bytes from " + low + " to " + shortBytes(high) + ", a number that may end in k, m, g or t";
    return new Key(name, shortBytes(value), allowed, low, high, paragraph, Key::bytes);
  }

  /** A key whose value is a real number. */
  static Key real(String name, double value, double low, double high, String paragraph) {
    return new Key(
        name,
        plain(value),
        "a number from " + plain(low) + " to " + plain(high),
        low,
        high,
        paragraph,
        Key::real);
  }

  public String name() {
    return name;
  }

  /** The default as it would be written in a configuration; empty when there is none. */
  public String defaultText() {
    return defaultText;
  }

  /** Which values are allowed, as the end of a sentence. */
  public String allowed() {
    return allowed;
  }

  public String paragraph() {
    return paragraph;
  }

  /** Whether the configuration holds a value. */
  public boolean isSet(Configuration conf) {
    return !conf.getTrimmed(name, "").isEmpty();
  }

  /** The value, or the default. */
  public String text(Configuration conf) {
    String value = conf.getTrimmed(name, "");
    return value.isEmpty() ? defaultText : value;
  }

  /** One of the words that are allowed, in small letters; IllegalArgumentException otherwise. */
  public String choice(Configuration conf) {
    check(conf);
    return text(conf).toLowerCase(Locale.ROOT);
  }

  /** For the choice of true and false. */
  public boolean flag(Configuration conf) {
    return choice(conf).equals("true");
  }

  /** IllegalArgumentException with the key, its value and what is allowed, if that is not. */
  public void check(Configuration conf) {
    check.accept(this, conf);
  }

  private void parsed(Configuration conf, Consumer<String> parser) {
    String value = text(conf);
    try {
      if (!value.isEmpty()) {
        parser.accept(value);
      }
    } catch (IllegalArgumentException e) {
      throw refusal(value, e);
    }
  }

  /** Whether the value comes from a configuration file, not from the command line or the job. */
  boolean isFromFile(Configuration conf) {
    String[] sources = conf.getPropertySources(name);
    return sources != null && sources.length > 0 && sources[sources.length - 1].endsWith(".xml");
  }

  /** The value as a whole number. Throws IllegalArgumentException with the key, value and range. */
  public int whole(Configuration conf) {
    String value = text(conf);
    try {
      return (int) inRange(value, Long.parseLong(value));
    } catch (NumberFormatException e) {
      throw refusal(value, e);
    }
  }

  /** The value as a number of bytes. Throws IllegalArgumentException with key, value and range. */
  public long bytes(Configuration conf) {
    String value = text(conf);
    try {
      return (long) inRange(value, StringUtils.TraditionalBinaryPrefix.string2long(value));
    } catch (IllegalArgumentException e) {
      throw refusal(value, e);
    }
  }

  /** The value as a real number. Throws IllegalArgumentException with the key, value and range. */
  public double real(Configuration conf) {
    String value = text(conf);
    try {
      return inRange(value, Double.parseDouble(value));
    } catch (NumberFormatException e) {
      throw refusal(value, e);
    }
  }

  /** What to throw when the value can't be used: names the key, the value and what is allowed. */
  public IllegalArgumentException refusal(String value, Throwable cause) {
    return new IllegalArgumentException(
        name
            + " can't be \""
            + value
            + "\": allowed is "
            + allowed
            + (defaultText.isEmpty() ? "" : " (default " + defaultText + ")"),
        cause);
  }

  private double inRange(String value, double number) {
    if (!(number >= low && number <= high)) {
      throw refusal(value, null);
    }
    return number;
  }

  private static String plain(double number) {
    return number == Math.rint(number) && Math.abs(number) < 1e15
        ? Long.toString((long) number)
        : Double.toString(number);
  }

  private static String shortBytes(long number) {
    String[] suffixes = {"", "k", "m", "g", "t", "p"};
    int step = 0;
    while (number != 0 && number % 1024 == 0 && step < suffixes.length - 1) {
      number /= 1024;
      ++step;
    }
    return number + suffixes[step];
  }
}
