package io.braid.hadoop.plan;

/** What is known of a job's times, measured (job history) or assumed; seconds and bytes a second. */
public final class Costs {
  /** The figures of chapter III's cluster: 6.58 s to start a container, Grep at 3.85 s a block of 128 MiB. */
  public static final Costs ASSUMED = new Costs(6.58, 128 * 1048576 / 3.85, 0.1, 0.0);

  private final double startSeconds;
  private final double bytesPerSecond;
  private final double blockSpread;
  private final double containerSpread;

  /**
   * @param startSeconds from a container's allocation until its task reads
   * @param bytesPerSecond of one task while it works
   * @param blockSpread coefficient of variation of the time a byte that is independent from block to block
   * @param containerSpread coefficient of variation that all blocks of a container share (slow nodes, skewed data)
   */
  public Costs(double startSeconds, double bytesPerSecond, double blockSpread, double containerSpread) {
    this.startSeconds = startSeconds;
    this.bytesPerSecond = bytesPerSecond;
    this.blockSpread = blockSpread;
    this.containerSpread = containerSpread;
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
}
