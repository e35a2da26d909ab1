package io.braid.rheakv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.alipay.sofa.jraft.JRaftUtils;
import com.alipay.sofa.jraft.conf.ConfigurationManager;
import com.alipay.sofa.jraft.entity.EnumOutter.EntryType;
import com.alipay.sofa.jraft.entity.LogEntry;
import com.alipay.sofa.jraft.entity.LogId;
import com.alipay.sofa.jraft.entity.codec.v2.LogEntryV2CodecFactory;
import com.alipay.sofa.jraft.option.LogStorageOptions;
import com.alipay.sofa.jraft.option.RaftOptions;
import com.alipay.sofa.jraft.rhea.errors.StorageException;
import com.alipay.sofa.jraft.storage.LogStorage;
import com.alipay.sofa.jraft.storage.impl.RocksDBLogStorage;
import io.braid.BraidDB;
import io.braid.BraidFactory;
import io.braid.BraidOptions;
import io.braid.testing.Folders;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.iq80.leveldb.Options;
import org.junit.jupiter.api.Test;

/** Raft's log: what JRaft expects of one, and that it answers as the one in RocksDB does. */
class BraidLogStorageTest extends Folders {
  private static LogStorageOptions options(ConfigurationManager manager) {
    LogStorageOptions made = new LogStorageOptions();
    made.setGroupId("group");
    made.setConfigurationManager(manager);
    made.setLogEntryCodecFactory(LogEntryV2CodecFactory.getInstance());
    return made;
  }

  private static BraidOptions small() {
    BraidOptions made = new BraidOptions();
    made.set("memory_budget_bytes", "32M").set("memtable.bytes", "256K");
    return made;
  }

  private static BraidLogStorage open(File path, ConfigurationManager manager) {
    BraidLogStorage made = new BraidLogStorage(path, true, small());
    assertTrue(made.init(options(manager)));
    return made;
  }

  private static BraidLogStorage open(File path) {
    return open(path, new ConfigurationManager());
  }

  private static LogEntry entry(long index, long term, String data) {
    LogEntry made = new LogEntry(EntryType.ENTRY_TYPE_DATA);
    made.setId(new LogId(index, term));
    made.setData(ByteBuffer.wrap(bytes(data)));
    return made;
  }

  private static LogEntry configuration(long index, String peers) {
    LogEntry made = new LogEntry(EntryType.ENTRY_TYPE_CONFIGURATION);
    made.setId(new LogId(index, 1));
    made.setPeers(JRaftUtils.getConfiguration(peers).listPeers());
    return made;
  }

  @Test
  void anEmptyLog() throws Exception {
    BraidLogStorage log = open(new File(folder(), "log"));
    assertEquals(1, log.getFirstLogIndex());
    assertEquals(0, log.getLastLogIndex());
    assertNull(log.getEntry(1));
    assertEquals(0, log.appendEntries(List.of()));
    log.shutdown();
    log.shutdown();
    assertThrows(IllegalStateException.class, log::getLastLogIndex);
  }

  @Test
  void configurationsAreKnownAgain() throws Exception {
    File path = new File(folder(), "log");
    BraidLogStorage log = open(path);
    assertTrue(log.appendEntry(configuration(99, "localhost:8081,localhost:8082")));
    assertEquals(2, log.appendEntries(
        List.of(entry(100, 1, "a"), configuration(101, "localhost:8081,localhost:8083"))));
    log.shutdown();
    ConfigurationManager manager = new ConfigurationManager();
    log = open(path, manager);
    assertEquals("localhost:8081,localhost:8083", manager.getLastConfiguration().getConf().toString());
    assertEquals("localhost:8081,localhost:8082", manager.get(100).getConf().toString());
    log.truncateSuffix(100);
    log.shutdown();
    manager = new ConfigurationManager();
    log = open(path, manager);
    assertEquals("localhost:8081,localhost:8082", manager.getLastConfiguration().getConf().toString());
    log.shutdown();
  }

  @Test
  void whatIsBeforeTheFirstEntryIsGivenBack() throws Exception {
    File path = new File(folder(), "log");
    BraidLogStorage log = open(path);
    for (int i = 0; i < 100; ++i) {
      List<LogEntry> batch = new ArrayList<>();
      for (int n = 0; n < 100; ++n) {
        batch.add(entry(1 + i * 100L + n, 1, "data " + n));
      }
      assertEquals(100, log.appendEntries(batch));
    }
    assertTrue(log.truncatePrefix(9_001));
    assertEquals(9_001, log.getFirstLogIndex());
    assertNull(log.getEntry(9_000));
    assertEquals("data 0", text(log.getEntry(9_001).getData().array()));
    log.shutdown(); // in the middle of the work
    open(path).shutdown(); // which the next open goes on with
    long end = System.nanoTime() + 20_000_000_000L;
    long left;
    do {
      open(path).shutdown();
      left = count(path);
    } while (left > 1_002 && System.nanoTime() < end);
    assertEquals(1_002, left); // and the first index, and the format
  }

  private static long count(File path) throws Exception {
    long found = 0;
    try (BraidDB db = BraidFactory.factory.open(path, new Options());
        io.braid.BraidScan scan = db.scan(null, null, true)) {
      for (; scan.hasNext(); scan.next()) {
        ++found;
      }
    }
    return found;
  }

  private static String show(LogStorage log, long last) {
    StringBuilder text = new StringBuilder();
    text.append(log.getFirstLogIndex()).append(" to ").append(log.getLastLogIndex());
    for (long i = 0; i <= last + 2; ++i) {
      LogEntry entry = log.getEntry(i);
      text.append(' ').append(entry == null ? "-" : entry.getId() + ":"
          + (entry.getData() == null ? "" : text(entry.getData().array())));
    }
    return text.toString();
  }

  /** With a RocksDB log beside it. */
  @Test
  void randomWork() throws Exception {
    long seed = seed();
    Random random = new Random(seed);
    File path = new File(folder(), "log");
    LogStorage log = open(path);
    LogStorage model = new RocksDBLogStorage(folder().getPath(), new RaftOptions());
    assertTrue(model.init(options(new ConfigurationManager())));
    long next = 1;
    long first = 1;
    for (int i = 0; i < (isNight() ? 5_000 : 300); ++i) {
      int what = random.nextInt(10);
      if (what < 6 || next == first) {
        List<LogEntry> batch = new ArrayList<>();
        for (int n = random.nextInt(6); n >= 0; --n) {
          batch.add(entry(next++, i, "data " + random.nextInt(1000)));
        }
        assertEquals(batch.size(), log.appendEntries(batch));
        model.appendEntries(batch);
      } else if (what == 6) {
        first += random.nextInt((int) (next - first));
        assertTrue(log.truncatePrefix(first));
        model.truncatePrefix(first);
      } else if (what == 7) {
        long last = first + random.nextInt((int) (next - first));
        next = last + 1;
        assertTrue(log.truncateSuffix(last));
        model.truncateSuffix(last);
      } else if (what == 8) {
        log.shutdown();
        log = open(path);
      } else if (random.nextInt(5) == 0) {
        first = next + random.nextInt(3) - 1;
        assertTrue(log.reset(first));
        model.reset(first);
        next = first + 1;
      }
      assertEquals(show(model, next), show(log, next), "BRAID_SEED=" + seed + ", step " + i);
    }
    log.shutdown();
    model.shutdown();
  }

  private static void refused(File path, BraidOptions options, String... words) {
    BraidLogStorage log = new BraidLogStorage(path, true, options);
    StorageException e = assertThrows(
        StorageException.class, () -> log.init(options(new ConfigurationManager())));
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e.getMessage());
    }
  }

  @Test
  void foldersThatHaveSomethingElseAreRefusedAndKept() throws Exception {
    File file = new File(folder(), "file");
    Files.writeString(file.toPath(), "no folder");
    refused(new File(file, "log"), small(), "file", "can write to");
    File pool = new File(folder(), "pool");
    try (BraidDB db = BraidFactory.factory.open(pool, new Options())) {
      db.put(bytes("mine"), bytes("1"));
      refused(pool, small(), pool.getPath(), "no other process");
    }
    refused(pool, small(), "no log of Raft", "logUri");
    try (BraidDB db = BraidFactory.factory.open(pool, new Options())) {
      assertEquals("1", text(db.get(bytes("mine"))));
    }
    File rocks = folder();
    LogStorage model = new RocksDBLogStorage(rocks.getPath(), new RaftOptions());
    assertTrue(model.init(options(new ConfigurationManager())));
    model.shutdown();
    refused(rocks, small(), "RocksDB", "join again");
    BraidOptions wrong = small();
    wrong.set("no.such", "1");
    refused(new File(folder(), "log"), wrong, "no.such", "memtable.bytes");
  }

  @Test
  void aFullPoolLosesNothing() throws Exception {
    File path = new File(folder(), "log");
    BraidOptions options = small();
    options.set("pool.initial_bytes", "8M").set("pool.max_bytes", "24M");
    BraidLogStorage log = new BraidLogStorage(path, true, options);
    assertTrue(log.init(options(new ConfigurationManager())));
    String large = "x".repeat(256 << 10);
    long last = 0;
    while (log.appendEntry(entry(last + 1, 1, large))) {
      ++last;
      assertTrue(last < 1000, "the pool never became full");
    }
    assertEquals(last, log.getLastLogIndex());
    log.shutdown();
    log = open(path); // with room
    assertEquals(last, log.getLastLogIndex());
    assertTrue(log.appendEntry(entry(last + 1, 1, large)));
    assertFalse(log.getEntry(last + 1) == null);
    log.shutdown();
  }
}
