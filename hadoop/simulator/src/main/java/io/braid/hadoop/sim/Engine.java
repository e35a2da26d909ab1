package io.braid.hadoop.sim;

import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/**
 * The clock of a discrete-event simulation: timers, and resources that are shared. Events of the
 * same moment happen in an order that depends on nothing but the program, so a run can be repeated
 * exactly. Confined to one thread.
 */
final class Engine {
  private static final class Timer implements Comparable<Timer> {
    final double time;
    final long sequence;
    final Runnable action;

    Timer(double time, long sequence, Runnable action) {
      this.time = time;
      this.sequence = sequence;
      this.action = action;
    }

    @Override
    public int compareTo(Timer other) {
      int byTime = Double.compare(time, other.time);
      return byTime != 0 ? byTime : Long.compare(sequence, other.sequence);
    }
  }

  private final PriorityQueue<Timer> timers = new PriorityQueue<>();
  private final List<SharedResource> resources = new ArrayList<>();
  private SharedResource[] queue = new SharedResource[64]; // a heap by (next, id) of those in use
  private int queued;
  private double now;
  private long sequence;
  private long events;

  double now() {
    return now;
  }

  /** How many events there were. */
  long events() {
    return events;
  }

  SharedResource resource(double capacity, double limit) {
    SharedResource resource = new SharedResource(resources.size(), capacity, limit);
    resources.add(resource);
    return resource;
  }

  /** Does something after a while. */
  void after(double seconds, Runnable action) {
    timers.add(new Timer(now + seconds, sequence++, action));
  }

  /** Lets a resource serve an activity; nothing happens for an amount of 0. */
  void serve(SharedResource resource, double amount, double weight, Activity activity) {
    if (amount <= 0) {
      return;
    }
    ++activity.outstanding;
    resource.add(now, amount, weight, sequence++, activity);
    reorder(resource);
  }

  /** To be called when all demands of an activity are in: one that has none is done at once. */
  void begin(Activity activity) {
    if (activity.outstanding == 0) {
      after(0, activity::done);
    }
  }

  /** Runs until nothing is left to happen. */
  void run() {
    while (true) {
      Timer timer = timers.peek();
      double shared = queued == 0 ? Double.POSITIVE_INFINITY : queue[0].next;
      if (timer == null && queued == 0) {
        return;
      }
      ++events;
      if (timer != null && timer.time <= shared) {
        timers.poll();
        now = timer.time;
        timer.action.run();
      } else {
        now = shared;
        SharedResource resource = queue[0];
        Activity activity = resource.finishFirst(now);
        reorder(resource);
        if (--activity.outstanding == 0) {
          activity.done();
        }
      }
    }
  }

  private void reorder(SharedResource resource) {
    if (resource.place < 0) {
      if (queued == queue.length) {
        queue = java.util.Arrays.copyOf(queue, 2 * queued);
      }
      resource.place = queued;
      queue[queued++] = resource;
    }
    if (resource.next == Double.POSITIVE_INFINITY) {
      remove(resource);
    } else if (!up(resource)) {
      down(resource);
    }
  }

  private void remove(SharedResource resource) {
    int at = resource.place;
    SharedResource last = queue[--queued];
    queue[queued] = null;
    resource.place = -1;
    if (last != resource) {
      queue[at] = last;
      last.place = at;
      if (!up(last)) {
        down(last);
      }
    }
  }

  private static boolean before(SharedResource a, SharedResource b) {
    return a.next < b.next || (a.next == b.next && a.id < b.id);
  }

  private boolean up(SharedResource resource) {
    int start = resource.place;
    int at = start;
    while (at > 0 && before(resource, queue[(at - 1) / 2])) {
      set(at, queue[(at - 1) / 2]);
      at = (at - 1) / 2;
    }
    set(at, resource);
    return at != start;
  }

  private void down(SharedResource resource) {
    int at = resource.place;
    while (true) {
      int child = 2 * at + 1;
      if (child >= queued) {
        break;
      }
      if (child + 1 < queued && before(queue[child + 1], queue[child])) {
        ++child;
      }
      if (!before(queue[child], resource)) {
        break;
      }
      set(at, queue[child]);
      at = child;
    }
    set(at, resource);
  }

  private void set(int at, SharedResource resource) {
    queue[at] = resource;
    resource.place = at;
  }
}
