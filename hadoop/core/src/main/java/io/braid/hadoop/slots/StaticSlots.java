package io.braid.hadoop.slots;

import io.braid.hadoop.conf.HostSlots;
import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.plan.Block;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/** Slots that the user has written down: by host, or as a number of nodes. Immutable. */
final class StaticSlots implements SlotSource {
  private final Map<String, Integer> perHost;
  private final int nodes;
  private final int perNode;

  private StaticSlots(Map<String, Integer> perHost, int nodes, int perNode) {
    this.perHost = perHost;
    this.nodes = nodes;
    this.perNode = perNode;
  }

  static StaticSlots of(Configuration conf) {
    if (Keys.SLOT_HOSTS.isSet(conf)) {
      Keys.SLOT_HOSTS.check(conf);
      return new StaticSlots(HostSlots.parse(Keys.SLOT_HOSTS.text(conf)), 0, 0);
    }
    int nodes = Keys.SLOT_NODES.whole(conf);
    int perNode = Keys.SLOTS_PER_NODE.whole(conf);
    if (nodes == 0) {
      throw new IllegalArgumentException(
          Keys.SLOTS.name()
              + " is static, but neither "
              + Keys.SLOT_HOSTS.name()
              + " nor "
              + Keys.SLOT_NODES.name()
              + " says how many there are");
    }
    if ((long) nodes * perNode > Integer.MAX_VALUE) {
      throw new IllegalArgumentException(
          Keys.SLOT_NODES.name()
              + " times "
              + Keys.SLOTS_PER_NODE.name()
              + " can't be "
              + (long) nodes * perNode
              + ": allowed are up to "
              + Integer.MAX_VALUE
              + " slots");
    }
    return new StaticSlots(Map.of(), nodes, perNode);
  }

  @Override
  public Slots slots(List<Block> blocks) {
    if (!perHost.isEmpty()) {
      return Slots.of(perHost, "static");
    }
    List<String> hosts = hostsByBytes(blocks);
    Map<String, Integer> chosen = new HashMap<>();
    for (int i = 0; i < nodes; ++i) {
      chosen.put(i < hosts.size() ? hosts.get(i) : Slots.unnamed(i + 1), perNode);
    }
    return Slots.of(chosen, "static");
  }

  /** The hosts that hold the blocks, those with the most bytes first. */
  private static List<String> hostsByBytes(List<Block> blocks) {
    Map<String, Long> bytes = new HashMap<>();
    for (Block block : blocks) {
      for (String host : block.hosts()) {
        if (!Slots.isHere(host)) {
          bytes.merge(host, block.length(), Long::sum);
        }
      }
    }
    List<String> hosts = new ArrayList<>(bytes.keySet());
    hosts.sort(
        Comparator.<String>comparingLong(bytes::get)
            .reversed()
            .thenComparing(Comparator.naturalOrder()));
    return hosts;
  }
}
