package io.braid.kafka;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.state.HeadersBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueBytesStoreSupplier;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionBytesStoreSupplier;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreSupplier;
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
    return new KeyValue(name, BraidKeyValueStore::new);
  }

  /** For a store of values with timestamps: Stores.timestampedKeyValueStoreBuilder, and KTables. */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStore(String name) {
    return new KeyValue(name, BraidKeyValueStore.Timestamped::new);
  }

  /** For a store of values with timestamps and headers. */
  public static KeyValueBytesStoreSupplier timestampedKeyValueStoreWithHeaders(String name) {
    return new KeyValueWithHeaders(name, BraidKeyValueStore.WithHeaders::new);
  }

  /**
   * For a store that keeps the versions of a value: Stores.versionedKeyValueStoreBuilder. Versions
   * can be read and written for the time of {@code historyRetention} back from the highest time seen.
   */
  public static VersionedBytesStoreSupplier versionedKeyValueStore(
      String name, Duration historyRetention) {
    long retention = millis("historyRetention", historyRetention);
    return new Versioned(name, retention, versionedInterval(retention));
  }

  /** The same in segments of {@code segmentInterval}, which is what goes as a whole. */
  public static VersionedBytesStoreSupplier versionedKeyValueStore(
      String name, Duration historyRetention, Duration segmentInterval) {
    long interval = millis("segmentInterval", segmentInterval);
    if (interval < 1) {
      throw new IllegalArgumentException("segmentInterval cannot be zero");
    }
    return new Versioned(name, millis("historyRetention", historyRetention), interval);
  }

  /** For a plain window store: Stores.windowStoreBuilder. */
  public static WindowBytesStoreSupplier windowStore(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return windows(DslStoreFormat.PLAIN,
        shape(name, retentionPeriod, windowSize, retainDuplicates));
  }

  /** For a window store of values with timestamps: Stores.timestampedWindowStoreBuilder. */
  public static WindowBytesStoreSupplier timestampedWindowStore(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return windows(DslStoreFormat.TIMESTAMPED,
        shape(name, retentionPeriod, windowSize, retainDuplicates));
  }

  /** For a window store of values with timestamps and headers. */
  public static WindowBytesStoreSupplier timestampedWindowStoreWithHeaders(
      String name, Duration retentionPeriod, Duration windowSize, boolean retainDuplicates) {
    return windows(DslStoreFormat.HEADERS,
        shape(name, retentionPeriod, windowSize, retainDuplicates));
  }

  static WindowBytesStoreSupplier windows(DslStoreFormat format, BraidWindowStore.Shape shape) {
    return switch (format) {
      case HEADERS -> new WindowsWithHeaders(shape);
      case TIMESTAMPED -> new Windows(shape, BraidWindowStore.Timestamped::new);
      case PLAIN -> new Windows(shape, BraidWindowStore::new);
    };
  }

  static BraidWindowStore.Shape shape(String name, Duration retentionPeriod,
      Duration windowSize, boolean retainDuplicates) {
    long retention = millis("retentionPeriod", retentionPeriod);
    long size = millis("windowSize", windowSize);
    if (size > retention) {
      throw new IllegalArgumentException("The retention period of the window store " + name
          + " must be no smaller than its window size. Got size=[" + size + "], retention=["
          + retention + "]");
    }
    return new BraidWindowStore.Shape(
        name, retention, Math.max(retention / 2, SHORTEST_SEGMENT), size, retainDuplicates,
        Timeline.Order.BY_KEY);
  }

  /** For a session store: Stores.sessionStoreBuilder. */
  public static SessionBytesStoreSupplier sessionStore(String name, Duration retentionPeriod) {
    return sessions(DslStoreFormat.PLAIN, shape(name, retentionPeriod));
  }

  /** For a session store of values with headers. */
  public static SessionBytesStoreSupplier sessionStoreWithHeaders(
      String name, Duration retentionPeriod) {
    return sessions(DslStoreFormat.HEADERS, shape(name, retentionPeriod));
  }

  static SessionBytesStoreSupplier sessions(DslStoreFormat format, BraidSessionStore.Shape shape) {
    return format == DslStoreFormat.HEADERS ? new SessionsWithHeaders(shape)
        : new Sessions(shape, BraidSessionStore::new);
  }

  static BraidSessionStore.Shape shape(String name, Duration retentionPeriod) {
    long retention = millis("retentionPeriod", retentionPeriod);
    return new BraidSessionStore.Shape(
        name, retention, Math.max(retention / 2, SHORTEST_SEGMENT), Timeline.Order.BY_KEY);
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

  /** What all suppliers say. */
  private abstract static class Supplies<T extends StateStore> implements StoreSupplier<T> {
    private final String name;
    private final Supplier<T> maker;

    Supplies(String name, Supplier<T> maker) {
      this.name = Objects.requireNonNull(name, "name cannot be null");
      this.maker = maker;
    }

    @Override
    public String name() {
      return name;
    }

    @Override
    public T get() {
      return maker.get();
    }

    @Override
    public String metricsScope() {
      return METRICS_SCOPE;
    }
  }

  // Kafka Streams learns by an interface of a supplier that its stores keep headers.

  private static class KeyValue extends Supplies<KeyValueStore<Bytes, byte[]>>
      implements KeyValueBytesStoreSupplier {
    KeyValue(String name, Function<String, KeyValueStore<Bytes, byte[]>> maker) {
      super(name, () -> maker.apply(name));
    }
  }

  private static final class KeyValueWithHeaders extends KeyValue
      implements HeadersBytesStoreSupplier {
    KeyValueWithHeaders(String name, Function<String, KeyValueStore<Bytes, byte[]>> maker) {
      super(name, maker);
    }
  }

  private static final class Versioned extends Supplies<KeyValueStore<Bytes, byte[]>>
      implements VersionedBytesStoreSupplier {
    private final long retention;

    Versioned(String name, long retention, long interval) {
      super(name, () -> Internals.asBytesStore(new BraidVersionedStore(name, retention, interval)));
      this.retention = retention;
    }

    @Override
    public long historyRetentionMs() {
      return retention;
    }
  }

  private static class Windows extends Supplies<WindowStore<Bytes, byte[]>>
      implements WindowBytesStoreSupplier {
    private final BraidWindowStore.Shape shape;

    Windows(BraidWindowStore.Shape shape, Function<BraidWindowStore.Shape, BraidWindowStore> maker) {
      super(shape.name(), () -> maker.apply(shape));
      this.shape = shape;
    }

    @Override
    public long segmentIntervalMs() {
      return shape.segmentInterval();
    }

    @Override
    public long windowSize() {
      return shape.windowSize();
    }

    @Override
    public boolean retainDuplicates() {
      return shape.retainDuplicates();
    }

    @Override
    public long retentionPeriod() {
      return shape.retention();
    }
  }

  private static final class WindowsWithHeaders extends Windows
      implements HeadersBytesStoreSupplier {
    WindowsWithHeaders(BraidWindowStore.Shape shape) {
      super(shape, BraidWindowStore.WithHeaders::new);
    }
  }

  private static class Sessions extends Supplies<SessionStore<Bytes, byte[]>>
      implements SessionBytesStoreSupplier {
    private final BraidSessionStore.Shape shape;

    Sessions(
        BraidSessionStore.Shape shape, Function<BraidSessionStore.Shape, BraidSessionStore> maker) {
      super(shape.name(), () -> maker.apply(shape));
      this.shape = shape;
    }

    @Override
    public long segmentIntervalMs() {
      return shape.segmentInterval();
    }

    @Override
    public long retentionPeriod() {
      return shape.retention();
    }
  }

  private static final class SessionsWithHeaders extends Sessions
      implements HeadersBytesStoreSupplier {
    SessionsWithHeaders(BraidSessionStore.Shape shape) {
      super(shape, BraidSessionStore.WithHeaders::new);
    }
  }
}
