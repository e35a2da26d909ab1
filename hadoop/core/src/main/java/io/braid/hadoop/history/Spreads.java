package io.braid.hadoop.history;

import io.braid.hadoop.plan.Costs;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The parts of the variance of the time a byte takes: what differs by node, by container, and by
 * block. Coefficients of variation. Immutable.
 */
final class Spreads {
  final double block;
  final double container;
  final double node;

  private Spreads(double block, double container, double node) {
    this.block = block;
    this.container = container;
    this.node = node;
  }

  /** Of maps that took longer than their start-up and read something. */
  static Spreads of(List<MapTime> maps, StartUp start) {
    if (maps.size() < StartUp.FEWEST) {
      return new Spreads(Costs.ASSUMED.blockSpread(), Costs.ASSUMED.containerSpread(), 0);
    }
    Map<String, List<Double>> byNode = new HashMap<>();
    List<Double> slowness = new ArrayList<>();
    for (MapTime map : maps) {
      slowness.add(start.work(map) / map.bytes());
    }
    double mean = Numbers.mean(slowness);
    slowness.replaceAll(s -> s / mean);
    for (int i = 0; i < maps.size(); ++i) {
      byNode.computeIfAbsent(maps.get(i).host(), h -> new ArrayList<>()).add(slowness.get(i));
    }
    double within = within(byNode, slowness);
    double node = Math.max(0, Numbers.variance(slowness) - within);
    List<double[]> squares = new ArrayList<>();
    for (int i = 0; i < maps.size(); ++i) {
      List<Double> peers = byNode.get(maps.get(i).host());
      double off = slowness.get(i) - (peers.size() < 2 ? 1 : Numbers.mean(peers));
      squares.add(new double[] {1.0 / maps.get(i).blocks(), off * off});
    }
    return split(squares, within, node);
  }

  /** The variance among maps of the same node; of all when no node has two. */
  private static double within(Map<String, List<Double>> byNode, List<Double> all) {
    double squares = 0;
    int freedom = 0;
    for (List<Double> times : byNode.values()) {
      squares += Numbers.variance(times) * (times.size() - 1);
      freedom += times.size() - 1;
    }
    return freedom == 0 ? Numbers.variance(all) : squares / freedom;
  }

  /**
   * The blocks' own part shrinks with their number in a container, the container's does not: a line
   * through the squares tells both. Where all containers have alike many, it counts as the blocks'
   * if that is one, else as the containers', since with that many blocks little of theirs would be
   * left to see.
   */
  private static Spreads split(List<double[]> squares, double within, double node) {
    double x = squares.stream().mapToDouble(s -> s[0]).average().orElse(1);
    double y = squares.stream().mapToDouble(s -> s[1]).average().orElse(0);
    double xx = 0;
    double xy = 0;
    for (double[] square : squares) {
      xx += (square[0] - x) * (square[0] - x);
      xy += (square[0] - x) * (square[1] - y);
    }
    double block = x > 0.5 ? within / x : 0;
    // Numbers of blocks that hardly differ say nothing.
    if (xx / squares.size() > 0.01) {
      block = Math.max(0, Math.min(within / x, xy / xx));
    }
    double container = Math.max(0, within - block * x);
    return new Spreads(Math.sqrt(block), Math.sqrt(container), Math.sqrt(node));
  }
}
