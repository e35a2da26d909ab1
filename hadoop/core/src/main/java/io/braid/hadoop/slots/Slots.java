package io.braid.hadoop.slots;

import io.braid.hadoop.plan.Node;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;

/** How many maps run at once, and where. Immutable. */
public final class Slots {
  /** Stands for a node whose name is not known; no host can be called that. */
  private static final String UNNAMED = "(node ";

  private static final Set<String> LOCAL =
      Set.of(
          "localhost", "localhost.localdomain", "127.0.0.1", "::1", "0:0:0:0:0:0:0:1", "0.0.0.0");

  private final List<Node> nodes;
  private final String origin;

  private Slots(List<Node> nodes, String origin) {
    this.nodes = List.copyOf(nodes);
    this.origin = origin;
  }

  /**
   * @param perHost slots of each host; hosts without any are left out
   * @param origin where the numbers come from, in a few words for a log line
   */
  public static Slots of(Map<String, Integer> perHost, String origin) {
    List<Node> nodes = new ArrayList<>();
    new TreeMap<>(perHost)
        .forEach(
            (host, slots) -> {
              if (slots > 0) {
                nodes.add(new Node(host, slots));
              }
            });
    return new Slots(nodes, origin);
  }

  /** The nodes in order of their names, each with at least one slot. */
  public List<Node> nodes() {
    return nodes;
  }

  /** Where the numbers come from. */
  public String origin() {
    return origin;
  }

  /** Slots of all nodes. */
  public int total() {
    return nodes.stream().mapToInt(Node::slots).sum();
  }

  /** At most {@code limit} slots: taken away one at a time where most are left. */
  public Slots atMost(int limit, String because) {
    int excess = total() - limit;
    if (excess <= 0) {
      return this;
    }
    Map<String, Integer> left = new TreeMap<>();
    Comparator<String> mostFirst = Comparator.comparingInt(host -> -left.get(host));
    PriorityQueue<String> queue =
        new PriorityQueue<>(mostFirst.thenComparing(Comparator.reverseOrder()));
    for (Node node : nodes) {
      left.put(node.host(), node.slots());
      queue.add(node.host());
    }
    for (; excess > 0; --excess) {
      String host = queue.remove();
      left.merge(host, -1, Integer::sum);
      queue.add(host);
    }
    return of(left, origin + ", " + because);
  }

  /** A name for the i-th node of which only the slots are known. */
  static String unnamed(int i) {
    return UNNAMED + i + ")";
  }

  /**
   * Whether that is no name of a host but means "here": object stores and local files say so of all
   * their blocks.
   */
  public static boolean isHere(String host) {
    return LOCAL.contains(host.toLowerCase(Locale.ROOT));
  }

  /** Whether that is such a name: nothing that a scheduler could be asked for. */
  public static boolean isUnnamed(String host) {
    return host.startsWith(UNNAMED);
  }
}
