package io.braid.kafka;

import io.braid.BraidDB;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.metrics.Gauge;
import org.apache.kafka.common.metrics.Metrics;
import org.iq80.leveldb.DBException;

/**
 * What a pool counts, among the metrics of the Kafka Streams instance whose store opened it, until
 * the pool is closed. The store is asked once a second at most, however many are read. Any thread.
 */
final class PoolMetrics implements AutoCloseable {
  static final String GROUP = "stream-braid-pool-metrics";
  private static final long FRESH_NANOS = 1_000_000_000L;
  private static final Pattern FIELD = Pattern.compile("\"(\\w+)\": ?(\\d+)");

  /** Fields of the pool's statistics, whether they only grow, and what they say. */
  private enum Field {
    POOL_BYTES(false, "Bytes of the pool's files"),
    POOL_USED_BYTES(false, "Bytes of the pool that are in use"),
    MEMORY_BYTES(false, "Bytes of memory outside the heap that memtables and indexes take"),
    MEMORY_BUDGET_BYTES(false, "Bytes of memory that they may take"),
    SHARED_MEMORY_BYTES(false, "Bytes of memory that all pools of the group take; 0: no group"),
    SHARED_BUDGET_BYTES(false, "Bytes of memory that they may take together; 0: no group"),
    SHARED_DATABASES(false, "Pools of the group that are open; 0: no group"),
    L0_TABLES(false, "Tables that wait for their merge"),
    LOG_BYTES(false, "Bytes of the logs"),
    STALLED_WRITERS(false, "Threads that wait for the background at the moment"),
    PUTS(true, "Records that were put, one by one"),
    DELETES(true, "Records that were deleted, one by one"),
    BATCHES(true, "Batches that were written, one a commit"),
    BYTES_PUT(true, "Bytes of keys and values that were put"),
    GETS(true, "Records that were looked up"),
    FLUSHES(true, "Memtables that became tables"),
    MERGES(true, "Tables that were merged"),
    STALLS(true, "Times that a write waited for the background"),
    STALL_MICROS(true, "Microseconds that writes waited for the background");

    final String key = name().toLowerCase(Locale.ROOT);
    final String metric;
    final String description;

    Field(boolean grows, String description) {
      this.metric = key.replace('_', '-') + (grows ? "-total" : "");
      this.description = description;
    }
  }

  private final BraidDB db;
  private final Metrics registry;
  private final List<MetricName> names = new ArrayList<>();
  private Map<String, Long> values = Map.of();
  private long asked;
  private boolean closed;

  /** `registry` null: there is none. */
  PoolMetrics(BraidDB db, String pool, Metrics registry) {
    this.db = db;
    this.registry = registry;
    if (registry == null) {
      return;
    }
    for (Field field : Field.values()) {
      MetricName name =
          registry.metricName(field.metric, GROUP, field.description, Map.of("pool", pool));
      registry.addMetric(name, (Gauge<Long>) (config, now) -> value(field.key));
      names.add(name);
    }
  }

  private synchronized long value(String key) {
    long now = System.nanoTime();
    if (!closed && (values.isEmpty() || now - asked > FRESH_NANOS)) {
      asked = now;
      try {
        Map<String, Long> found = new HashMap<>();
        Matcher fields = FIELD.matcher(db.statistics());
        while (fields.find()) {
          found.putIfAbsent(fields.group(1), Long.parseUnsignedLong(fields.group(2)));
        }
        values = found;
      } catch (DBException e) {
        // The numbers of before stay: a metric has nobody to tell.
      }
    }
    return values.getOrDefault(key, 0L);
  }

  /** Before the pool is closed. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
    }
    for (MetricName name : names) {
      registry.removeMetric(name);
    }
  }
}
