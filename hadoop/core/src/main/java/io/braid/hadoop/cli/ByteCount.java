package io.braid.hadoop.cli;

import java.util.Locale;

/** Numbers of bytes, read and written. */
public final class ByteCount {
  private static final String SUFFIXES = "kmgt";
  private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};

  private ByteCount() {}

  /** Such as 134217728 or 128m; {@code where} is named if it is neither. */
  public static long parse(String where, String text) {
    String digits = text.trim().toLowerCase(Locale.ROOT);
    int power = digits.isEmpty() ? -1 : SUFFIXES.indexOf(digits.charAt(digits.length() - 1));
    if (power >= 0) {
      digits = digits.substring(0, digits.length() - 1);
    }
    try {
      long number = Math.multiplyExact(Long.parseLong(digits), 1L << 10 * (power + 1));
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException | ArithmeticException e) {
      // Falls through to the message below.
    }
    throw new UsageException(
        where + " needs a number of bytes such as 134217728 or 128m, not \"" + text + "\"");
  }

  /** Such as 1.5 GiB. */
  public static String print(double bytes) {
    int unit = 0;
    double number = bytes;
    for (; number >= 1024 && unit < UNITS.length - 1; ++unit) {
      number /= 1024;
    }
    return String.format(
        Locale.ROOT, unit == 0 || number >= 100 ? "%.0f %s" : "%.1f %s", number, UNITS[unit]);
  }
}
