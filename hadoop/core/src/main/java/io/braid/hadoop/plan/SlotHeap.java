package io.braid.hadoop.plan;

/**
 * Slots with their nodes, the one that is free first on top. All are free at 0 at first. For one
 * thread.
 */
final class SlotHeap {
  private final double[] until;
  private final int[] node;
  private int size;

  /** Room for so many slots. */
  SlotHeap(int most) {
    until = new double[most];
    node = new int[most];
  }

  /** Another slot, free at 0; before any is occupied. */
  void add(int ofNode) {
    node[size++] = ofNode;
  }

  boolean isEmpty() {
    return size == 0;
  }

  boolean isFull() {
    return size == node.length;
  }

  /** When the first slot is free. */
  double time() {
    return until[0];
  }

  /** The first slot's node. */
  int node() {
    return node[0];
  }

  /** The first slot is free again at that time, no earlier than it was. */
  void occupyFirst(double time) {
    sink(time, node[0]);
  }

  void removeFirst() {
    --size;
    sink(until[size], node[size]);
  }

  /** A slot that was removed is free at that time. */
  void insert(double time, int ofNode) {
    int at = size++;
    for (int parent = (at - 1) / 2; at > 0 && until[parent] > time; parent = (at - 1) / 2) {
      until[at] = until[parent];
      node[at] = node[parent];
      at = parent;
    }
    until[at] = time;
    node[at] = ofNode;
  }

  private void sink(double time, int ofNode) {
    int at = 0;
    for (int child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && until[child + 1] < until[child]) {
        ++child;
      }
      if (until[child] >= time) {
        break;
      }
      until[at] = until[child];
      node[at] = node[child];
      at = child;
    }
    until[at] = time;
    node[at] = ofNode;
  }
}
