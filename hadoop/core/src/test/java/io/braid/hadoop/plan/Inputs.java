package io.braid.hadoop.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/** Blocks and nodes for the planner's tests, the same for the same seed. */
final class Inputs {
  static final long MIB = 1 << 20;

  private static final String[] NAMES = new String[2000];

  static {
    Arrays.setAll(NAMES, n -> String.format("node%03d", n));
  }

  final List<Block> blocks = new ArrayList<>();
  final List<Node> nodes = new ArrayList<>();
  final String what;

  private Inputs(String what) {
    this.what = what;
  }

  /** Equal blocks, replicas on different nodes drawn evenly. */
  static Inputs even(int blocks, int nodes, int slots, int replicas, long seed) {
    Inputs in = new Inputs(blocks + " equal blocks on " + nodes + " x " + slots);
    Random random = new Random(seed);
    for (int n = 0; n < nodes; ++n) {
      in.nodes.add(new Node(name(n), slots));
    }
    for (int i = 0; i < blocks; ++i) {
      in.blocks.add(new Block(128 * MIB, draw(nodes, replicas, random)));
    }
    return in;
  }

  /**
   * Anything that may come: lengths of all kinds, hosts that are no nodes, nodes without slots, no
   * hosts.
   */
  static Inputs any(long seed) {
    Random random = new Random(seed);
    Inputs in = new Inputs("seed " + seed);
    int nodes = 1 + random.nextInt(12);
    int kind = random.nextInt(5);
    int mostSlots = 1 + random.nextInt(8);
    for (int n = 0; n < nodes; ++n) {
      boolean none = n > 0 && random.nextInt(6) == 0;
      in.nodes.add(new Node(name(n), none ? 0 : 1 + random.nextInt(mostSlots)));
    }
    int blocks = random.nextInt(random.nextInt(4) == 0 ? 30 : 600);
    int replicas = 1 + random.nextInt(3);
    int strangers = random.nextInt(3) == 0 ? nodes : 0;
    boolean hostless = random.nextInt(5) == 0;
    boolean someHostless = random.nextInt(4) == 0;
    for (int i = 0; i < blocks; ++i) {
      boolean nowhere = hostless || (someHostless && random.nextInt(3) == 0);
      in.blocks.add(
          new Block(
              length(kind, random),
              nowhere ? List.of() : draw(nodes + strangers, replicas, random)));
    }
    return in;
  }

  private static long length(int kind, Random random) {
    switch (kind) {
      case 0:
        return 128 * MIB;
      case 1:
        return random.nextInt(4) == 0 ? 1 + random.nextInt(1 << 27) : 128 * MIB;
      case 2:
        return random.nextInt(3) == 0 ? 0 : random.nextInt(1000);
      case 3:
        return (long) Math.exp(random.nextDouble() * 30);
      default:
        return random.nextInt(50) == 0 ? 100L << 30 : random.nextInt(1 << 20);
    }
  }

  private static List<String> draw(int nodes, int replicas, Random random) {
    Set<String> hosts = new LinkedHashSet<>();
    while (hosts.size() < Math.min(nodes, replicas)) {
      hosts.add(name(random.nextInt(nodes)));
    }
    return new ArrayList<>(hosts);
  }

  static String name(int node) {
    return NAMES[node];
  }

  int slots() {
    return nodes.stream().mapToInt(Node::slots).sum();
  }

  long longest() {
    return blocks.stream().mapToLong(Block::length).max().orElse(0);
  }

  long bytes() {
    return blocks.stream().mapToLong(Block::length).sum();
  }
}
