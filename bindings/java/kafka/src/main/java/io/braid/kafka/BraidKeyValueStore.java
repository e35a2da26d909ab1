package io.braid.kafka;

import io.braid.BraidDB;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;

/** A key-value store: the keys of the pool are the space's, and the user's. */
class BraidKeyValueStore extends BraidStore implements KeyValueStore<Bytes, byte[]> {
  private static final byte[] NONE = new byte[0];
  private static final int RESTORED_AT_ONCE = 100;

  BraidKeyValueStore(String name) {
    super(name);
  }

  /** Its values begin with their timestamps, which Kafka Streams learns by this interface. */
  static final class Timestamped extends BraidKeyValueStore implements TimestampedBytesStore {
    Timestamped(String name) {
      super(name);
    }

    @Override
    String format() {
      return "key-value, with timestamps";
    }
  }

  /** Its values begin with their headers, then their timestamps. */
  static final class WithHeaders extends BraidKeyValueStore implements HeadersBytesStore {
    WithHeaders(String name) {
      super(name);
    }

    @Override
    String format() {
      return "key-value, with headers";
    }
  }

  @Override
  String format() {
    return "key-value";
  }

  private byte[] keyOf(Bytes key) {
    return space().key(Space.DATA, Objects.requireNonNull(key, "key cannot be null").get());
  }

  @Override
  void restore(ConsumerRecord<byte[], byte[]> record) {
    space().put(space().key(Space.DATA, record.key()), record.value());
  }

  @Override
  int restoredAtOnce() {
    return RESTORED_AT_ONCE;
  }

  @Override
  public void put(Bytes key, byte[] value) {
    Objects.requireNonNull(key, "key cannot be null");
    writing(() -> space().put(keyOf(key), value));
  }

  @Override
  public byte[] putIfAbsent(Bytes key, byte[] value) {
    Objects.requireNonNull(key, "key cannot be null");
    byte[][] before = new byte[1][];
    writing(() -> {
      before[0] = space().get(keyOf(key));
      if (before[0] == null && value != null) {
        space().put(keyOf(key), value);
      }
    });
    return before[0];
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    entries.forEach(entry -> Objects.requireNonNull(entry.key, "key cannot be null"));
    writing(() -> space().together(
        () -> entries.forEach(entry -> space().put(keyOf(entry.key), entry.value))));
  }

  @Override
  public byte[] delete(Bytes key) {
    Objects.requireNonNull(key, "key cannot be null");
    byte[][] before = new byte[1][];
    writing(() -> {
      before[0] = space().get(keyOf(key));
      space().put(keyOf(key), null);
    });
    return before[0];
  }

  @Override
  public byte[] get(Bytes key) {
    Objects.requireNonNull(key, "key cannot be null");
    checkOpen();
    return space().get(keyOf(key));
  }

  private KeyValueIterator<Bytes, byte[]> iterate(byte[] begin, byte[] end, boolean forward) {
    StoreIterator<Bytes> iterator = new StoreIterator<>(
        name(), space().scan(begin, end, forward), key -> Bytes.wrap(space().rest(key)));
    register(iterator);
    return iterator;
  }

  private KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to, boolean forward) {
    checkOpen();
    if (from != null && to != null && from.compareTo(to) > 0) {
      warnInvalidRange();
      return StoreIterator.empty(name());
    }
    byte[] all = space().key(Space.DATA, NONE);
    byte[] end = to == null ? BraidDB.prefixUpperBound(all)
        : space().key(Space.DATA, Arrays.copyOf(to.get(), to.get().length + 1));
    return iterate(from == null ? all : keyOf(from), end, forward);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(Bytes from, Bytes to) {
    return range(from, to, true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(Bytes from, Bytes to) {
    return range(from, to, false);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return range(null, null, true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return range(null, null, false);
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    Objects.requireNonNull(prefix, "prefix cannot be null");
    Objects.requireNonNull(prefixKeySerializer, "prefixKeySerializer cannot be null");
    checkOpen();
    byte[] begin = space().key(Space.DATA, prefixKeySerializer.serialize(null, prefix));
    return iterate(begin, BraidDB.prefixUpperBound(begin), true);
  }

  @Override
  public long approximateNumEntries() {
    checkOpen();
    return space().count(Space.DATA);
  }
}
