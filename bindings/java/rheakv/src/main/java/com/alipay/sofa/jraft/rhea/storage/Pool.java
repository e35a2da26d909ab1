package com.alipay.sofa.jraft.rhea.storage;

import com.alipay.sofa.jraft.rhea.errors.StorageException;
import com.alipay.sofa.jraft.rhea.metadata.Region;
import com.alipay.sofa.jraft.rhea.util.RegionHelper;
import io.braid.BraidDB;
import io.braid.BraidFactory;
import io.braid.BraidOptions;
import io.braid.BraidScan;
import io.braid.BraidWriteBatch;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.Map.Entry;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.ReadOptions;
import org.iq80.leveldb.Snapshot;

/**
 * The pool of one RheaKV server: who it belongs to, its snapshots, and the snapshots that take its
 * place. Any thread; a snapshot that is loaded waits until nobody uses the pool, and whoever wants
 * to use it waits for the snapshot.
 */
public final class Pool {
  private static final byte VERSION = 1;
  private static final int BATCH_BYTES = 1 << 20;

  private final File path;
  private final String owner;
  private final BraidOptions options;
  private final boolean published;
  private final ReadWriteLock lock = new ReentrantReadWriteLock();
  private BraidDB db; // null: closed

  /**
   * @param path the folder of the pool
   * @param owner whose it is: the cluster and the server
   * @param options with which it is opened
   * @param published whether `braid top` and `braid metrics` of another process see it
   */
  public Pool(File path, String owner, BraidOptions options, boolean published) {
    this.path = path.getAbsoluteFile();
    this.owner = owner;
    this.options = options;
    this.published = published;
  }

  /** The database, which stays the same until it is closed. */
  interface Use extends AutoCloseable {
    BraidDB db();

    @Override
    void close();
  }

  Use use() {
    lock.readLock().lock();
    BraidDB now = db;
    if (now == null) {
      lock.readLock().unlock();
      throw new StorageException("the pool " + path + " is closed");
    }
    return new Use() {
      @Override
      public BraidDB db() {
        return now;
      }

      @Override
      public void close() {
        lock.readLock().unlock();
      }
    };
  }

  File path() {
    return path;
  }

  private File incoming() {
    return new File(path.getPath() + ".incoming");
  }

  /** What an error of the pool means for who runs the server. */
  String explain(RuntimeException e) {
    return e.getMessage() + " (pool " + path + "). If it is full, give its device or the option"
        + " pool.max_bytes more room. Start the server again once the cause is gone: Raft's log and"
        + " snapshot have all that was acknowledged";
  }

  // ---- Opening

  /** Opens the pool, empty: Raft brings what belongs into it. */
  void open() {
    lock.writeLock().lock();
    try {
      if (db != null) {
        return;
      }
      Files.createDirectories(path.toPath().getParent());
      if (path.exists()) {
        checkOwner();
        BraidFactory.factory.destroy(path, options);
      }
      BraidFactory.factory.destroy(incoming(), options);
      openSigned();
    } catch (IOException | DBException e) {
      throw new StorageException("the pool " + path + " of " + owner + " can't be opened: "
          + e.getMessage() + ". Name a folder that this process can write to and that no other"
          + " process has open (BraidStoreOptions.pool), and options as `braid options` lists them"
          + " (BraidStoreOptions.set)", e);
    } finally {
      lock.writeLock().unlock();
    }
  }

  private void openSigned() throws IOException {
    BraidDB made = BraidFactory.factory.open(path, options);
    boolean done = false;
    try {
      sign(made);
      if (published) {
        made.publishStatistics(true);
      }
      done = true;
    } finally {
      if (!done) {
        made.close();
      }
    }
    db = made;
  }

  private void sign(BraidDB made) {
    try (BraidWriteBatch batch = made.createWriteBatch()) {
      batch.put(Keys.OWNER, owner.getBytes(StandardCharsets.UTF_8));
      batch.put(Keys.LAYOUT, new byte[] {VERSION});
      made.write(batch);
    }
  }

  /** Only what this server has written may be removed. */
  private void checkOwner() throws IOException {
    BraidOptions existing = new BraidOptions();
    existing.createIfMissing(false);
    try (BraidDB found = BraidFactory.factory.open(path, existing)) {
      byte[] name = found.get(Keys.OWNER);
      String text = name == null ? null : new String(name, StandardCharsets.UTF_8);
      if (owner.equals(text)) {
        return;
      }
      if (text != null) {
        throw new StorageException("the pool " + path + " belongs to " + text + ", not to " + owner
            + ": name another folder with BraidStoreOptions.pool, or remove the pool if that server"
            + " is no more; it was not changed");
      }
      try (BraidScan any = found.scan(null, null, true)) {
        if (any.hasNext()) {
          throw new StorageException("the pool " + path + " holds data that are not RheaKV's: name"
              + " another folder with BraidStoreOptions.pool; it was not changed");
        }
      }
    }
  }

  void close() {
    lock.writeLock().lock();
    try {
      if (db != null) {
        db.close();
        db = null;
      }
    } finally {
      lock.writeLock().unlock();
    }
  }

  // ---- Snapshots

  private static BraidOptions small() {
    BraidOptions made = new BraidOptions();
    made.set("pool.initial_bytes", "8M").set("memory_budget_bytes", "32M");
    made.set("memtable.bytes", "1M");
    return made;
  }

  /**
   * Writes a pool at `target` with what is the region's at this moment. With one region it is a
   * checkpoint.
   */
  void save(File target, Region region) throws IOException {
    delete(target);
    try (Use use = use()) {
      if (RegionHelper.isSingleGroup(region)) {
        use.db().checkpoint(target);
        return;
      }
      Snapshot now = use.db().getSnapshot();
      try (BraidDB made = BraidFactory.factory.open(target, small())) {
        made.put(Keys.RANGE_BEGIN, orEmpty(region.getStartKey()));
        if (orEmpty(region.getEndKey()).length > 0) {
          made.put(Keys.RANGE_END, region.getEndKey());
        }
        copy(use.db(), now, made, region.getStartKey(), region.getEndKey());
      } finally {
        close(now);
      }
    }
  }

  private static void close(Snapshot snapshot) {
    try {
      snapshot.close();
    } catch (IOException e) {
      throw new StorageException("a snapshot can't be released: " + e.getMessage(), e);
    }
  }

  private static byte[] orEmpty(byte[] key) {
    return key == null ? new byte[0] : key;
  }

  /** What is of a region, from one database to another. */
  private static void copy(BraidDB from, Snapshot at, BraidDB to, byte[] begin, byte[] end) {
    ReadOptions options = new ReadOptions().snapshot(at);
    byte[] last = end == null || end.length == 0 ? null : end;
    for (byte kind : Keys.OF_REGIONS) {
      try (BraidScan scan =
          from.scan(options, Keys.begin(kind, begin), Keys.end(kind, last), true)) {
        while (scan.hasNext()) {
          copySome(scan, to);
        }
      }
    }
  }

  private static void copySome(BraidScan scan, BraidDB to) {
    try (BraidWriteBatch batch = to.createWriteBatch()) {
      for (long bytes = 0; bytes < BATCH_BYTES && scan.hasNext();) {
        Entry<byte[], byte[]> entry = scan.next();
        batch.put(entry.getKey(), entry.getValue());
        bytes += entry.getKey().length + entry.getValue().length;
      }
      to.write(batch);
    }
  }

  /** Replaces what is of the snapshot's region. After an error of a whole pool all is as before. */
  void load(File snapshot) throws IOException {
    byte[] begin;
    byte[] end;
    try (BraidDB copy = BraidFactory.factory.open(snapshot, small())) {
      begin = copy.get(Keys.RANGE_BEGIN);
      end = copy.get(Keys.RANGE_END);
      if (begin == null) {
        sign(copy); // it is another server's, and a crash must not leave that in this one's place
      }
    }
    lock.writeLock().lock();
    try {
      if (db == null) {
        throw new StorageException("the pool " + path + " is closed");
      }
      if (begin == null) {
        exchange(snapshot);
      } else {
        replace(snapshot, begin, end);
      }
    } finally {
      lock.writeLock().unlock();
    }
  }

  private void exchange(File snapshot) throws IOException {
    File incoming = incoming();
    BraidFactory.factory.destroy(incoming, options);
    BraidFactory.factory.restore(snapshot, incoming, options);
    db.close();
    db = null;
    BraidFactory.factory.destroy(path, options);
    Files.move(incoming.toPath(), path.toPath(), StandardCopyOption.ATOMIC_MOVE);
    openSigned();
  }

  private void replace(File snapshot, byte[] begin, byte[] end) throws IOException {
    for (byte kind : Keys.OF_REGIONS) {
      db.deleteRange(Keys.begin(kind, begin), Keys.end(kind, end));
    }
    try (BraidDB copy = BraidFactory.factory.open(snapshot, small())) {
      Snapshot now = copy.getSnapshot();
      try {
        copy(copy, now, db, begin, end);
      } finally {
        close(now);
      }
    }
  }

  private static void delete(File folder) throws IOException {
    File[] inside = folder.listFiles();
    if (inside != null) {
      for (File file : inside) {
        delete(file);
      }
    }
    Files.deleteIfExists(folder.toPath());
  }

  @Override
  public String toString() {
    return "the pool " + path;
  }
}
