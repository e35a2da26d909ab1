package io.braid.hadoop.conf;

import java.util.Map;
import java.util.TreeMap;

/** Reads lists of host=slots. Stateless. */
public final class HostSlots {
  private HostSlots() {}

  /** Slots by host, with one at least; IllegalArgumentException for anything else. */
  public static Map<String, Integer> parse(String list) {
    Map<String, Integer> parsed = new TreeMap<>();
    long total = 0;
    for (String item : list.split(",", -1)) {
      int equals = item.indexOf('=');
      String host = equals < 0 ? "" : item.substring(0, equals).trim();
      int slots = Integer.parseInt(item.substring(equals + 1).trim());
      total += slots;
      if (host.isEmpty()
          || slots < 0
          || total > Integer.MAX_VALUE
          || parsed.put(host, slots) != null) {
        throw new IllegalArgumentException(item);
      }
    }
    if (total == 0) {
      throw new IllegalArgumentException(list);
    }
    return parsed;
  }
}
