package io.braid.hadoop.history;

/**
 * When a map task that succeeded ran, where, and what it read. Times in milliseconds. Immutable.
 */
public final class MapTime {
  private final String id;
  private final String host;
  private final long scheduled;
  private final long launched;
  private final long finished;
  private final long bytes;
  private final long blocks;
  private final int[] clockSplits;

  /**
   * @param scheduled when the task was there to be run
   * @param launched when a node had started its container
   * @param bytes read; 0 when the counters do not tell
   * @param blocks that the task read: the delegate's splits in a coalesced one
   * @param clockSplits milliseconds for each equal part of the progress; empty when not recorded
   */
  public MapTime(
      String id,
      String host,
      long scheduled,
      long launched,
      long finished,
      long bytes,
      long blocks,
      int[] clockSplits) {
    this.id = id;
    this.host = host;
    this.scheduled = scheduled;
    this.launched = launched;
    this.finished = finished;
    this.bytes = bytes;
    this.blocks = Math.max(1, blocks);
    this.clockSplits = clockSplits.clone();
  }

  public String id() {
    return id;
  }

  public String host() {
    return host;
  }

  public long scheduled() {
    return scheduled;
  }

  public long launched() {
    return launched;
  }

  public long finished() {
    return finished;
  }

  public long bytes() {
    return bytes;
  }

  public long blocks() {
    return blocks;
  }

  /** Seconds from the launch of the container to the task's end. */
  public double seconds() {
    return (finished - launched) / 1e3;
  }

  /**
   * Seconds before the work began, from how the time is spread over the progress: the first part of
   * it has the start-up on top of what the others have. Below 0 when that is not recorded.
   */
  double startByProgress() {
    if (clockSplits.length < 3) {
      return -1;
    }
    double rest = 0;
    for (int i = 1; i < clockSplits.length; ++i) {
      rest += clockSplits[i];
    }
    return Math.max(0, clockSplits[0] - rest / (clockSplits.length - 1)) / 1e3;
  }
}
