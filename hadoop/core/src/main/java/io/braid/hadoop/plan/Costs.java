package io.braid.hadoop.plan;

/**
 * What is known of a job's times, measured (job history) or assumed; seconds and bytes a second.
 * The spreads are coefficients of variation of the time a byte takes. Immutable.
 */
public final class Costs {
  /**
   * The figures of chapter III's cluster: 6.58 s to start a container, Grep at 3.85 s a block of
   * 128 MiB.
   */
  public static final Costs ASSUMED = new Costs(6.58, 128 * 1048576 / 3.85, 0.1, 0.0);

  private final double startSeconds;
  private final double bytesPerSecond;
  private final double blockSpread;
  private final double containerSpread;
  private final double nodeSpread;
  private final double localityWaitSeconds;

  /** As the constructor with five arguments, with nodes that are alike. */
  public Costs(
      double startSeconds, double bytesPerSecond, double blockSpread, double containerSpread) {
    this(startSeconds, bytesPerSecond, blockSpread, containerSpread, 0);
  }

  /**
   * @param startSeconds from a container's allocation until its task reads
   * @param bytesPerSecond of one task while it works
   * @param blockSpread what is independent from block to block
   * @param containerSpread what all blocks of a container share, and no other container's (skewed
   *     data, a noisy moment)
   * @param nodeSpread what all containers of a node share (slow nodes)
   */
  public Costs(
      double startSeconds,
      double bytesPerSecond,
      double blockSpread,
      double containerSpread,
      double nodeSpread) {
    this(startSeconds, bytesPerSecond, blockSpread, containerSpread, nodeSpread, 0);
  }

  private Costs(
      double startSeconds,
      double bytesPerSecond,
      double blockSpread,
      double containerSpread,
      double nodeSpread,
      double localityWaitSeconds) {
    this.startSeconds = atLeastZero("container start-up", startSeconds);
    this.bytesPerSecond = atLeastZero("bytes a second", bytesPerSecond);
    if (bytesPerSecond == 0) {
      throw new IllegalArgumentException("bytes a second must be above 0");
    }
    this.blockSpread = atLeastZero("spread by block", blockSpread);
    this.containerSpread = atLeastZero("spread by container", containerSpread);
    this.nodeSpread = atLeastZero("spread by node", nodeSpread);
    this.localityWaitSeconds = atLeastZero("wait for locality", localityWaitSeconds);
  }

  /**
   * These costs on a cluster whose scheduler lets a free slot pass for so many seconds before it
   * gives it to a container that asks for other hosts; the constructors say 0, as YARN's fair
   * scheduler does by default.
   */
  public Costs withLocalityWait(double seconds) {
    return new Costs(
        startSeconds, bytesPerSecond, blockSpread, containerSpread, nodeSpread, seconds);
  }

  private static double atLeastZero(String what, double value) {
    if (!(value >= 0) || Double.isInfinite(value)) {
      throw new IllegalArgumentException(
          "the " + what + " must be a number of at least 0, not " + value);
    }
    return value;
  }

  public double startSeconds() {
    return startSeconds;
  }

  public double bytesPerSecond() {
    return bytesPerSecond;
  }

  public double blockSpread() {
    return blockSpread;
  }

  public double containerSpread() {
    return containerSpread;
  }

  public double nodeSpread() {
    return nodeSpread;
  }

  /** How long the scheduler lets a slot pass that is not on a host a container asks for. */
  public double localityWaitSeconds() {
    return localityWaitSeconds;
  }
}
