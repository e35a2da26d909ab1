package io.braid.hadoop.conf;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Looks through the keys of a job before they are used. Stateless. */
public final class KeyCheck {
  private static final Logger LOG = LoggerFactory.getLogger(KeyCheck.class);
  private static final String OURS = "braid.";

  /** What the input format itself leaves in a job's configuration. */
  public static final String PLAN = "braid.plan.";

  /** More letters to change than this are no slip. */
  private static final int MOST_CHANGES = 6;

  private KeyCheck() {}

  /**
   * The configuration to use. Warns of keys that there are not. A wrong value on the command line
   * or in the job throws IllegalArgumentException; one in a configuration file, which all jobs of a
   * site share, is warned of and left out. A wrong delegate is refused wherever it is set: by
   * another one the job would read something else.
   */
  public static Configuration checked(Configuration conf) {
    unknown(conf).forEach(LOG::warn);
    Configuration usable = conf;
    for (Key key : Keys.ALL) {
      try {
        key.check(usable);
      } catch (IllegalArgumentException e) {
        if (!key.isFromFile(conf)) {
          throw e;
        }
        LOG.warn(
            "{} in {} is left out: {}",
            key.name(),
            String.join(", ", conf.getPropertySources(key.name())),
            e.getMessage());
        usable = usable == conf ? new Configuration(conf) : usable;
        usable.unset(key.name());
      }
    }
    return usable;
  }

  /** A warning for each key of ours that does not exist. */
  static List<String> unknown(Configuration conf) {
    List<String> warnings = new ArrayList<>();
    for (Map.Entry<String, String> property : conf) {
      String name = property.getKey();
      if (!name.startsWith(OURS) || name.startsWith(PLAN) || isKey(name)) {
        continue;
      }
      String nearest = nearest(name);
      warnings.add(
          "There is no key "
              + name
              + ", it has no effect"
              + (nearest == null
                  ? " (hadoop/docs/options.md has all)"
                  : "; did you mean " + nearest + "?"));
    }
    warnings.sort(null);
    return warnings;
  }

  private static boolean isKey(String name) {
    return Keys.ALL.stream().anyMatch(key -> key.name().equals(name));
  }

  /** The key with the fewest letters to change; null if these are many. */
  private static String nearest(String name) {
    String nearest = null;
    int fewest = MOST_CHANGES + 1;
    for (Key key : Keys.ALL) {
      int changes = changes(name, key.name());
      if (changes < fewest) {
        fewest = changes;
        nearest = key.name();
      }
    }
    return nearest;
  }

  /** Levenshtein's distance. */
  private static int changes(String one, String other) {
    int[] row = new int[other.length() + 1];
    for (int k = 0; k < row.length; ++k) {
      row[k] = k;
    }
    for (int i = 1; i <= one.length(); ++i) {
      int corner = row[0];
      row[0] = i;
      for (int k = 1; k < row.length; ++k) {
        int replaced = corner + (one.charAt(i - 1) == other.charAt(k - 1) ? 0 : 1);
        corner = row[k];
        row[k] = Math.min(replaced, Math.min(row[k], row[k - 1]) + 1);
      }
    }
    return row[row.length - 1];
  }
}
