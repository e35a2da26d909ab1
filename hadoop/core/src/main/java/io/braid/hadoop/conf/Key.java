package io.braid.hadoop.conf;

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

  private Key(String name, String defaultText, String allowed, double low, double high,
      String paragraph) {
    this.name = name;
    this.defaultText = defaultText;
    this.allowed = allowed;
    this.low = low;
    this.high = high;
    this.paragraph = paragraph;
  }

  /** A key whose value is text; {@code allowed} says which. An empty default means: not set. */
  static Key text(String name, String defaultText, String allowed, String paragraph) {
    return new Key(name, defaultText, allowed, 0, 0, paragraph);
  }

  /** A key whose value is a whole number. */
  static Key whole(String name, long value, long low, long high, String paragraph) {
    return new Key(name, Long.toString(value), "a whole number from " + low + " to " + high, low,
        high, paragraph);
  }

  /** A key whose value is a number of bytes, with the binary suffixes k, m, g, t if wanted. */
  static Key bytes(String name, long value, long low, long high, String paragraph) {
    String allowed = "bytes from " + low + " to " + shortBytes(high)
        + ", a number that may end in k, m, g or t";
    return new Key(name, shortBytes(value), allowed, low, high, paragraph);
  }

  /** A key whose value is a real number. */
  static Key real(String name, double value, double low, double high, String paragraph) {
    return new Key(name, plain(value), "a number from " + plain(low) + " to " + plain(high), low,
        high, paragraph);
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
        name + " can't be \"" + value + "\": allowed is " + allowed
            + (defaultText.isEmpty() ? "" : " (default " + defaultText + ")"), cause);
  }

  private double inRange(String value, double number) {
    if (!(number >= low && number <= high)) {
      throw refusal(value, null);
    }
    return number;
  }

  private static String plain(double number) {
    return number == Math.rint(number) && Math.abs(number) < 1e15
        ? Long.toString((long) number) : Double.toString(number);
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
