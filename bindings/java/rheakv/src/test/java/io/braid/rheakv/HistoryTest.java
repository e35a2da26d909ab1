package io.braid.rheakv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.rheakv.History.Kind;
import io.braid.rheakv.History.Operation;
import io.braid.testing.Folders;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** The checker of histories: what it must take, and what it must not. */
class HistoryTest {
  private static Operation put(long call, long returned, long value) {
    return new Operation(0, call, returned, Kind.PUT, 0, value, true);
  }

  private static Operation get(long call, long returned, long value) {
    return new Operation(0, call, returned, Kind.GET, 0, value, true);
  }

  private static Operation swap(long call, long returned, long from, long to, boolean done) {
    return new Operation(0, call, returned, Kind.SWAP, from, to, done);
  }

  private static boolean check(Operation... operations) {
    History history = new History();
    List.of(operations).forEach(history::add);
    return history.isLinearizable();
  }

  @Test
  void itTakesWhatCanBeAndNothingElse() {
    assertTrue(check(get(1, 2, 0), put(3, 4, 7), get(5, 6, 7)));
    assertTrue(!check(put(1, 2, 7), get(3, 4, 0))); // a lost put
    assertTrue(!check(put(1, 2, 7), put(3, 4, 8), get(5, 6, 7))); // a stale read
    assertTrue(check(put(1, 9, 7), get(2, 3, 0), get(4, 5, 7)));
    assertTrue(!check(put(1, 9, 7), get(2, 3, 7), get(4, 5, 0))); // seen, then not seen
    assertTrue(!check(get(1, 2, 5))); // nobody wrote it
    assertTrue(check(put(1, 2, 7), swap(3, 4, 7, 8, true), get(5, 6, 8)));
    assertTrue(!check(put(1, 2, 7), swap(3, 6, 7, 8, true), swap(4, 5, 7, 9, true)));
    assertTrue(!check(put(1, 2, 7), swap(3, 4, 7, 8, false)));
    assertTrue(check(put(1, 2, 7), swap(3, 4, 6, 8, false), get(5, 6, 7)));
  }

  @Test
  void whatNobodyKnowsMayHaveHappenedOrNot() {
    long unknown = History.UNKNOWN;
    assertTrue(check(put(1, unknown, 7), get(2, 3, 0), get(4, 5, 0)));
    assertTrue(check(put(1, unknown, 7), get(2, 3, 0), get(4, 5, 7)));
    assertTrue(!check(put(1, unknown, 7), get(2, 3, 7), get(4, 5, 0)));
    assertTrue(!check(get(2, 3, 7), put(4, unknown, 7))); // seen before it was asked for
    assertTrue(check(put(1, 2, 7), swap(3, unknown, 7, 8, true), get(4, 5, 8)));
    assertTrue(!check(put(1, 2, 6), swap(3, unknown, 7, 8, true), get(4, 5, 8)));
  }

  /** Histories of a register that is one, and the same with one answer changed. */
  @Test
  void randomHistories() {
    long seed = Folders.seed();
    Random random = new Random(seed);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
      List<Operation> operations = new ArrayList<>();
      long value = 0;
      for (int n = 0; n < 60; ++n) {
        long moment = 10L * n + 5;
        long call = moment - 1 - random.nextInt(40);
        long returned = moment + 1 + random.nextInt(40);
        if (random.nextBoolean()) {
          operations.add(get(call, returned, value));
        } else if (random.nextBoolean()) {
          value = n + 1;
          operations.add(put(call, returned, value));
        } else {
          long expected = random.nextBoolean() ? value : 1000;
          boolean done = expected == value;
          operations.add(swap(call, returned, expected, n + 1, done));
          value = done ? n + 1 : value;
        }
      }
      assertTrue(check(operations.toArray(new Operation[0])), "BRAID_SEED=" + seed);
      int which = random.nextInt(operations.size());
      Operation o = operations.get(which);
      operations.set(which, get(o.call(), o.returned(), 5000));
      refused += check(operations.toArray(new Operation[0])) ? 0 : 1;
    }
    assertEquals(300, refused, "BRAID_SEED=" + seed);
  }
}
