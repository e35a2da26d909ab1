package io.braid;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class EventListenerTest extends TempPools {
  private static final class Heard implements BraidEventListener {
    final AtomicLong flushed = new AtomicLong();
    final AtomicInteger merges = new AtomicInteger();
    final AtomicInteger recoveries = new AtomicInteger();
    final AtomicInteger clean = new AtomicInteger();

    @Override
    public void onFlush(long entries, long nanos) {
      flushed.addAndGet(nanos > 0 ? entries : -1_000_000);
      throw new IllegalStateException("what a listener throws is dropped");
    }

    @Override
    public void onMerge(long tables, long entries, long nanos) {
      merges.addAndGet(tables > 0 && entries > 0 && nanos > 0 ? 1 : -1000);
    }

    @Override
    public void onRecovery(
        boolean clean, long replayedEntries, long micros, boolean mediaLossPossible) {
      recoveries.addAndGet(mediaLossPossible || micros < 0 || replayedEntries < 0 ? -1000 : 1);
      this.clean.addAndGet(clean ? 1 : 0);
    }
  }

  @Test
  void flushesMergesAndRecoveriesAreTold() throws Exception {
    Heard heard = new Heard();
    File pool = pool();
    BraidOptions options = small().listener(heard);
    try (BraidDB db = BraidFactory.factory.open(pool, options)) {
      for (int i = 0; i < 20_000; ++i) {
        db.put(bytes("key" + i), bytes("value" + i));
      }
      db.flush();
      db.compactRange(null, null);
    }
    assertEquals(20_000, heard.flushed.get());
    assertTrue(heard.merges.get() > 0, () -> heard.merges.toString());
    BraidFactory.factory.open(pool, options).close();
    assertTrue(heard.recoveries.get() > 0, () -> heard.recoveries.toString());
    assertTrue(heard.clean.get() > 0, () -> heard.clean.toString());
  }

  /** The calls of a listener with no methods of its own, and of none. */
  @Test
  void nobodyHasToListen() throws Exception {
    File pool = pool();
    for (BraidEventListener listener : new BraidEventListener[] {
        new BraidEventListener() {}, null}) {
      try (BraidDB db = BraidFactory.factory.open(pool, small().listener(listener))) {
        db.put(bytes("a"), bytes("1"));
        db.flush();
      }
    }
  }
}
