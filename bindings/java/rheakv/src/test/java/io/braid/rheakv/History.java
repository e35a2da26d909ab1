package io.braid.rheakv;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What clients asked of one key and were told, and whether one order of the operations explains it:
 * each at some moment between its call and its return. Values are numbers, 0: there is no such key.
 */
final class History {
  enum Kind { PUT, DELETE, GET, SWAP }

  /** The return of an operation of which no client knows whether it happened. */
  static final long UNKNOWN = Long.MAX_VALUE;

  /**
   * @param expected what a swap expected
   * @param value what was written, or read
   * @param done whether a swap swapped
   */
  record Operation(int client, long call, long returned, Kind kind, long expected, long value,
      boolean done) {
    boolean isUnknown() {
      return returned == UNKNOWN;
    }

    /** The value after it, or -1 when it can't be where the value is `before`. */
    long step(long before) {
      switch (kind) {
        case PUT:
        case DELETE:
          return value;
        case GET:
          return before == value ? before : -1;
        default:
          if (isUnknown()) {
            return before == expected ? value : before;
          }
          return done == (before == expected) ? done ? value : before : -1;
      }
    }
  }

  private final List<Operation> operations = new ArrayList<>();

  synchronized void add(Operation operation) {
    operations.add(operation);
  }

  synchronized List<Operation> operations() {
    return new ArrayList<>(operations);
  }

  /** A call or a return, in a list in the order of time. */
  private static final class Event {
    final int operation;
    final Event match; // of a call, its return; null: unknown, or this is a return
    final boolean isCall;
    Event previous;
    Event next;

    Event(int operation, Event match, boolean isCall) {
      this.operation = operation;
      this.match = match;
      this.isCall = isCall;
    }

    void remove() {
      previous.next = next;
      if (next != null) {
        next.previous = previous;
      }
    }

    void restore() {
      previous.next = this;
      if (next != null) {
        next.previous = this;
      }
    }
  }

  private record Moment(long time, Event event) {}

  private static Event list(List<Operation> all) {
    List<Moment> moments = new ArrayList<>();
    for (int i = 0; i < all.size(); ++i) {
      Event returned = all.get(i).isUnknown() ? null : new Event(i, null, false);
      moments.add(new Moment(all.get(i).call(), new Event(i, returned, true)));
      if (returned != null) {
        moments.add(new Moment(all.get(i).returned(), returned));
      }
    }
    // Of one moment the calls first: operations that may overlap do.
    moments.sort(Comparator.comparingLong(Moment::time).thenComparing(m -> !m.event().isCall));
    Event head = new Event(-1, null, false);
    Event last = head;
    for (Moment moment : moments) {
      moment.event().previous = last;
      last.next = moment.event();
      last = moment.event();
    }
    return head;
  }

  private record Seen(BitSet taken, long value) {}

  private record Taken(Event call, long before) {}

  /** The search of Wing and Gong, with Lowe's memory of where it has been. */
  boolean isLinearizable() {
    List<Operation> all = operations();
    Event head = list(all);
    long left = all.stream().filter(operation -> !operation.isUnknown()).count();
    Set<Seen> seen = new HashSet<>();
    List<Taken> stack = new ArrayList<>();
    BitSet taken = new BitSet();
    long value = 0;
    Event at = head.next;
    while (left > 0) {
      if (at != null && at.isCall) {
        Operation operation = all.get(at.operation);
        long after = operation.step(value);
        taken.set(at.operation);
        if (after >= 0 && seen.add(new Seen((BitSet) taken.clone(), after))) {
          stack.add(new Taken(at, value));
          value = after;
          left -= operation.isUnknown() ? 0 : 1;
          at.remove();
          if (at.match != null) {
            at.match.remove();
          }
          at = head.next;
        } else {
          taken.clear(at.operation);
          at = at.next;
        }
        continue;
      }
      if (stack.isEmpty()) {
        return false;
      }
      Taken last = stack.remove(stack.size() - 1);
      value = last.before();
      taken.clear(last.call().operation);
      left += all.get(last.call().operation).isUnknown() ? 0 : 1;
      if (last.call().match != null) {
        last.call().match.restore();
      }
      last.call().restore();
      at = last.call().next;
    }
    return true;
  }

  /** As a line for tests/porcupine; times begin at 1, and a look at the key comes last. */
  String toJson(long last) {
    List<Operation> all = operations();
    all.sort(Comparator.comparingLong(Operation::call));
    long begin = all.get(0).call() - 1;
    long end = 0;
    StringBuilder text = new StringBuilder("{\"keys\":1,\"initial\":[0],\"operations\":[");
    for (Operation o : all) {
      long returned = o.isUnknown() ? o.call() : o.returned();
      end = Math.max(end, returned + 1);
      text.append("{\"client\":").append(o.client()).append(",\"call\":").append(o.call() - begin)
          .append(",\"return\":").append(Math.max(returned, o.call() + 1) - begin)
          .append(o.isUnknown() ? ",\"unknown\":true" : "").append(shape(o)).append("},");
    }
    return text.append("{\"client\":99,\"call\":").append(end + 1 - begin).append(",\"return\":")
        .append(end + 2 - begin).append(",\"kind\":\"scan\",\"reads\":[[0,").append(last)
        .append("]]}]}").toString();
  }

  private static String shape(Operation o) {
    String kind = switch (o.kind()) {
      case PUT -> "put";
      case DELETE -> "delete";
      case GET -> "get";
      default -> "compare_and_swap";
    };
    String reads = ",\"reads\":[[0," + (o.kind() == Kind.GET ? o.value() : o.expected()) + "]]";
    String writes = ",\"writes\":[[0," + o.value() + "]]";
    String rest = switch (o.kind()) {
      case PUT, DELETE -> writes;
      case GET -> reads;
      default -> o.done() || o.isUnknown() ? reads + writes
          : ",\"differs\":[[0," + o.expected() + "]]";
    };
    return ",\"kind\":\"" + kind + "\"" + rest;
  }
}
