package io.braid.hadoop.plan;

/** A host of the cluster and how many map containers it can run at once. */
public final class Node {
  private final String host;
  private final int slots;

  public Node(String host, int slots) {
    if (slots < 0) {
      throw new IllegalArgumentException("node " + host + " can't have " + slots + " slots");
    }
    this.host = host;
    this.slots = slots;
  }

  public String host() {
    return host;
  }

  public int slots() {
    return slots;
  }
}
