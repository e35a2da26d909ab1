package io.braid.hadoop.plan;

import java.util.Arrays;

/**
 * SeededRandom of what the spreads do to times; how many is a power of two. The same on all
 * machines: numbers are hashed from their place in the draw and looked up in a table of the normal
 * distribution. Each place sees each equally probable part of the distribution once in all draws (a
 * Latin hypercube), so that few draws have the right mean, and a long tail no more than its weight.
 * For one thread.
 */
final class SeededRandom {
  private static final int TABLE_BITS = 12;
  private static final double[] NORMAL = normal(1 << TABLE_BITS);

  private final Costs costs;
  private final double block;
  private final int bits;
  private final double nodeSigma;
  private final double[] ofContainers;
  private int draw;
  private int place;
  private long length = -1;
  private double lengthSigma;

  /**
   * @param block bytes of the containers' blocks on average
   * @param bits 2 to the power of this many draws; at most 12
   */
  SeededRandom(Costs costs, double block, int bits) {
    this.costs = costs;
    this.block = block;
    this.bits = bits;
    nodeSigma = sigma(costs.nodeSpread());
    double sigma = sigma(costs.containerSpread());
    ofContainers = new double[sigma == 0 ? 0 : NORMAL.length];
    Arrays.setAll(ofContainers, i -> factor(sigma, NORMAL[i]));
  }

  int count() {
    return 1 << bits;
  }

  /** Begins a draw, by its number. */
  void begin(int number) {
    draw = number;
    place = 0;
  }

  /** What the next node's times are multiplied with. */
  double slowness() {
    return nodeSigma == 0 ? 1 : factor(nodeSigma, NORMAL[next()]);
  }

  /** Seconds of the next container, start included. */
  double seconds(long bytes, double slowness) {
    double work = bytes / costs.bytesPerSecond() * slowness;
    work *= ofContainers.length == 0 ? 1 : ofContainers[next()];
    double ofBlocks = ofBlocks(bytes);
    work *= ofBlocks == 0 ? 1 : factor(ofBlocks, NORMAL[next()]);
    return costs.startSeconds() + work;
  }

  /** The mean of n independent times varies by the root of n less than one does. */
  private double ofBlocks(long bytes) {
    if (bytes != length) {
      length = bytes;
      lengthSigma = sigma(costs.blockSpread() / Math.sqrt(Math.max(1, bytes / block)));
    }
    return lengthSigma;
  }

  /** An index into the table of the normal distribution. */
  private int next() {
    long key = mixed(++place * 0x9e3779b97f4a7c15L);
    long within = mixed(key + draw) & (NORMAL.length - 1) >> bits;
    return shuffled(key) << TABLE_BITS - bits | (int) within;
  }

  /** The draw's number in an order of all draws that depends on the key. */
  private int shuffled(long key) {
    int mask = (1 << bits) - 1;
    int number = draw ^ (int) key & mask;
    for (int round = 1; round <= 3; ++round) {
      // An odd factor and a shift that folds: neither makes two numbers equal.
      number = number * ((int) (key >>> 16 * round) | 1) & mask;
      number ^= number >> (bits + 1) / 2;
    }
    return number;
  }

  private static long mixed(long value) {
    long mixed = (value ^ (value >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31);
  }

  /** The parameter of a lognormal factor with mean 1 and this coefficient of variation. */
  private static double sigma(double spread) {
    return spread == 0 ? 0 : Math.sqrt(StrictMath.log(1 + spread * spread));
  }

  private static double factor(double sigma, double normal) {
    return sigma == 0 ? 1 : StrictMath.exp(sigma * normal - sigma * sigma / 2);
  }

  /**
   * The middles of that many equally probable parts of the normal distribution, by adding up its
   * density.
   */
  private static double[] normal(int parts) {
    double[] table = new double[parts];
    double step = 1.0 / 4096;
    double below = 0;
    int filled = 0;
    for (double z = -5; z < 5 && filled < parts; z += step) {
      below += step * StrictMath.exp(-z * z / 2) / StrictMath.sqrt(2 * Math.PI);
      for (; filled < parts && below >= (filled + 0.5) / parts; ++filled) {
        table[filled] = z;
      }
    }
    Arrays.fill(table, filled, parts, 5);
    return table;
  }
}
