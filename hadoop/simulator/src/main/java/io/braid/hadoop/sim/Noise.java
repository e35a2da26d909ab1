package io.braid.hadoop.sim;

/**
 * Random numbers by name rather than by order: a draw depends on the seed, a stream and an index
 * alone, so two policies that are simulated with one seed meet the same slow blocks and the same
 * slow nodes. Immutable, hence safe to share.
 */
final class Noise {
  /** What a number is drawn for; each has its own stream. */
  enum Stream {
    BLOCK,
    REGION,
    CONTAINER,
    NODE,
    START,
    PLACEMENT,
    SOURCE,
    ORDER,
    REDUCE,
    OUTPUT
  }

  private final long seed;

  Noise(long seed) {
    this.seed = seed;
  }

  /** Numbers for a part (a job, say) that are independent of the other parts'. */
  Noise part(long index) {
    return new Noise(mix(seed ^ mix(index + 0x632be59bd9b4e019L)));
  }

  /** Uniform in (0, 1). */
  double uniform(Stream stream, long index) {
    return ((bits(stream, index) >>> 11) + 0.5) * 0x1.0p-53;
  }

  /** Uniform in 0 .. bound - 1. */
  int below(Stream stream, long index, int bound) {
    return (int) (uniform(stream, index) * bound);
  }

  /** Log-normal with mean 1 and the given coefficient of variation; exactly 1 for a spread of 0. */
  double factor(Stream stream, long index, double spread) {
    if (spread <= 0) {
      return 1;
    }
    double variance = Math.log1p(spread * spread);
    return Math.exp(Math.sqrt(variance) * normal(stream, index) - variance / 2);
  }

  private double normal(Stream stream, long index) {
    double radius = Math.sqrt(-2 * Math.log(uniform(stream, 2 * index)));
    return radius * Math.cos(2 * Math.PI * uniform(stream, 2 * index + 1));
  }

  private long bits(Stream stream, long index) {
    return mix(mix(seed + stream.ordinal() * 0x9e3779b97f4a7c15L) ^ mix(index));
  }

  /** The finalizer of SplitMix64: each bit of the input changes half of the output's. */
  private static long mix(long value) {
    long z = value + 0x9e3779b97f4a7c15L;
    z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
    return z ^ (z >>> 31);
  }
}
