package io.braid;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What it costs to load records in no order of their keys, as a restore does: `java -cp ...
 * io.braid.LoadCost [records [bytes of a value]]`. By batches of 1,000, by an ingest of all, and by
 * ingests of some MiB each; and what a get costs right after it and after a compaction.
 */
final class LoadCost extends TempPools {
  private final int count;
  private final int valueBytes;

  private LoadCost(int count, int valueBytes) {
    this.count = count;
    this.valueBytes = valueBytes;
  }

  private static byte[] key(long i) {
    return ByteBuffer.allocate(16).putLong(i * 0x9E3779B97F4A7C15L).putLong(i).array();
  }

  private Iterator<Map.Entry<byte[], byte[]>> records(int from, int to) {
    byte[] value = new byte[valueBytes];
    return new Iterator<>() {
      private int next = from;

      @Override
      public boolean hasNext() {
        return next < to;
      }

      @Override
      public Map.Entry<byte[], byte[]> next() {
        return Map.entry(key(next++), value);
      }
    };
  }

  private void batches(BraidDB db) {
    for (int from = 0; from < count; from += 1000) {
      try (BraidWriteBatch batch = db.createWriteBatch()) {
        records(from, Math.min(count, from + 1000)).forEachRemaining(
            record -> batch.put(record.getKey(), record.getValue()));
        db.write(batch);
      }
    }
  }

  private void ingests(BraidDB db, int each) {
    for (int from = 0; from < count; from += each) {
      List<Map.Entry<byte[], byte[]>> run = new ArrayList<>();
      records(from, Math.min(count, from + each)).forEachRemaining(run::add);
      run.sort(Map.Entry.comparingByKey(java.util.Arrays::compareUnsigned));
      db.ingest(run.iterator(), true);
    }
  }

  private double gets(BraidDB db) {
    long begin = System.nanoTime();
    int gets = Math.min(count, 100_000);
    for (int i = 0; i < gets; ++i) {
      if (db.get(key((long) i * 7919 % count)) == null) {
        throw new IllegalStateException("a record is missing");
      }
    }
    return (System.nanoTime() - begin) / (double) gets;
  }

  private interface Load {
    void into(BraidDB db);
  }

  private void measure(String what, Load load) throws IOException {
    for (int round = 0; round < 3; ++round) {
      BraidOptions options = new BraidOptions().set("memory_budget_bytes", "256M");
      try (BraidDB db = BraidFactory.factory.open(pool(), options)) {
        long begin = System.nanoTime();
        load.into(db);
        double loaded = (System.nanoTime() - begin) / 1e9;
        double get = gets(db);
        db.compactRange(null, null);
        double whole = (System.nanoTime() - begin) / 1e9;
        System.out.printf(Locale.ROOT,
            "%-24s %6.2f s, gets then %5.0f ns, compacted after %6.2f s, gets then %5.0f ns%n", what,
            loaded, get, whole, gets(db));
      } finally {
        removeFolders();
      }
    }
  }

  public static void main(String[] arguments) throws IOException {
    int count = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1_000_000;
    int bytes = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 100;
    LoadCost cost = new LoadCost(count, bytes);
    cost.measure("batches of 1,000", cost::batches);
    cost.measure("one ingest, unsorted", db -> db.ingest(cost.records(0, count), false));
    int ofMegabytes = (int) (1_048_576L / (16 + bytes));
    for (int megabytes : new int[] {1, 8, 32}) {
      cost.measure("sorted, " + megabytes + " MiB each",
          db -> cost.ingests(db, megabytes * ofMegabytes));
    }
  }
}
