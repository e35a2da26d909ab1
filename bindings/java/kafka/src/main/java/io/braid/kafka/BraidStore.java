package io.braid.kafka;

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all stores have in common: opening, commits, restores, queries. The thread of the task
 * writes; interactive queries read from any thread. Writes, commits and IQv2 queries take turns
 * (the monitor of the position), as in Kafka Streams' own stores.
 */
abstract class BraidStore implements StateStore {
  private static final Logger LOG = LoggerFactory.getLogger(BraidStore.class);

  private final String name;
  private final Set<StoreIterator<?>> iterators = ConcurrentHashMap.newKeySet();
  private StateStoreContext context;
  private boolean consistencyEnabled;
  private boolean global;
  private Space space;
  private LongSupplier commits; // of the thread that writes; null: it has not written yet
  private long seenCommits;
  private volatile Position position = Position.emptyPosition();
  private volatile boolean open;

  BraidStore(String name) {
    this.name = name;
  }

  /** What the entries of the store mean: one that differs in this can't read them. */
  abstract String format();

  /** Called once the space is open, before the store is registered. */
  void opened(StateStoreContext context) {}

  /** Applies a record of the changelog. */
  abstract void restore(ConsumerRecord<byte[], byte[]> record);

  /**
   * How many updates of a restore are one atomic batch. A batch keeps the other stores of the pool from
   * writing for as long as it takes, so few, where a record of the changelog is one update.
   */
  int restoredAtOnce() {
    return Integer.MAX_VALUE;
  }

  /** What the store knows of time, to be stored with each commit; null: nothing. */
  byte[] clock() {
    return null;
  }

  /** The clock has become durable: what is over may go. */
  void clockStored() {}

  @Override
  public final String name() {
    return name;
  }

  @Override
  public final void init(StateStoreContext stateStoreContext, StateStore root) {
    context = stateStoreContext;
    consistencyEnabled = Internals.consistencyEnabled(context);
    global = Space.isGlobal(context);
    space = Space.open(context, name);
    boolean done = false;
    try {
      space.checkFormat(format());
      position = space.position();
      opened(context);
      Internals.gauge(context, name, "uncommitted-bytes",
          "Bytes of keys and values that wait in memory for the next commit",
          space::uncommittedBytes);
      open = true;
      Internals.register(context, root, this::restoreBatch);
      done = true;
      LOG.debug("opened the store {} of task {}: {}", name, context.taskId(), format());
    } finally {
      if (!done) {
        close();
      }
    }
  }

  private void restoreBatch(Collection<ConsumerRecord<byte[], byte[]>> records) {
    if (records.isEmpty()) {
      return;
    }
    synchronized (position) {
      checkOpen();
      ConsumerRecord<byte[], byte[]> last = null;
      for (ConsumerRecord<byte[], byte[]> record : records) {
        last = record;
      }
      TopicPartition partition =
          global ? null : new TopicPartition(last.topic(), last.partition());
      space.restore(() -> {
        for (ConsumerRecord<byte[], byte[]> record : records) {
          restore(record);
          Internals.restored(record, consistencyEnabled, position);
        }
      }, partition, last.offset(), this::clock, restoredAtOnce());
      clockStored();
    }
  }

  @Override
  public final void commit(Map<TopicPartition, Long> changelogOffsets) {
    synchronized (position) {
      checkOpen();
      space.commit(changelogOffsets, position, clock());
      clockStored();
    }
  }

  @Override
  public final Long committedOffset(TopicPartition partition) {
    checkOpen();
    return space.offset(partition);
  }

  @Override
  @SuppressWarnings("deprecation")
  public final boolean managesOffsets() {
    return true;
  }

  @Override
  public final boolean persistent() {
    return true;
  }

  @Override
  public final boolean isOpen() {
    return open;
  }

  @Override
  public final Position getPosition() {
    return position;
  }

  @Override
  public <R> QueryResult<R> query(Query<R> query, PositionBound bound, QueryConfig config) {
    return Internals.query(query, bound, config, this, position, context);
  }

  @Override
  public final void close() {
    synchronized (position) {
      open = false;
      if (!iterators.isEmpty()) {
        LOG.warn("closing {} iterators of the store {} that were left open", iterators.size(), name);
        iterators.forEach(StoreIterator::close);
      }
      if (space != null) {
        space.close();
      }
    }
  }

  final void checkOpen() {
    if (!open) {
      throw new InvalidStateStoreException("Store " + name + " is currently closed");
    }
  }

  /** A write: after it the position is that of the record at hand. */
  final void writing(Runnable work) {
    synchronized (position) {
      checkOpen();
      keepCommitted();
      work.run();
      Internals.updatePosition(position, context);
    }
  }

  /**
   * With exactly-once: makes durable what waits, if the transaction that wrote it is committed.
   * Before the first write after that, as the next transaction's must wait again.
   */
  private void keepCommitted() {
    if (!space.isBuffered()) {
      return;
    }
    if (commits == null) {
      commits = Internals.commits(context);
      seenCommits = commits.getAsLong();
    }
    long now = commits.getAsLong();
    if (now != seenCommits) {
      seenCommits = now;
      if (space.uncommittedBytes() > 0) {
        space.commitWritten(Internals.written(context, name), position, clock());
        clockStored();
      }
    }
  }

  final Space space() {
    return space;
  }

  final StateStoreContext context() {
    return context;
  }

  final void register(StoreIterator<?> iterator) {
    iterator.onClose(() -> iterators.remove(iterator));
    iterators.add(iterator);
    if (!open) {
      iterator.close();
    }
  }

  final void warnInvalidRange() {
    LOG.warn("Returning empty iterator for fetch with invalid key range: from > to. This may be due"
        + " to range arguments set in the wrong order, or serdes that don't preserve ordering when"
        + " lexicographically comparing the serialized bytes. Note that the built-in numerical serdes"
        + " do not follow this for negative numbers");
  }
}
