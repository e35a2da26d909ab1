package io.braid.hadoop.sim;

import java.util.Arrays;

/**
 * A disk, a network port or a node's cores: a capacity that is shared evenly between all that use
 * it (processor sharing), by weight, and of which a unit of weight may get no more than a limit (a
 * thread can't use two cores).
 *
 * <p>Instead of shortening all remaining demands whenever time passes, it keeps a virtual clock
 * that runs at the rate a unit of weight is served with. A demand is done when the clock reaches a
 * value that is known on its arrival, so arrival and departure cost a heap operation each. Confined
 * to one thread.
 */
final class SharedResource {
  static final double UNLIMITED = Double.POSITIVE_INFINITY;

  private final double capacity;
  private final double limit;

  private double clock;
  private double updated;
  private double weight;
  private double served;
  private int peak;

  // A binary heap by (finish, order) in parallel arrays.
  private int size;
  private double[] finish = new double[4];
  private long[] order = new long[4];
  private double[] weights = new double[4];
  private Activity[] activities = new Activity[4];

  // Its place in the engine's queue, and when its next demand is done if none comes or goes.
  final int id;
  int place = -1;
  double next = Double.POSITIVE_INFINITY;

  /**
   * @param capacity what it serves in a second
   * @param limit what it serves in a second to a demand of weight 1 at most
   */
  SharedResource(int id, double capacity, double limit) {
    if (!(capacity > 0) || !(limit > 0)) {
      throw new IllegalArgumentException("a resource's capacity must be positive: " + capacity);
    }
    this.id = id;
    this.capacity = capacity;
    this.limit = limit;
  }

  /** Adds a demand; {@code sequence} orders demands that are done at the same moment. */
  void add(double now, double amount, double demandWeight, long sequence, Activity activity) {
    advance(now);
    if (size == finish.length) {
      grow();
    }
    weight += demandWeight;
    int at = size++;
    peak = Math.max(peak, size);
    siftUp(at, clock + amount / demandWeight, sequence, demandWeight, activity);
    schedule();
  }

  /** Takes out the demand that is done at {@link #next}, which is now. */
  Activity finishFirst(double now) {
    advance(now);
    Activity first = activities[0];
    clock = Math.max(clock, finish[0]);
    weight -= weights[0];
    --size;
    if (size == 0) {
      clock = 0; // no demand depends on it: starting anew keeps it exact
      weight = 0;
    } else {
      siftDown(finish[size], order[size], weights[size], activities[size]);
    }
    activities[size] = null;
    schedule();
    return first;
  }

  /** What it has served until now. */
  double served(double now) {
    return served + (size == 0 ? 0 : (now - updated) * rate() * weight);
  }

  /** The most demands it has had at once. */
  int peak() {
    return peak;
  }

  private double rate() {
    return Math.min(limit, capacity / weight);
  }

  private void advance(double now) {
    if (size > 0) {
      double step = (now - updated) * rate();
      clock += step;
      served += step * weight;
    }
    updated = now;
  }

  private void schedule() {
    next = size == 0 ? Double.POSITIVE_INFINITY : updated + Math.max(0, finish[0] - clock) / rate();
  }

  private void grow() {
    int length = 2 * finish.length;
    finish = Arrays.copyOf(finish, length);
    order = Arrays.copyOf(order, length);
    weights = Arrays.copyOf(weights, length);
    activities = Arrays.copyOf(activities, length);
  }

  private boolean before(double end, long sequence, int other) {
    return end < finish[other] || (end == finish[other] && sequence < order[other]);
  }

  private void siftUp(int start, double end, long sequence, double w, Activity activity) {
    int at = start;
    while (at > 0 && before(end, sequence, (at - 1) / 2)) {
      move((at - 1) / 2, at);
      at = (at - 1) / 2;
    }
    put(at, end, sequence, w, activity);
  }

  private void siftDown(double end, long sequence, double w, Activity activity) {
    int at = 0;
    while (true) {
      int child = 2 * at + 1;
      if (child >= size) {
        break;
      }
      if (child + 1 < size && before(finish[child + 1], order[child + 1], child)) {
        ++child;
      }
      if (before(end, sequence, child)) {
        break;
      }
      move(child, at);
      at = child;
    }
    put(at, end, sequence, w, activity);
  }

  private void move(int from, int to) {
    put(to, finish[from], order[from], weights[from], activities[from]);
  }

  private void put(int at, double end, long sequence, double w, Activity activity) {
    finish[at] = end;
    order[at] = sequence;
    weights[at] = w;
    activities[at] = activity;
  }
}
