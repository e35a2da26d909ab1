package io.braid.hadoop.plan;

import java.util.List;

/**
 * What one of the delegate's splits is to the planner: a length in bytes, the hosts that hold it,
 * and its kind. Immutable.
 */
public final class Block {
  private final long length;
  private final List<String> hosts;
  private final int kind;

  /** {@code hosts} may be empty (object stores); the same host twice counts once. */
  public Block(long length, List<String> hosts) {
    this(length, hosts, 0);
  }

  /** Blocks of different kinds are never in one group. */
  public Block(long length, List<String> hosts, int kind) {
    if (length < 0) {
      throw new IllegalArgumentException("a block's length can't be negative: " + length);
    }
    this.length = length;
    this.hosts = List.copyOf(hosts);
    this.kind = kind;
  }

  public long length() {
    return length;
  }

  public List<String> hosts() {
    return hosts;
  }

  /** Any number; blocks of the same number may be read by one container. */
  public int kind() {
    return kind;
  }
}
