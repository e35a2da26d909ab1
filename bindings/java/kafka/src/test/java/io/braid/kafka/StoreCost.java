package io.braid.kafka;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.KeyValueIterator;

/**
 * What calls of the stores cost: `java -cp ... io.braid.kafka.StoreCost [keys]`. Windows of a second
 * for so many keys each, ten of them in one segment, with an index by time and without: a put, and
 * what it takes to find the entries of one window. Then a restore of ten records a key.
 */
final class StoreCost extends StoreCase {
  private static final int WINDOWS = 10;
  private static final int BATCH = 1000; // records of one poll, as Kafka's consumer has them

  private StoreCost() {}

  private static Bytes key(long i) {
    return Bytes.wrap(ByteBuffer.allocate(16).putLong(i * 0x9E3779B97F4A7C15L).putLong(i).array());
  }

  private static TestContext context(File states) {
    return new TestContext(states, new TaskId(0, 0), false)
        .with(BraidConfig.MEMORY_BUDGET, "256M").with(BraidConfig.SET + "memtable.bytes", "16M");
  }

  private static double seconds(long begin) {
    return (System.nanoTime() - begin) / 1e9;
  }

  private void windows(int keys, Timeline.Order order) throws IOException {
    BraidWindowStore store = new BraidWindowStore(new BraidWindowStore.Shape(
        "windows", 600_000, 300_000, 1000, false, order));
    store.init(context(folder()), store);
    byte[] value = new byte[16];
    long begin = System.nanoTime();
    for (int window = 0; window < WINDOWS; ++window) {
      for (int i = 0; i < keys; ++i) {
        store.put(key(i), value, window * 1000L);
      }
    }
    double put = seconds(begin) / keys / WINDOWS;
    // A few late keys in the last window: what a window that closes is when most keys are quiet.
    for (int i = 0; i < 100; ++i) {
      store.put(key(i), value, WINDOWS * 1000L);
    }
    for (long time : new long[] {5000, WINDOWS * 1000L}) {
      double best = Double.MAX_VALUE;
      int found = 0;
      for (int round = 0; round < 5; ++round) {
        begin = System.nanoTime();
        found = 0;
        try (KeyValueIterator<Windowed<Bytes>, byte[]> all = store.fetchAll(time, time)) {
          for (; all.hasNext(); all.next()) {
            ++found;
          }
        }
        best = Math.min(best, seconds(begin));
      }
      System.out.printf(Locale.ROOT, "%-12s put %5.0f ns, window of %7d among %9d: %8.3f ms%n", order,
          put * 1e9, found, WINDOWS * keys + 100, best * 1e3);
    }
    store.close();
    removeFolders();
  }

  private void restore(int records) throws IOException {
    TestContext context = context(folder());
    BraidKeyValueStore store = new BraidKeyValueStore("restored");
    store.init(context, store);
    byte[] value = new byte[100];
    long begin = System.nanoTime();
    for (int from = 0; from < records; from += BATCH) {
      List<ConsumerRecord<byte[], byte[]>> batch = new ArrayList<>();
      for (int i = from; i < Math.min(records, from + BATCH); ++i) {
        batch.add(TestContext.changed(i, key(i).get(), value));
      }
      context.restore(batch);
    }
    double took = seconds(begin);
    System.out.printf(Locale.ROOT, "restore of %d records of 116 bytes, %d a batch: %.2f s%n", records,
        BATCH, took);
    store.close();
    removeFolders();
  }

  public static void main(String[] arguments) throws IOException {
    int keys = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 100_000;
    StoreCost cost = new StoreCost();
    for (Timeline.Order order : Timeline.Order.values()) {
      cost.windows(keys, order);
    }
    for (int round = 0; round < 3; ++round) {
      cost.restore(10 * keys);
    }
  }
}
