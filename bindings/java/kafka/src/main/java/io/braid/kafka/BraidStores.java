package io.braid.kafka;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowBytesStoreSupplier;
import org.apache.kafka.streams.state.WindowStore;

/**
 * Suppliers of stores that keep their data in braid, for the builders of
 * {@link org.apache.kafka.streams.state.Stores} and for Materialized.as: where an application says
 * {@code Stores.persistentKeyValueStore("counts")}, it says
 * {@code BraidStores.keyValueStore("counts")}. All stores of a KafkaStreams instance share one pool
 * ({@link BraidConfig}).
 */
public final class BraidStores {
  /** The part of the metrics' tags that names the kind of store: braid-state-id. */
  static final String METRICS_SCOPE = "braid";

  private static final long SHORTEST_SEGMENT = 60_000;

  private BraidStores() {}

  /** For a plain key-value store: Stores.keyValueStoreBuilder. */
  public static KeyValueBytesStoreSupplier keyValueStore(String name) {
    Objects.requireNonNull(name, "name cannot be null");
    return new KeyValue(name, () -> new BraidKeyValueStore(name));
  }

  /** For a store of values with timestamps: Stores.timestampedKeyValueStoreBuilder, and KTables. */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStore(String name) {
    Objects.requireNonNull(name, "name cannot be null");
    return new KeyValue(name, () -> new BraidKeyValueStore.Timestamped(name));
  }

  /** For a store of values with timestamps and headers. */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStoreWithHeaders(String name) {
    Objects.requireNonNull(name, "name cannot be null");
    return new KeyValueWithHeaders(new KeyValue(name, () -> new BraidKeyValueStore.WithHeaders(name)));
  }

  /**
   * For a store that keeps the versions of a value: Stores.versionedKeyValueStoreBuilder. Versions
   * can be read and written for the time of {@code historyRetention} back from the highest time seen.
   */
  public static VersionedBytesStoreSupplier versionedKeyValueStore(
      String name, Duration historyRetention) {
    Objects.requireNonNull(name, "name cannot be null");
    long retention = millis("historyRetention", historyRetention);
    return versioned(name, retention, versionedInterval(retention));
  }

  static VersionedBytesStoreSupplier versioned(String name, long retention, long interval) {
    return new Versioned(name, retention, interval);
  }

  /** For a plain window store: Stores.windowStoreBuilder. */
  public static WindowBytesStoreSupplier windowStore(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return window(name, retentionPeriod, windowSize, retainDuplicates, BraidWindowStore::new);
  }

  /** For a window store of values with timestamps: Stores.timestampedWindowStoreBuilder. */
  public static WindowBytesStoreSupplier timestampedWindowStore(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return window(name, retentionPeriod, windowSize, retainDuplicates,
        BraidWindowStore.Timestamped::new);
  }

  /** For a window store of values with timestamps and headers. */
  public static WindowBytesStoreSupplier timestampedWindowStoreWithHeaders(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return new WindowsWithHeaders(window(name, retentionPeriod, windowSize, retainDuplicates,
        BraidWindowStore.WithHeaders::new));
  }

  private interface WindowsMaker {
    WindowStore<Bytes, byte[]> make(String name, long retention, long segmentInterval,
        long windowSize, boolean retainDuplicates);
  }

  private static Windows window(String name, Duration retentionPeriod,
      Duration windowSize, boolean retainDuplicates, WindowsMaker maker) {
    Objects.requireNonNull(name, "name cannot be null");
    long retention = millis("retentionPeriod", retentionPeriod);
    long size = millis("windowSize", windowSize);
    if (size > retention) {
      throw new IllegalArgumentException("The retention period of the window store " + name
          + " must be no smaller than its window size. Got size=[" + size + "], retention=["
          + retention + "]");
    }
    return new Windows(name, retention, Math.max(retention / 2, SHORTEST_SEGMENT), size,
        retainDuplicates, maker);
  }

  /** For a session store: Stores.sessionStoreBuilder. */
  public static SessionBytesStoreSupplier sessionStore(String name, Duration retentionPeriod) {
    return sessions(name, retentionPeriod, BraidSessionStore::new);
  }

  /** For a session store of values with headers. */
  public static SessionBytesStoreSupplier sessionStoreWithHeaders(
      String name, Duration retentionPeriod) {
    return new SessionsWithHeaders(
        sessions(name, retentionPeriod, BraidSessionStore.WithHeaders::new));
  }

  private interface SessionsMaker {
    SessionStore<Bytes, byte[]> make(String name, long retention, long segmentInterval);
  }

  private static Sessions sessions(String name, Duration retentionPeriod, SessionsMaker maker) {
    Objects.requireNonNull(name, "name cannot be null");
    long retention = millis("retentionPeriod", retentionPeriod);
    return new Sessions(name, retention, Math.max(retention / 2, SHORTEST_SEGMENT), maker);
  }

  private static long millis(String what, Duration duration) {
    Objects.requireNonNull(duration, what + " cannot be null");
    long millis;
    try {
      millis = duration.toMillis();
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(what + " of " + duration + " is too long", e);
    }
    if (millis < 0) {
      throw new IllegalArgumentException(what + " cannot be negative");
    }
    return millis;
  }

  /** As Kafka Streams' own versioned store chooses it: few segments, none very short. */
  private static long versionedInterval(long retention) {
    if (retention <= 60_000) {
      return Math.max(retention / 3, 2_000);
    }
    if (retention <= 300_000) {
      return Math.max(retention / 5, 20_000);
    }
    return retention <= 3_600_000 ? Math.max(retention / 12, 60_000)
        : Math.max(retention / 24, 300_000);
  }

  private record KeyValue(String name, Supplier<KeyValueStore<Bytes, byte[]>> maker)
      implements KeyValueBytesStoreSupplier {
    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return maker.get();
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }
  }

  private record Versioned(String name, long historyRetentionMs, long interval)
      implements VersionedBytesStoreSupplier {
    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return Internals.asBytesStore(new BraidVersionedStore(name, historyRetentionMs, interval));
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }
  }

  private record Windows(String name, long retentionPeriod, long segmentIntervalMs,
      long windowSize, boolean retainDuplicates, WindowsMaker maker)
      implements WindowBytesStoreSupplier {
    @Override
    public WindowStore<Bytes, byte[]> get() {
      return maker.make(name, retentionPeriod, segmentIntervalMs, windowSize, retainDuplicates);
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }
  }

  private record Sessions(
      String name, long retentionPeriod, long segmentIntervalMs, SessionsMaker maker)
      implements SessionBytesStoreSupplier {
    @Override
    public SessionStore<Bytes, byte[]> get() {
      return maker.make(name, retentionPeriod, segmentIntervalMs);
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }
  }

  // Kafka Streams learns by an interface of a supplier that its stores keep headers.

  private record KeyValueWithHeaders(KeyValue plain)
      implements KeyValueBytesStoreSupplier, HeadersBytesStoreSupplier {
    @Override
    public String name() {
      return plain.name();
    }

    @Override
    public KeyValueStore<Bytes, byte[]> get() {
      return plain.get();
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }
  }

  private record WindowsWithHeaders(Windows plain)
      implements WindowBytesStoreSupplier, HeadersBytesStoreSupplier {
    @Override
    public String name() {
      return plain.name();
    }

    @Override
    public WindowStore<Bytes, byte[]> get() {
      return plain.get();
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }

    @Override
    public long segmentIntervalMs() {
      return plain.segmentIntervalMs();
    }

    @Override
    public long windowSize() {
      return plain.windowSize();
    }

    @Override
    public boolean retainDuplicates() {
      return plain.retainDuplicates();
    }

    @Override
    public long retentionPeriod() {
      return plain.retentionPeriod();
    }
  }

  private record SessionsWithHeaders(Sessions plain)
      implements SessionBytesStoreSupplier, HeadersBytesStoreSupplier {
    @Override
    public String name() {
      return plain.name();
    }

    @Override
    public SessionStore<Bytes, byte[]> get() {
      return plain.get();
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }

    @Override
    public long segmentIntervalMs() {
      return plain.segmentIntervalMs();
    }

    @Override
    public long retentionPeriod() {
      return plain.retentionPeriod();
    }
  }
}
