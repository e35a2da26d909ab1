package io.braid.hadoop.plan;

import java.util.List;

/** The blocks that one container reads, in order, and where it had best run. */
public final class Group {
  private final int[] blocks;
  private final long length;
  private final long localLength;
  private final long leastLocalLength;
  private final List<String> hosts;

  Group(int[] blocks, long length, long localLength, long leastLocalLength, List<String> hosts) {
    this.blocks = blocks;
    this.length = length;
    this.localLength = localLength;
    this.leastLocalLength = leastLocalLength;
    this.hosts = List.copyOf(hosts);
  }

  /** How many blocks. */
  public int size() {
    return blocks.length;
  }

  /** The index, in the list that was planned, of the group's i-th block. */
  public int block(int i) {
    return blocks[i];
  }

  /** Bytes of all blocks. */
  public long length() {
    return length;
  }

  /** Bytes of those blocks that the first of {@link #hosts} holds; 0 when no hosts are known. */
  public long localLength() {
    return localLength;
  }

  /** Bytes of those blocks that the one of {@link #hosts} which holds least of them holds. */
  public long leastLocalLength() {
    return leastLocalLength;
  }

  /**
   * The preferred host first, then hosts that hold at least the local fraction of the bytes; at
   * most three; may be empty.
   */
  public List<String> hosts() {
    return hosts;
  }
}
