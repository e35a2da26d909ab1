package io.braid.rheakv;

import com.alipay.sofa.jraft.conf.Configuration;
import com.alipay.sofa.jraft.conf.ConfigurationEntry;
import com.alipay.sofa.jraft.conf.ConfigurationManager;
import com.alipay.sofa.jraft.entity.EnumOutter.EntryType;
import com.alipay.sofa.jraft.entity.LogEntry;
import com.alipay.sofa.jraft.entity.LogId;
import com.alipay.sofa.jraft.entity.codec.LogEntryDecoder;
import com.alipay.sofa.jraft.entity.codec.LogEntryEncoder;
import com.alipay.sofa.jraft.option.LogStorageOptions;
import com.alipay.sofa.jraft.rhea.errors.StorageException;
import com.alipay.sofa.jraft.storage.LogStorage;
import io.braid.BraidDB;
import io.braid.BraidFactory;
import io.braid.BraidOptions;
import io.braid.BraidScan;
import io.braid.BraidWriteBatch;
import io.braid.RangeSweeper;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.WriteOptions;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The log of one Raft group, in a pool of its own. Entries that are appended together are one atomic
 * batch, durable when the call returns: on persistent memory without a call of the kernel, on other
 * media with one sync if Raft's options ask for it (they do unless told otherwise).
 *
 * <p>In the pool: "e" and an index, an entry as Raft encodes it; "c" and an index, nothing, for each
 * entry that is a configuration; "f", the first index. Entries before the first are deleted by and
 * by. Any thread.
 */
public final class BraidLogStorage implements LogStorage {
  private static final Logger LOG = LoggerFactory.getLogger(BraidLogStorage.class);
  private static final byte ENTRY = 'e';
  private static final byte CONFIGURATION = 'c';
  private static final byte[] FIRST = {'f'};
  private static final byte[] FORMAT = {'v'};
  private static final byte[] FORMAT_1 = "raft log 1".getBytes(
      java.nio.charset.StandardCharsets.US_ASCII);
  private static final byte[] NOTHING = new byte[0];
  private static final long STEP = 4096; // entries that are deleted at a time

  private final File path;
  private final WriteOptions write;
  private final BraidOptions options;
  private LogEntryEncoder encoder;
  private LogEntryDecoder decoder;
  private volatile BraidDB db; // null: closed
  private volatile long first; // 0: not known, the log has never had an entry
  private volatile RangeSweeper sweeper;

  /**
   * @param path the folder of the pool
   * @param sync whether appends survive a loss of power on media other than persistent memory
   * @param options with which the pool is opened
   */
  public BraidLogStorage(File path, boolean sync, BraidOptions options) {
    this.path = path.getAbsoluteFile();
    this.write = new WriteOptions().sync(sync);
    this.options = options;
  }

  private static byte[] key(byte kind, long index) {
    return ByteBuffer.allocate(1 + Long.BYTES).put(kind).putLong(index).array();
  }

  private static byte[] end(byte kind) {
    return new byte[] {(byte) (kind + 1)};
  }

  private static long indexOf(byte[] key) {
    return ByteBuffer.wrap(key, 1, Long.BYTES).getLong();
  }

  private static byte[] bytes(long index) {
    return ByteBuffer.allocate(Long.BYTES).putLong(index).array();
  }

  private BraidDB db() {
    BraidDB open = db;
    if (open == null) {
      throw new IllegalStateException("the log in " + path + " is closed");
    }
    return open;
  }

  // ---- Lifecycle

  /** Opens the pool; a StorageException says why it can't, and what to do. */
  @Override
  public synchronized boolean init(LogStorageOptions given) {
    if (db != null) {
      return true;
    }
    encoder = given.getLogEntryCodecFactory().encoder();
    decoder = given.getLogEntryCodecFactory().decoder();
    if (new File(path, "CURRENT").exists()) {
      throw new StorageException("the folder " + path + " has a log in RocksDB, which braid does not"
          + " read: stop using braid for Raft's log, or remove this server's Raft data and let it"
          + " join again");
    }
    BraidDB made = open();
    boolean done = false;
    try {
      check(made);
      byte[] stored = made.get(FIRST);
      first = stored == null ? 0 : ByteBuffer.wrap(stored).getLong();
      db = made;
      load(given.getConfigurationManager());
      sweeper = new RangeSweeper(made, "braid-raft-log-trimmer", e -> LOG.warn("Old entries of the"
          + " log in {} could not be deleted: {}; the next truncation tries again.", path,
          e.getMessage()));
      done = true;
    } finally {
      if (!done) {
        db = null;
        made.close();
      }
    }
    trim();
    return true;
  }

  private BraidDB open() {
    try {
      java.nio.file.Files.createDirectories(path.toPath().getParent());
      return BraidFactory.factory.open(path, options);
    } catch (IOException | DBException e) {
      throw new StorageException("the pool " + path + " of Raft's log can't be opened: "
          + e.getMessage() + ". It needs a folder that this process can write to and that no other"
          + " process has open, and options as `braid options` lists them", e);
    }
  }

  private void check(BraidDB made) {
    byte[] format = made.get(FORMAT);
    if (format == null) {
      try (BraidScan any = made.scan(null, null, true)) {
        if (any.hasNext()) {
          throw new StorageException("the pool " + path + " holds data that are no log of Raft: give"
              + " the node another logUri; it was not changed");
        }
      }
      made.put(FORMAT, FORMAT_1, write);
    } else if (!java.util.Arrays.equals(format, FORMAT_1)) {
      throw new StorageException("the log in " + path + " was written by a newer version of"
          + " braid-rheakv: use that");
    }
  }

  /** Tells the manager of all configurations that the log has. */
  private void load(ConfigurationManager manager) {
    if (manager == null) {
      return;
    }
    try (BraidScan scan = db().scan(key(CONFIGURATION, getFirstLogIndex()), end(CONFIGURATION),
        true)) {
      while (scan.hasNext()) {
        LogEntry entry = getEntry(indexOf(scan.next().getKey()));
        if (entry == null) {
          continue;
        }
        ConfigurationEntry known = new ConfigurationEntry();
        known.setId(new LogId(entry.getId().getIndex(), entry.getId().getTerm()));
        known.setConf(new Configuration(entry.getPeers(), entry.getLearners()));
        if (entry.getOldPeers() != null) {
          known.setOldConf(new Configuration(entry.getOldPeers(), entry.getOldLearners()));
        }
        manager.add(known);
      }
    }
  }

  @Override
  public void shutdown() {
    BraidDB open;
    RangeSweeper sweeping;
    synchronized (this) {
      open = db;
      db = null;
      sweeping = sweeper;
      sweeper = null;
    }
    if (open != null) {
      sweeping.close();
      open.close();
    }
  }

  // ---- Reads

  /** 1 for a log without entries. */
  @Override
  public long getFirstLogIndex() {
    long known = first;
    if (known != 0) {
      return known;
    }
    try (BraidScan scan = db().scan(key(ENTRY, 0), end(ENTRY), true)) {
      return scan.hasNext() ? indexOf(scan.peekKey()) : 1;
    }
  }

  /** 0 for a log without entries. */
  @Override
  public long getLastLogIndex() {
    try (BraidScan scan = db().scan(key(ENTRY, 0), end(ENTRY), false)) {
      return scan.hasNext() ? indexOf(scan.peekKey()) : 0;
    }
  }

  @Override
  public LogEntry getEntry(long index) {
    if (index < first) {
      return null;
    }
    byte[] stored = db().get(key(ENTRY, index));
    if (stored == null) {
      return null;
    }
    LogEntry entry = decoder.decode(stored);
    if (entry == null) {
      LOG.error("The entry {} of the log in {} can't be decoded.", index, path);
    }
    return entry;
  }

  /** 0 where there is no entry. */
  @Deprecated
  @Override
  public long getTerm(long index) {
    LogEntry entry = getEntry(index);
    return entry == null ? 0 : entry.getId().getTerm();
  }

  /** Counters and facts of the pool as one JSON object. */
  public String statistics() {
    return db().statistics();
  }

  // ---- Writes

  private interface Fill {
    void into(BraidWriteBatch batch);
  }

  private boolean commit(String what, Fill fill) {
    BraidDB open = db();
    try (BraidWriteBatch batch = open.createWriteBatch()) {
      fill.into(batch);
      open.write(batch, write);
      return true;
    } catch (DBException e) {
      LOG.error("The log in {} could not {}: {}. If its pool is full, give its device or the option"
          + " pool.max_bytes more room; start the server again once the cause is gone, what was"
          + " acknowledged is there.", path, what, e.getMessage(), e);
      return false;
    }
  }

  private void add(BraidWriteBatch batch, LogEntry entry) {
    long index = entry.getId().getIndex();
    batch.put(key(ENTRY, index), encoder.encode(entry));
    if (entry.getType() == EntryType.ENTRY_TYPE_CONFIGURATION) {
      batch.put(key(CONFIGURATION, index), NOTHING);
    }
  }

  @Override
  public boolean appendEntry(LogEntry entry) {
    return appendEntries(List.of(entry)) == 1;
  }

  /** All of them, or none: returns how many. */
  @Override
  public int appendEntries(List<LogEntry> entries) {
    if (entries == null || entries.isEmpty()) {
      return 0;
    }
    boolean done = commit("append " + entries.size() + " entries",
        batch -> entries.forEach(entry -> add(batch, entry)));
    return done ? entries.size() : 0;
  }

  /** Forgets the entries before this one, at once; their room is given back by and by. */
  @Override
  public boolean truncatePrefix(long firstIndexKept) {
    if (!commit("forget entries", batch -> batch.put(FIRST, bytes(firstIndexKept)))) {
      return false;
    }
    first = firstIndexKept;
    trim();
    return true;
  }

  private static void deleteFrom(BraidWriteBatch batch, long index) {
    batch.deleteRange(key(ENTRY, index), end(ENTRY));
    batch.deleteRange(key(CONFIGURATION, index), end(CONFIGURATION));
  }

  /** Deletes the entries behind this one. */
  @Override
  public boolean truncateSuffix(long lastIndexKept) {
    return commit("drop entries", batch -> deleteFrom(batch, lastIndexKept + 1));
  }

  /** Drops all entries but this one, which is made if it is not there. */
  @Override
  public boolean reset(long nextLogIndex) {
    if (nextLogIndex <= 0) {
      throw new IllegalArgumentException("the next index is " + nextLogIndex);
    }
    LogEntry known = getEntry(nextLogIndex);
    LogEntry entry = known == null ? new LogEntry(EntryType.ENTRY_TYPE_NO_OP) : known;
    if (known == null) {
      entry.setId(new LogId(nextLogIndex, 0));
    }
    boolean done = commit("be reset", batch -> {
      deleteFrom(batch, nextLogIndex);
      add(batch, entry);
      batch.put(FIRST, bytes(nextLogIndex));
    });
    if (done) {
      first = nextLogIndex;
      trim();
    }
    return done;
  }

  // ---- What is before the first entry

  /** By and by; what is left at a close, or after an error, goes with the next call or open. */
  private void trim() {
    RangeSweeper sweeping = sweeper;
    long until = first;
    if (sweeping == null || until == 0) {
      return;
    }
    for (byte kind : new byte[] {ENTRY, CONFIGURATION}) {
      sweeping.delete(key(kind, 0), key(kind, until), BraidLogStorage::step, () -> {});
    }
  }

  /** A step ends some entries behind the first there is: their indexes say where, unread. */
  private static byte[] step(BraidDB db, byte[] begin, byte[] end) {
    try (BraidScan scan = db.scan(begin, end, true)) {
      return scan.hasNext() ? key(begin[0], indexOf(scan.peekKey()) + STEP) : null;
    }
  }
}
