package io.braid.hadoop.plan;

import java.util.List;

/**
 * What one of the delegate's splits is to the planner: a length in bytes and the hosts that hold
 * it.
 */
public final class Block {
  private final long length;
  private final List<String> hosts;

  /** {@code hosts} may be empty (object stores); the same host twice counts once. */
  public Block(long length, List<String> hosts) {
    if (length < 0) {
      throw new IllegalArgumentException("a block's length can't be negative: " + length);
    }
    this.length = length;
    this.hosts = List.copyOf(hosts);
  }

  public long length() {
    return length;
  }

  public List<String> hosts() {
    return hosts;
  }
}
