package io.braid.hadoop.plan;

import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** How blocks are put together into groups, each of which one container reads. */
public enum Policy {
  /** A group a block: what Hadoop does by itself. */
  NONE("none"),
  /** As many groups as slots, alike in size (dissertation, chapter III, equation 1). */
  MAXIMUM("maximum"),
  /**
   * Sizes in geometric progression, leftovers single (chapter IV, Algorithms 1 and 2 to the
   * letter).
   */
  ASSORTED_STRICT("assorted-strict"),
  /** The same sizes, with the leftovers grouped as well. */
  ASSORTED_BALANCED("assorted-balanced"),
  /** Groups alike in size, some for each slot, as Tez makes them. */
  WAVES("waves"),
  /**
   * Batches of a group a slot, each batch a share of what is left (Hummel, Schonberg and Flynn,
   * 1992).
   */
  FACTORING("factoring"),
  /** Whichever of the others promises the shortest job by the costs that are known. */
  AUTO("auto");

  private final String label;

  Policy(String label) {
    this.label = label;
  }

  /** The name in configurations and reports. */
  public String label() {
    return label;
  }

  /** All labels, divided by commas. */
  public static String labels() {
    return Arrays.stream(values()).map(Policy::label).collect(Collectors.joining(", "));
  }

  /**
   * The policy of that label; "assorted" is the balanced form. Throws IllegalArgumentException with
   * the valid names.
   */
  public static Policy of(String label) {
    String wanted = label.trim().toLowerCase(Locale.ROOT);
    if (wanted.equals("assorted")) {
      return ASSORTED_BALANCED;
    }
    for (Policy policy : values()) {
      if (policy.label.equals(wanted)) {
        return policy;
      }
    }
    throw new IllegalArgumentException(
        "there is no policy \"" + label + "\": use " + labels());
  }
}
