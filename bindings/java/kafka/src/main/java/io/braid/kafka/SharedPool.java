package io.braid.kafka;

import io.braid.BraidDB;
import io.braid.BraidFactory;
import io.braid.BraidScan;
import io.braid.BraidWriteBatch;
import io.braid.RangeSweeper;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.iq80.leveldb.DBException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The pool of a KafkaStreams instance, opened by its first store and closed with its last. Each
 * store has a namespace: eight random bytes that its keys begin with. A pool knows its namespaces by
 * the places of their markers, files in the folders of the tasks that hold the same eight bytes.
 * Kafka Streams wipes a store by deleting its task's folder: a namespace whose marker is gone, or
 * holds something else, is deleted in the background, and a store that finds no marker begins a new
 * one. A number is on the list of what to delete, durably, before it is out of the list of names.
 *
 * <p>Keys of the pool itself begin with eight zero bytes: "a", the application's id; "v", the
 * layout's version; "n" and a place, the namespace that belongs there; "r" and a namespace, one that
 * is to be deleted. Any thread.
 */
final class SharedPool {
  private static final Logger LOG = LoggerFactory.getLogger(SharedPool.class);
  private static final int VERSION = 1;
  private static final Duration LOOK = Duration.ofMinutes(10); // for tasks that are gone
  private static final byte[] APPLICATION = own('a', new byte[0]);
  private static final byte[] LAYOUT = own('v', new byte[0]);
  private static final Map<Path, SharedPool> OPEN = new HashMap<>();
  private static final SecureRandom RANDOM = new SecureRandom();

  private final Path path;
  private final File root;
  private final ResourceGroup group; // null: none
  private final BraidDB db;
  private final RangeSweeper sweeper;
  private final PoolMetrics metrics;
  private final Map<String, Integer> used = new HashMap<>(); // places, and how many have them open
  private int stores;

  private SharedPool(Path path, BraidConfig config, ResourceGroup group, Metrics registry)
      throws IOException {
    this.path = path;
    this.root = config.root;
    this.group = group;
    Files.createDirectories(path.toAbsolutePath().getParent());
    db = BraidFactory.factory.open(
        path.toFile(), config.options(group == null ? null : group.resources()));
    List<Entry<byte[], byte[]>> removals;
    boolean done = false; // also when what fails is an Error: nothing else would close it
    try {
      check(config.application);
      if (config.publishesStatistics) {
        db.publishStatistics(true);
      }
      findOrphans();
      removals = list('r');
      metrics = new PoolMetrics(db, path.toString(), registry);
      done = true;
    } finally {
      if (!done) {
        db.close();
      }
    }
    sweeper = new RangeSweeper(db, "braid-sweeper", e -> LOG.warn("what is obsolete in the pool {}"
        + " could not be deleted: {}; the next open of the pool tries again", path, e.getMessage()));
    removals.forEach(removal -> removeNamespace(removal.getKey()));
    sweeper.every(LOOK, () -> findOrphans().forEach(this::removeNamespace));
  }

  private void removeNamespace(byte[] namespace) {
    sweeper.delete(namespace, BraidDB.prefixUpperBound(namespace), RangeSweeper::afterEntries,
        () -> db.delete(removalKey(namespace)));
  }

  private static byte[] own(char kind, byte[] rest) {
    return ByteBuffer.allocate(Long.BYTES + 1 + rest.length).putLong(0).put((byte) kind).put(rest)
        .array();
  }

  private static byte[] placeKey(String place) {
    return own('n', place.getBytes(StandardCharsets.UTF_8));
  }

  static byte[] removalKey(byte[] namespace) {
    return own('r', namespace);
  }

  /**
   * The pool of the instance, which is opened if it is not, and is then seen in `registry` (may be
   * null). Each is to be released once.
   */
  static SharedPool acquire(BraidConfig config, Metrics registry) {
    Path path = config.pool.toPath().toAbsolutePath().normalize();
    synchronized (OPEN) {
      SharedPool pool = OPEN.get(path);
      if (pool != null && !pool.root.equals(config.root)) {
        throw new ProcessorStateException("the pool " + path + " is in use by the KafkaStreams"
            + " instance of this process whose stores are in " + pool.root
            + ": give each instance a pool of its own with " + BraidConfig.POOL);
      }
      if (pool == null) {
        pool = open(path, config, registry);
        OPEN.put(path, pool);
      }
      ++pool.stores;
      return pool;
    }
  }

  private static SharedPool open(Path path, BraidConfig config, Metrics registry) {
    ResourceGroup group =
        config.group == null ? null : ResourceGroup.acquire(config.group, config.limits);
    boolean done = false;
    try {
      SharedPool made = new SharedPool(path, config, group, registry);
      done = true;
      return made;
    } catch (IOException | DBException e) {
      throw new ProcessorStateException("the pool " + path + " of the application "
          + config.application + " can't be opened: " + e.getMessage() + ". " + BraidConfig.POOL
          + " names a folder that this process can write to and no other process has open, "
          + BraidConfig.SET + "NAME options as `braid options` lists them" + (group == null ? ""
              : ", " + BraidConfig.MEMORY_BUDGET + " what all instances of the group "
              + config.group + " have together"), e);
    } finally {
      if (!done && group != null) {
        group.release();
      }
    }
  }

  /** Lets go of it; the last one closes it. */
  void release() {
    synchronized (OPEN) {
      if (--stores > 0) {
        return;
      }
      OPEN.remove(path);
      try {
        metrics.close();
        sweeper.close();
        db.close();
      } finally {
        if (group != null) {
          group.release();
        }
      }
    }
  }

  private void check(String application) {
    byte[] owner = db.get(APPLICATION);
    if (owner == null) {
      try (BraidScan any = db.scan(null, null, true)) {
        if (any.hasNext()) {
          throw new ProcessorStateException("the pool " + path + " holds data that are not Kafka"
              + " Streams': name another folder with " + BraidConfig.POOL);
        }
      }
      try (BraidWriteBatch batch = db.createWriteBatch()) {
        batch.put(APPLICATION, application.getBytes(StandardCharsets.UTF_8));
        batch.put(LAYOUT, new byte[] {VERSION});
        db.write(batch);
      }
      return;
    }
    String name = new String(owner, StandardCharsets.UTF_8);
    if (!name.equals(application)) {
      throw new ProcessorStateException("the pool " + path + " belongs to the application " + name
          + ", not to " + application + ": name another folder with " + BraidConfig.POOL
          + ", or remove the pool if that application is no more");
    }
    byte[] version = db.get(LAYOUT);
    if (version == null || version.length != 1 || version[0] != VERSION) {
      throw new ProcessorStateException("the pool " + path + " was written by a newer version of"
          + " braid-kafka-streams: use that, or remove the pool and the folders of the tasks in "
          + root + ", and the stores are restored from their changelogs");
    }
  }

  private List<Entry<byte[], byte[]>> list(char kind) {
    byte[] begin = own(kind, new byte[0]);
    List<Entry<byte[], byte[]>> found = new ArrayList<>();
    try (BraidScan scan = db.scan(begin, BraidDB.prefixUpperBound(begin), true)) {
      while (scan.hasNext()) {
        Entry<byte[], byte[]> entry = scan.next();
        byte[] key = entry.getKey();
        found.add(Map.entry(
            Arrays.copyOfRange(key, Long.BYTES + 1, key.length), entry.getValue()));
      }
    }
    return found;
  }

  /** Puts each namespace without its marker on the list of what to delete; returns these. */
  synchronized List<byte[]> findOrphans() {
    List<byte[]> orphans = new ArrayList<>();
    for (Entry<byte[], byte[]> name : list('n')) {
      String place = new String(name.getKey(), StandardCharsets.UTF_8);
      if (used.containsKey(place) || isMarked(place, name.getValue())) {
        continue;
      }
      try (BraidWriteBatch batch = db.createWriteBatch()) {
        batch.put(removalKey(name.getValue()), new byte[0]).delete(placeKey(place));
        db.write(batch);
      }
      orphans.add(name.getValue());
    }
    return orphans;
  }

  /** A marker that can't be read may be there: what it names is kept. */
  private boolean isMarked(String place, byte[] namespace) {
    try {
      return Arrays.equals(read(new File(root, place)), namespace);
    } catch (IOException e) {
      return true;
    }
  }

  /** What a marker holds; null: there is none, or it is no marker. */
  private static byte[] read(File marker) throws IOException {
    try {
      String text = Files.readString(marker.toPath(), StandardCharsets.ISO_8859_1).trim();
      return ByteBuffer.allocate(Long.BYTES).putLong(Long.parseUnsignedLong(text, 16)).array();
    } catch (NoSuchFileException | NumberFormatException e) {
      return null;
    }
  }

  private static void write(File marker, byte[] namespace) throws IOException {
    Path folder = marker.toPath().getParent();
    Files.createDirectories(folder);
    Path next = folder.resolve(marker.getName() + ".new");
    String text = String.format("%016x%n", ByteBuffer.wrap(namespace).getLong());
    try (FileChannel file = FileChannel.open(next, StandardOpenOption.CREATE,
        StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
      file.write(ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII)));
      file.force(true);
    }
    Files.move(next, marker.toPath(), StandardCopyOption.REPLACE_EXISTING,
        StandardCopyOption.ATOMIC_MOVE);
  }

  private static byte[] fresh() {
    byte[] namespace = new byte[Long.BYTES];
    do {
      RANDOM.nextBytes(namespace);
    } while (ByteBuffer.wrap(namespace).getLong() == 0);
    return namespace;
  }

  private String placeOf(File marker) {
    return root.toPath().relativize(marker.getAbsoluteFile().toPath()).toString();
  }

  /** The namespace that the marker names; a new one, with a new marker, where there is none. */
  synchronized byte[] openNamespace(File marker) {
    String place = placeOf(marker);
    try {
      byte[] known = db.get(placeKey(place));
      if (known == null || !Arrays.equals(known, read(marker))) {
        known = replace(place, known);
        write(marker, known);
      }
      used.merge(place, 1, Integer::sum);
      return known;
    } catch (IOException e) {
      throw new ProcessorStateException("the marker " + marker + " of a store can't be read or"
          + " written: " + e.getMessage() + ". The state.dir must be a folder that this process can"
          + " write to", e);
    }
  }

  /** Gives the place a new namespace. */
  private byte[] replace(String place, byte[] old) {
    byte[] made = fresh();
    try (BraidWriteBatch batch = db.createWriteBatch()) {
      if (old != null) {
        batch.put(removalKey(old), new byte[0]);
      }
      batch.put(placeKey(place), made);
      db.write(batch);
    }
    if (old != null) {
      removeNamespace(old);
    }
    return made;
  }

  synchronized void closeNamespace(File marker) {
    used.computeIfPresent(placeOf(marker), (place, count) -> count == 1 ? null : count - 1);
  }

  BraidDB db() {
    return db;
  }

  RangeSweeper sweeper() {
    return sweeper;
  }

  Path path() {
    return path;
  }
}
