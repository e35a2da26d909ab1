package com.alipay.sofa.jraft.rhea.storage;

import com.alipay.sofa.jraft.rhea.errors.StorageException;
import com.alipay.sofa.jraft.rhea.metadata.Region;
import com.alipay.sofa.jraft.rhea.options.MemoryDBOptions;
import com.alipay.sofa.jraft.rhea.util.ByteArray;
import com.alipay.sofa.jraft.rhea.util.Pair;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock;
import com.codahale.metrics.Timer;
import io.braid.BraidDB;
import io.braid.BraidScan;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Objects;
import java.util.function.Function;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.ReadOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * RheaKV's local store, in a pool of braid. RheaKV knows two stores and takes no other, so this one
 * says that it is that in memory, and overrides all that the other does; nothing of it is used.
 *
 * <p>Operations of one kind that RheaKV applies together become one atomic batch, in which each sees
 * those before it. An operation that no replica can do (a key that is too long) fails alone; a
 * failure of the pool ends the replica's state machine, as RheaKV does with its own stores: the
 * replica must not go on without what the others have.
 *
 * <p>The data is what Raft's last snapshot and the log behind it say: RheaKV applies both again when
 * a server starts, and the pool begins empty. Any thread.
 */
@SuppressWarnings("try") // timers and uses of the pool end with their block, and are not looked at
public final class BraidRawKVStore extends MemoryRawKVStore {
  private static final Logger LOG = LoggerFactory.getLogger(BraidRawKVStore.class);
  private static final byte DELIMITER = ','; // between what was merged, as in RheaKV's own stores
  private static final int COUNTED = 1 << 16; // keys; beyond, their number is an estimate

  private final Pool pool;

  public BraidRawKVStore(Pool pool) {
    this.pool = Objects.requireNonNull(pool, "pool");
  }

  /** An operation that writes; what it returns is the client's answer. */
  private interface Step {
    Object on(Changes changes);
  }

  private interface Read {
    Object from(BraidDB db);
  }

  // ---- Lifecycle

  /** Opens the pool; a StorageException says why it can't, and what to do. */
  @Override
  public boolean init(MemoryDBOptions unused) {
    pool.open();
    LOG.info("RheaKV's data is in {}.", pool);
    return true;
  }

  @Override
  public void shutdown() {
    pool.close();
  }

  // ---- What all operations have in common

  private void read(String name, KVStoreClosure closure, Read read) {
    Object result;
    try (Timer.Context time = getTimeContext(name); Pool.Use use = pool.use()) {
      result = read.from(use.db());
    } catch (RuntimeException e) {
      LOG.error("{} has failed: {}", name, pool.explain(e), e);
      setFailure(closure, name + " has failed: " + pool.explain(e));
      return;
    }
    setSuccess(closure, result);
  }

  private void write(String name, KVStoreClosure closure, Step step) {
    write(name, Collections.singletonList(closure), Collections.singletonList(step));
  }

  /** All as one batch. */
  private void writeAll(
      String name, KVStateOutputList states, Function<KVOperation, Step> stepOf) {
    List<KVStoreClosure> closures = new ArrayList<>(states.size());
    List<Step> steps = new ArrayList<>(states.size());
    for (KVState state : states) {
      closures.add(state.getDone());
      steps.add(stepOf.apply(state.getOp()));
    }
    write(name, closures, steps);
  }

  private void write(String name, List<KVStoreClosure> closures, List<Step> steps) {
    Object[] results = new Object[steps.size()];
    try (Timer.Context time = getTimeContext(name); Pool.Use use = pool.use()) {
      Changes changes = new Changes(use.db());
      for (int i = 0; i < results.length; ++i) {
        results[i] = refusable(steps.get(i), changes);
      }
      changes.commit();
    } catch (RuntimeException e) {
      String message = name + " could not be applied: " + pool.explain(e);
      LOG.error(message, e);
      setCriticalError(closures, message, e);
      throw new StorageException(message, e); // not reached: the line above throws
    }
    for (int i = 0; i < results.length; ++i) {
      if (results[i] instanceof Changes.Refused refused) {
        setFailure(closures.get(i), name + ": " + refused.getMessage());
      } else {
        setSuccess(closures.get(i), results[i]);
      }
    }
  }

  private static Object refusable(Step step, Changes changes) {
    try {
      return step.on(changes);
    } catch (Changes.Refused e) {
      return e;
    }
  }

  /** A place in the pool; refuses keys that it can't hold, which all replicas do alike. */
  private static byte[] place(byte kind, byte[] key) {
    if (key == null) {
      throw new Changes.Refused("there is no key");
    }
    if (key.length > Keys.MOST_BYTES) {
      throw new Changes.Refused("the key has " + key.length + " bytes, and may have "
          + Keys.MOST_BYTES + " at most: use shorter keys");
    }
    return Keys.of(kind, key);
  }

  private static byte[] value(byte[] value) {
    if (value == null) {
      throw new Changes.Refused("there is no value");
    }
    return value;
  }

  /** To look a key up; one that is too long is not there. */
  private static byte[] find(BraidDB db, byte[] key) {
    return key.length > Keys.MOST_BYTES ? null : db.get(Keys.of(Keys.DATA, key));
  }

  // ---- Reads

  /** Over the data of all regions; to be closed. */
  @Override
  public KVIterator localIterator() {
    try (Pool.Use use = pool.use()) {
      return new BraidKVIterator(use.db().iterator(
          new ReadOptions(), Keys.begin(Keys.DATA, null), Keys.end(Keys.DATA, null)));
    }
  }

  @Override
  public void get(byte[] key, KVStoreClosure closure) {
    get(key, true, closure);
  }

  @Override
  public void get(byte[] key, boolean readOnlySafe, KVStoreClosure closure) {
    read("GET", closure, db -> find(db, key));
  }

  @Override
  public void batchGet(KVStateOutputList states) {
    states.forEach(state -> get(state.getOp().getKey(), state.getDone()));
  }

  @Override
  public void multiGet(List<byte[]> keys, KVStoreClosure closure) {
    multiGet(keys, true, closure);
  }

  @Override
  public void multiGet(List<byte[]> keys, boolean readOnlySafe, KVStoreClosure closure) {
    read("MULTI_GET", closure, db -> {
      List<byte[]> places = new ArrayList<>(keys.size());
      for (byte[] key : keys) {
        places.add(Keys.of(Keys.DATA,
            key.length > Keys.MOST_BYTES ? Arrays.copyOf(key, Keys.MOST_BYTES) : key));
      }
      byte[][] values = db.multiGet(places);
      Map<ByteArray, byte[]> found = new HashMap<>();
      for (int i = 0; i < values.length; ++i) {
        if (values[i] != null && keys.get(i).length <= Keys.MOST_BYTES) {
          found.put(ByteArray.wrap(keys.get(i)), values[i]);
        }
      }
      return found;
    });
  }

  @Override
  public void batchMultiGet(KVStateOutputList states) {
    states.forEach(state -> multiGet(state.getOp().getKeyList(), state.getDone()));
  }

  @Override
  public void containsKey(byte[] key, KVStoreClosure closure) {
    read("CONTAINS_KEY", closure, db -> find(db, key) != null);
  }

  @Override
  public void batchContainsKey(KVStateOutputList states) {
    states.forEach(state -> containsKey(state.getOp().getKey(), state.getDone()));
  }

  @Override
  public void scan(byte[] startKey, byte[] endKey, KVStoreClosure closure) {
    scan(startKey, endKey, Integer.MAX_VALUE, true, true, closure);
  }

  @Override
  public void scan(byte[] startKey, byte[] endKey, boolean readOnlySafe, KVStoreClosure closure) {
    scan(startKey, endKey, Integer.MAX_VALUE, readOnlySafe, true, closure);
  }

  @Override
  public void scan(byte[] startKey, byte[] endKey, boolean readOnlySafe, boolean returnValue,
      KVStoreClosure closure) {
    scan(startKey, endKey, Integer.MAX_VALUE, readOnlySafe, returnValue, closure);
  }

  @Override
  public void scan(byte[] startKey, byte[] endKey, int limit, KVStoreClosure closure) {
    scan(startKey, endKey, limit, true, true, closure);
  }

  @Override
  public void scan(byte[] startKey, byte[] endKey, int limit, boolean readOnlySafe,
      KVStoreClosure closure) {
    scan(startKey, endKey, limit, readOnlySafe, true, closure);
  }

  /** From `startKey` (null: the first) to before `endKey` (null: to the last). */
  @Override
  public void scan(byte[] startKey, byte[] endKey, int limit, boolean readOnlySafe,
      boolean returnValue, KVStoreClosure closure) {
    read("SCAN", closure, db -> entries(db, Keys.begin(Keys.DATA, startKey),
        Keys.end(Keys.DATA, endKey), true, limit, returnValue));
  }

  @Override
  public void batchScan(KVStateOutputList states) {
    for (KVState state : states) {
      KVOperation op = state.getOp();
      scan(op.getStartKey(), op.getEndKey(), op.getLimit(), true, op.isReturnValue(),
          state.getDone());
    }
  }

  @Override
  public void reverseScan(byte[] startKey, byte[] endKey, KVStoreClosure closure) {
    reverseScan(startKey, endKey, Integer.MAX_VALUE, true, true, closure);
  }

  @Override
  public void reverseScan(
      byte[] startKey, byte[] endKey, boolean readOnlySafe, KVStoreClosure closure) {
    reverseScan(startKey, endKey, Integer.MAX_VALUE, readOnlySafe, true, closure);
  }

  @Override
  public void reverseScan(byte[] startKey, byte[] endKey, boolean readOnlySafe,
      boolean returnValue, KVStoreClosure closure) {
    reverseScan(startKey, endKey, Integer.MAX_VALUE, readOnlySafe, returnValue, closure);
  }

  @Override
  public void reverseScan(byte[] startKey, byte[] endKey, int limit, KVStoreClosure closure) {
    reverseScan(startKey, endKey, limit, true, true, closure);
  }

  @Override
  public void reverseScan(byte[] startKey, byte[] endKey, int limit, boolean readOnlySafe,
      KVStoreClosure closure) {
    reverseScan(startKey, endKey, limit, readOnlySafe, true, closure);
  }

  /** Downwards, from `startKey` (null: the last) to behind `endKey` (null: to the first). */
  @Override
  public void reverseScan(byte[] startKey, byte[] endKey, int limit, boolean readOnlySafe,
      boolean returnValue, KVStoreClosure closure) {
    read("REVERSE_SCAN", closure, db -> entries(db,
        endKey == null ? Keys.begin(Keys.DATA, null) : Keys.behind(Keys.of(Keys.DATA, endKey)),
        startKey == null ? Keys.end(Keys.DATA, null) : Keys.behind(Keys.of(Keys.DATA, startKey)),
        false, limit, returnValue));
  }

  @Override
  public void batchReverseScan(KVStateOutputList states) {
    for (KVState state : states) {
      KVOperation op = state.getOp();
      reverseScan(op.getStartKey(), op.getEndKey(), op.getLimit(), true, op.isReturnValue(),
          state.getDone());
    }
  }

  private List<KVEntry> entries(BraidDB db, byte[] begin, byte[] end, boolean forward, int limit,
      boolean withValues) {
    List<KVEntry> found = new ArrayList<>();
    if (Arrays.compareUnsigned(begin, end) >= 0) {
      return found;
    }
    int most = normalizeLimit(limit);
    try (BraidScan scan = db.scan(begin, end, forward)) {
      while (found.size() < most && scan.hasNext()) {
        Entry<byte[], byte[]> entry = scan.next();
        found.add(new KVEntry(Keys.rest(entry.getKey()), withValues ? entry.getValue() : null));
      }
    }
    return found;
  }

  /** Exact up to 65,536 keys, then an estimate by their mean size. */
  @Override
  public long getApproximateKeysInRange(byte[] startKey, byte[] endKey) {
    byte[] begin = Keys.begin(Keys.DATA, startKey);
    byte[] end = Keys.end(Keys.DATA, endKey);
    if (Arrays.compareUnsigned(begin, end) >= 0) {
      return 0;
    }
    try (Timer.Context time = getTimeContext("APPROXIMATE_KEYS"); Pool.Use use = pool.use()) {
      long counted = 0;
      long bytes = 0;
      try (BraidScan scan = use.db().scan(begin, end, true)) {
        for (; counted < COUNTED && scan.hasNext(); ++counted) {
          Entry<byte[], byte[]> entry = scan.next();
          bytes += entry.getKey().length + entry.getValue().length;
        }
        if (!scan.hasNext()) {
          return counted;
        }
      }
      long all = use.db().getApproximateSizes(new org.iq80.leveldb.Range(begin, end))[0];
      return Math.max(counted + 1, Math.round((double) all / bytes * counted));
    }
  }

  /** The key that is so many keys behind `startKey`, or the last one; null: there is none. */
  @Override
  public byte[] jumpOver(byte[] startKey, long distance) {
    try (Timer.Context time = getTimeContext("JUMP_OVER"); Pool.Use use = pool.use();
        BraidScan scan = use.db().scan(
            Keys.begin(Keys.DATA, startKey), Keys.end(Keys.DATA, null), true)) {
      byte[] last = null;
      for (long i = 0; scan.hasNext() && (last == null || i < distance); ++i) {
        last = scan.next().getKey();
      }
      return last == null ? null : Keys.rest(last);
    }
  }

  // ---- Writes

  private static Step putStep(byte[] key, byte[] value) {
    return changes -> {
      changes.put(place(Keys.DATA, key), value(value));
      return Boolean.TRUE;
    };
  }

  @Override
  public void put(byte[] key, byte[] value, KVStoreClosure closure) {
    write("PUT", closure, putStep(key, value));
  }

  @Override
  public void batchPut(KVStateOutputList states) {
    writeAll("PUT", states, op -> putStep(op.getKey(), op.getValue()));
  }

  private static Step putListStep(List<KVEntry> entries) {
    return changes -> {
      entries.forEach(entry -> place(Keys.DATA, entry.getKey())); // none, if one is refused
      entries.forEach(entry -> value(entry.getValue()));
      entries.forEach(
          entry -> changes.put(Keys.of(Keys.DATA, entry.getKey()), entry.getValue()));
      return Boolean.TRUE;
    };
  }

  @Override
  public void put(List<KVEntry> entries, KVStoreClosure closure) {
    write("PUT_LIST", closure, putListStep(entries));
  }

  @Override
  public void batchPutList(KVStateOutputList states) {
    writeAll("PUT_LIST", states, op -> putListStep(op.getEntries()));
  }

  private static Step getAndPutStep(byte[] key, byte[] value) {
    return changes -> {
      byte[] place = place(Keys.DATA, key);
      byte[] before = changes.get(place);
      changes.put(place, value(value));
      return before;
    };
  }

  @Override
  public void getAndPut(byte[] key, byte[] value, KVStoreClosure closure) {
    write("GET_PUT", closure, getAndPutStep(key, value));
  }

  @Override
  public void batchGetAndPut(KVStateOutputList states) {
    writeAll("GET_PUT", states, op -> getAndPutStep(op.getKey(), op.getValue()));
  }

  private static void replace(Changes changes, byte[] place, byte[] update) {
    if (update == null) {
      changes.delete(place);
    } else {
      changes.put(place, update);
    }
  }

  private static Step compareAndPutStep(byte[] key, byte[] expect, byte[] update) {
    return changes -> {
      byte[] place = place(Keys.DATA, key);
      if (!Arrays.equals(expect, changes.get(place))) {
        return Boolean.FALSE;
      }
      replace(changes, place, update);
      return Boolean.TRUE;
    };
  }

  /** Null, expected: no such key; null, the update: delete it. */
  @Override
  public void compareAndPut(byte[] key, byte[] expect, byte[] update, KVStoreClosure closure) {
    write("COMPARE_PUT", closure, compareAndPutStep(key, expect, update));
  }

  @Override
  public void batchCompareAndPut(KVStateOutputList states) {
    writeAll("COMPARE_PUT", states,
        op -> compareAndPutStep(op.getKey(), op.getExpect(), op.getValue()));
  }

  private static Step compareAndPutAllStep(List<CASEntry> entries) {
    return changes -> {
      for (CASEntry entry : entries) {
        byte[] actual = changes.get(place(Keys.DATA, entry.getKey()));
        if (!Arrays.equals(entry.getExpect(), actual)) {
          return Boolean.FALSE;
        }
      }
      entries.forEach(entry ->
          replace(changes, Keys.of(Keys.DATA, entry.getKey()), entry.getUpdate()));
      return Boolean.TRUE;
    };
  }

  @Override
  public void compareAndPutAll(List<CASEntry> entries, KVStoreClosure closure) {
    write("COMPARE_PUT_ALL", closure, compareAndPutAllStep(entries));
  }

  @Override
  public void batchCompareAndPutAll(KVStateOutputList states) {
    writeAll("COMPARE_PUT_ALL", states, op -> compareAndPutAllStep(op.getCASEntries()));
  }

  private static Step putIfAbsentStep(byte[] key, byte[] value) {
    return changes -> {
      byte[] place = place(Keys.DATA, key);
      byte[] before = changes.get(place);
      if (before == null) {
        changes.put(place, value(value));
      }
      return before;
    };
  }

  @Override
  public void putIfAbsent(byte[] key, byte[] value, KVStoreClosure closure) {
    write("PUT_IF_ABSENT", closure, putIfAbsentStep(key, value));
  }

  @Override
  public void batchPutIfAbsent(KVStateOutputList states) {
    writeAll("PUT_IF_ABSENT", states, op -> putIfAbsentStep(op.getKey(), op.getValue()));
  }

  private static Step mergeStep(byte[] key, byte[] value) {
    return changes -> {
      byte[] place = place(Keys.DATA, key);
      byte[] before = changes.get(place);
      if (before == null) {
        changes.put(place, value(value));
        return Boolean.TRUE;
      }
      long size = before.length + 1L + value(value).length;
      if (size > Integer.MAX_VALUE - 8) {
        throw new Changes.Refused("the merged value would have " + size + " bytes");
      }
      byte[] merged = Arrays.copyOf(before, (int) size);
      merged[before.length] = DELIMITER;
      System.arraycopy(value, 0, merged, before.length + 1, value.length);
      changes.put(place, merged);
      return Boolean.TRUE;
    };
  }

  /** Appends the value, behind a comma. */
  @Override
  public void merge(byte[] key, byte[] value, KVStoreClosure closure) {
    write("MERGE", closure, mergeStep(key, value));
  }

  @Override
  public void batchMerge(KVStateOutputList states) {
    writeAll("MERGE", states, op -> mergeStep(op.getKey(), op.getValue()));
  }

  private static Step deleteStep(byte[] key) {
    return changes -> {
      changes.delete(place(Keys.DATA, key));
      return Boolean.TRUE;
    };
  }

  @Override
  public void delete(byte[] key, KVStoreClosure closure) {
    write("DELETE", closure, deleteStep(key));
  }

  @Override
  public void batchDelete(KVStateOutputList states) {
    writeAll("DELETE", states, op -> deleteStep(op.getKey()));
  }

  private static Step deleteListStep(List<byte[]> keys) {
    return changes -> {
      keys.forEach(key -> place(Keys.DATA, key));
      keys.forEach(key -> changes.delete(Keys.of(Keys.DATA, key)));
      return Boolean.TRUE;
    };
  }

  @Override
  public void delete(List<byte[]> keys, KVStoreClosure closure) {
    write("DELETE_LIST", closure, deleteListStep(keys));
  }

  @Override
  public void batchDeleteList(KVStateOutputList states) {
    writeAll("DELETE_LIST", states, op -> deleteListStep(op.getKeys()));
  }

  private static Step deleteRangeStep(byte[] startKey, byte[] endKey) {
    return changes -> {
      changes.deleteRange(startKey == null ? Keys.begin(Keys.DATA, null)
          : place(Keys.DATA, startKey), endKey == null ? Keys.end(Keys.DATA, null)
          : place(Keys.DATA, endKey));
      return Boolean.TRUE;
    };
  }

  @Override
  public void deleteRange(byte[] startKey, byte[] endKey, KVStoreClosure closure) {
    write("DELETE_RANGE", closure, deleteRangeStep(startKey, endKey));
  }

  @Override
  public void batchDeleteRange(KVStateOutputList states) {
    writeAll("DELETE_RANGE", states, op -> deleteRangeStep(op.getStartKey(), op.getEndKey()));
  }

  // ---- Sequences, locks, nodes

  private Step sequenceStep(byte[] key, int step) {
    return changes -> {
      if (step < 0) {
        throw new Changes.Refused("the step is " + step + ": use 0 or more");
      }
      byte[] place = place(Keys.SEQUENCE, key);
      long begin = Locks.number(changes.get(place));
      long end = getSafeEndValueForSequence(begin, step);
      if (end != begin) {
        changes.put(place, Locks.bytes(end));
      }
      return new Sequence(begin, end);
    };
  }

  @Override
  public void getSequence(byte[] key, int step, KVStoreClosure closure) {
    write("GET_SEQUENCE", closure, sequenceStep(key, step));
  }

  @Override
  public void batchGetSequence(KVStateOutputList states) {
    writeAll("GET_SEQUENCE", states, op -> sequenceStep(op.getSeqKey(), op.getStep()));
  }

  private static Step resetStep(byte[] key) {
    return changes -> {
      changes.delete(place(Keys.SEQUENCE, key));
      return Boolean.TRUE;
    };
  }

  @Override
  public void resetSequence(byte[] key, KVStoreClosure closure) {
    write("RESET_SEQUENCE", closure, resetStep(key));
  }

  @Override
  public void batchResetSequence(KVStateOutputList states) {
    writeAll("RESET_SEQUENCE", states, op -> resetStep(op.getKey()));
  }

  private static Step lockStep(byte[] key, byte[] fencingKey, boolean keepLease,
      DistributedLock.Acquirer acquirer) {
    return changes -> {
      place(Keys.LOCK, key);
      return Locks.tryLock(changes, key, fencingKey, keepLease, acquirer);
    };
  }

  @Override
  public void tryLockWith(byte[] key, byte[] fencingKey, boolean keepLease,
      DistributedLock.Acquirer acquirer, KVStoreClosure closure) {
    write("TRY_LOCK", closure, lockStep(key, fencingKey, keepLease, acquirer));
  }

  @Override
  public void batchTryLockWith(KVStateOutputList states) {
    writeAll("TRY_LOCK", states, op -> {
      Pair<Boolean, DistributedLock.Acquirer> pair = op.getAcquirerPair();
      return lockStep(op.getKey(), op.getFencingKey(), pair.getKey(), pair.getValue());
    });
  }

  private static Step releaseStep(byte[] key, DistributedLock.Acquirer acquirer) {
    return changes -> {
      place(Keys.LOCK, key);
      return Locks.release(changes, key, acquirer);
    };
  }

  @Override
  public void releaseLockWith(
      byte[] key, DistributedLock.Acquirer acquirer, KVStoreClosure closure) {
    write("RELEASE_LOCK", closure, releaseStep(key, acquirer));
  }

  @Override
  public void batchReleaseLockWith(KVStateOutputList states) {
    writeAll("RELEASE_LOCK", states, op -> releaseStep(op.getKey(), op.getAcquirer()));
  }

  @Override
  public void initFencingToken(byte[] parentKey, byte[] childKey) {
    write("INIT_FENCING_TOKEN", null, changes -> {
      Locks.inheritToken(changes, parentKey, childKey);
      return Boolean.TRUE;
    });
  }

  /** The application's code, which the base runs; it touches no store. */
  @Override
  public void execute(NodeExecutor executor, boolean isLeader, KVStoreClosure closure) {
    super.execute(executor, isLeader, closure);
  }

  @Override
  public void batchNodeExecute(KVStateOutputList states, boolean isLeader) {
    states.forEach(
        state -> execute(state.getOp().getNodeExecutor(), isLeader, state.getDone()));
  }

  // ---- Snapshots

  /** A pool at `path`: a checkpoint, or, with several regions, what is this one's. */
  @Override
  void doSnapshotSave(MemoryKVStoreSnapshotFile unused, String path, Region region)
      throws Exception {
    try (Timer.Context time = getTimeContext("SNAPSHOT_SAVE")) {
      pool.save(new File(path), region);
    } catch (DBException e) {
      throw new StorageException("no snapshot of " + region + ": " + pool.explain(e), e);
    }
  }

  /** Puts what the snapshot holds in the place of what is here, of its region. */
  @Override
  void doSnapshotLoad(MemoryKVStoreSnapshotFile unused, String path) throws Exception {
    try (Timer.Context time = getTimeContext("SNAPSHOT_LOAD")) {
      pool.load(new File(path));
    } catch (DBException e) {
      throw new StorageException("the snapshot " + path + " can't be loaded: " + pool.explain(e), e);
    }
  }

  /** The pool's folder. */
  public File path() {
    return pool.path();
  }
}
