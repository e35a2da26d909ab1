package io.braid.hadoop.input;

import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.slots.Slots;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Calls a block's hosts by the names that the scheduler has for its nodes: file systems and
 * schedulers may differ in case, or in whether they add the domain. Immutable.
 */
public final class HostNames {
  private final Map<String, String> exact = new HashMap<>();

  /** Null where two nodes have the same first part. */
  private final Map<String, String> byFirstPart = new HashMap<>();

  private HostNames(List<Node> nodes) {
    for (Node node : nodes) {
      String lower = node.host().toLowerCase(Locale.ROOT);
      exact.put(lower, node.host());
      String first = firstPart(lower);
      byFirstPart.put(first, byFirstPart.containsKey(first) ? null : node.host());
    }
  }

  /** For the nodes of a cluster. */
  public static HostNames of(List<Node> nodes) {
    return new HostNames(nodes);
  }

  /**
   * The same blocks, with the nodes' names for their hosts. A host that but means "here", as object
   * stores say of all their blocks, is left out unless a node is called so.
   */
  public List<Block> translated(List<Block> blocks) {
    Map<String, String> seen = new HashMap<>();
    List<Block> out = new ArrayList<>(blocks.size());
    for (Block block : blocks) {
      List<String> hosts = new ArrayList<>(block.hosts().size());
      for (String host : block.hosts()) {
        String name = seen.computeIfAbsent(host, this::name);
        boolean isNowhere = Slots.isHere(name) && !exact.containsValue(name);
        if (!isNowhere && !hosts.contains(name)) {
          hosts.add(name);
        }
      }
      out.add(hosts.equals(block.hosts()) ? block : new Block(block.length(), hosts, block.kind()));
    }
    return out;
  }

  /** The node's name for that host; the host itself when no node is called so. */
  String name(String host) {
    String lower = host.toLowerCase(Locale.ROOT);
    if (lower.equals("127.0.0.1")) {
      lower = "localhost";
    }
    String node = exact.get(lower);
    if (node != null) {
      return node;
    }
    // With or without the domain; not the node of that name in another domain.
    String near = byFirstPart.get(firstPart(lower));
    return near != null && (hasNoDomain(lower) || hasNoDomain(near)) ? near : host;
  }

  private static boolean hasNoDomain(String host) {
    return firstPart(host).length() == host.length();
  }

  /** "node1" of "node1.example.org"; an address stays whole. */
  private static String firstPart(String host) {
    int dot = host.indexOf('.');
    boolean isAddress =
        host.isEmpty()
            || Character.isDigit(host.charAt(host.length() - 1)) && dot >= 0
            || host.indexOf(':') >= 0;
    return dot < 0 || isAddress ? host : host.substring(0, dot);
  }
}
