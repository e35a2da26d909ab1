package com.alipay.sofa.jraft.rhea.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.alipay.sofa.jraft.rhea.errors.StorageException;
import com.alipay.sofa.jraft.rhea.metadata.Region;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock.Acquirer;
import io.braid.BraidDB;
import io.braid.BraidFactory;
import io.braid.BraidOptions;
import java.io.File;
import java.nio.file.Files;
import java.util.List;
import org.iq80.leveldb.Options;
import org.junit.jupiter.api.Test;

/** Snapshots, iterators, what is refused, and pools that this server may not use. */
@SuppressWarnings("try") // RheaKV's iterators may be interrupted, these are not
class BraidRawKVStoreTest extends StoreCase {
  private static final Region ALL = new Region(1, null, null, null, null);

  private static void says(Exception e, String... words) {
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e.getMessage());
    }
  }

  private static Region region(long id, String begin, String end) {
    return new Region(id, begin == null ? null : bytes(begin), end == null ? null : bytes(end),
        null, null);
  }

  private static Acquirer acquirer() {
    Acquirer made = new Acquirer("client", 1000);
    made.setLockingTimestamp(5);
    return made;
  }

  private static void fill(BraidRawKVStore store, String prefix) {
    for (int i = 0; i < 2000; ++i) {
      store.put(bytes(prefix + i), bytes("value " + i), null);
    }
    store.getSequence(bytes(prefix), 10, null);
    store.tryLockWith(bytes(prefix), bytes(prefix), false, acquirer(), null);
  }

  private static String sequence(BraidRawKVStore store, String key) {
    return ask(answer -> store.getSequence(bytes(key), 0, answer)).text();
  }

  private static boolean isLocked(BraidRawKVStore store, String key) {
    return ask(answer -> store.tryLockWith(bytes(key), bytes(key), false,
        new Acquirer("another", 1), answer)).text().contains("success false");
  }

  @Test
  void aSnapshotOfTheOnlyRegionReplacesAllThatIsThere() throws Exception {
    File snapshot = new File(folder(), "kv");
    BraidRawKVStore leader = open();
    fill(leader, "a");
    leader.doSnapshotSave(null, snapshot.getPath(), ALL);
    List<String> saved = dump(leader);
    leader.delete(bytes("a0"), null);
    File folder = folder();
    BraidRawKVStore follower = new BraidRawKVStore(
        new Pool(new File(folder, "pool"), "another server", small(), false));
    follower.init(null);
    follower.put(bytes("old"), bytes("1"), null);
    follower.getSequence(bytes("old"), 3, null);
    KVIterator before = follower.localIterator();
    follower.doSnapshotLoad(null, snapshot.getPath());
    assertEquals(saved, dump(follower));
    assertEquals(sequence(leader, "a"), sequence(follower, "a"));
    assertTrue(isLocked(follower, "a"));
    assertEquals("Sequence{startValue=0, endValue=0}", sequence(follower, "old"));
    assertThrows(RuntimeException.class, before::seekToFirst); // says that it is closed
    before.close();
    follower.put(bytes("more"), bytes("1"), null);
    assertEquals("1", get(follower, "more"));
    follower.shutdown();
    follower.init(null); // the pool is still this server's
    assertEquals(List.of(), dump(follower));
    follower.shutdown();
    leader.shutdown();
  }

  @Test
  void aSnapshotOfOneRegionLeavesTheOthersAlone() throws Exception {
    File snapshot = new File(folder(), "kv");
    BraidRawKVStore leader = open();
    for (String prefix : List.of("a", "b", "c")) {
      fill(leader, prefix);
    }
    leader.doSnapshotSave(null, snapshot.getPath(), region(2, "b", "c"));
    BraidRawKVStore follower = open();
    follower.put(bytes("a old"), bytes("1"), null);
    follower.put(bytes("b old"), bytes("1"), null);
    follower.put(bytes("c old"), bytes("1"), null);
    follower.doSnapshotLoad(null, snapshot.getPath());
    assertEquals("1", get(follower, "a old"));
    assertNull(get(follower, "b old"));
    assertEquals("1", get(follower, "c old"));
    assertEquals(2002, dump(follower).size());
    assertEquals("value 7", get(follower, "b7"));
    assertTrue(isLocked(follower, "b"));
    assertFalse(isLocked(follower, "c"));
    leader.doSnapshotSave(null, snapshot.getPath(), region(3, "c", null)); // over the other one
    follower.doSnapshotLoad(null, snapshot.getPath());
    assertNull(get(follower, "c old"));
    assertEquals("value 7", get(follower, "c7"));
    assertEquals("value 7", get(follower, "b7"));
    follower.shutdown();
    leader.shutdown();
  }

  @Test
  void aDamagedSnapshotChangesNothing() throws Exception {
    File snapshot = new File(folder(), "kv");
    BraidRawKVStore store = open();
    store.put(bytes("a"), bytes("1"), null);
    store.doSnapshotSave(null, snapshot.getPath(), ALL);
    for (File file : snapshot.listFiles()) {
      if (file.isFile() && file.length() > 4096) {
        Files.write(file.toPath(), new byte[4096]);
      }
    }
    store.put(bytes("b"), bytes("2"), null);
    assertThrows(Exception.class, () -> store.doSnapshotLoad(null, snapshot.getPath()));
    assertEquals(List.of("a=1", "b=2"), dump(store));
    store.shutdown();
  }

  @Test
  void anIteratorMovesBothWays() throws Exception {
    BraidRawKVStore store = open();
    store.getSequence(bytes("s"), 1, null);
    try (KVIterator empty = store.localIterator()) {
      empty.seekToFirst();
      assertFalse(empty.isValid());
      empty.seekToLast();
      assertFalse(empty.isValid());
    }
    for (String key : List.of("b", "d", "f")) {
      store.put(bytes(key), bytes(key), null);
    }
    try (KVIterator iterator = store.localIterator()) {
      iterator.seekToLast();
      assertEquals("f", text(iterator.key()));
      iterator.prev();
      assertEquals("d", text(iterator.key()));
      iterator.next();
      assertEquals("f", text(iterator.key()));
      iterator.next();
      assertFalse(iterator.isValid());
      iterator.seek(bytes("c"));
      assertEquals("d", text(iterator.value()));
      iterator.seekForPrev(bytes("c"));
      assertEquals("b", text(iterator.key()));
      iterator.seekForPrev(bytes("d"));
      assertEquals("d", text(iterator.key()));
      iterator.seekForPrev(bytes("z"));
      assertEquals("f", text(iterator.key()));
      iterator.seekForPrev(bytes("a"));
      assertFalse(iterator.isValid());
    }
    store.shutdown();
  }

  @Test
  void aKeyThatIsTooLongFailsAlone() throws Exception {
    BraidRawKVStore store = open();
    byte[] tooLong = new byte[Keys.MOST_BYTES + 1];
    byte[] longest = new byte[Keys.MOST_BYTES];
    KVStateOutputList states = KVStateOutputList.newInstance();
    Answer first = new Answer();
    Answer refused = new Answer();
    Answer last = new Answer();
    states.add(KVState.of(KVOperation.createPut(bytes("a"), bytes("1")), first));
    states.add(KVState.of(KVOperation.createPut(tooLong, bytes("2")), refused));
    states.add(KVState.of(KVOperation.createPut(longest, bytes("3")), last));
    store.batchPut(states);
    assertEquals("true", first.text());
    assertTrue(refused.text().contains("shorter keys"), refused.text());
    assertEquals("true", last.text());
    assertEquals("1", get(store, "a"));
    assertEquals("\"3\"", ask(answer -> store.get(longest, answer)).text());
    assertEquals("null", ask(answer -> store.get(tooLong, answer)).text());
    assertEquals("{}", ask(answer -> store.multiGet(List.of(tooLong), answer)).text());
    Answer list = ask(answer -> store.put(
        List.of(new KVEntry(bytes("b"), bytes("1")), new KVEntry(tooLong, bytes("1"))), answer));
    assertTrue(list.text().contains("shorter keys"), list.text());
    assertNull(get(store, "b")); // all or nothing
    store.shutdown();
  }

  @Test
  void aFullPoolEndsTheReplicaWithARemedy() throws Exception {
    File path = new File(folder(), "pool");
    BraidOptions options = small();
    options.set("pool.initial_bytes", "8M").set("pool.max_bytes", "24M");
    BraidRawKVStore store = new BraidRawKVStore(new Pool(path, "a test", options, false));
    store.init(null);
    store.put(bytes("first"), bytes("1"), null);
    byte[] large = new byte[256 << 10];
    StorageException full = assertThrows(StorageException.class, () -> {
      for (int i = 0; i < 1000; ++i) {
        store.put(bytes("key" + i), large, null);
      }
    });
    says(full, "space", "pool.max_bytes", path.getPath(), "acknowledged");
    assertEquals("1", get(store, "first"));
    store.shutdown();
  }

  private static StorageException refused(File path, String owner, BraidOptions options) {
    BraidRawKVStore store = new BraidRawKVStore(new Pool(path, owner, options, false));
    return assertThrows(StorageException.class, () -> store.init(null));
  }

  @Test
  void aPoolOfAnotherServerIsRefusedAndKept() throws Exception {
    File folder = folder();
    open(folder).shutdown();
    File path = pool(folder).path();
    says(refused(path, "another", small()), "a test", "another", "BraidStoreOptions.pool");
    open(folder).shutdown();
  }

  @Test
  void aPoolOfOtherDataIsRefusedAndKept() throws Exception {
    File path = new File(folder(), "pool");
    try (BraidDB db = BraidFactory.factory.open(path, new Options())) {
      db.put(bytes("mine"), bytes("1"));
    }
    says(refused(path, "a test", small()), "not RheaKV's", "BraidStoreOptions.pool");
    try (BraidDB db = BraidFactory.factory.open(path, new Options())) {
      assertEquals("1", text(db.get(bytes("mine"))));
    }
  }

  @Test
  void aPoolThatIsOpenIsRefused() throws Exception {
    File folder = folder();
    BraidRawKVStore store = open(folder);
    says(refused(store.path(), "a test", small()), store.path().getPath(),
        "BraidStoreOptions.pool");
    store.put(bytes("a"), bytes("1"), null);
    assertEquals("1", get(store, "a"));
    store.shutdown();
  }

  @Test
  void pathsAndOptionsThatAreWrongAreNamed() throws Exception {
    File file = new File(folder(), "file");
    Files.writeString(file.toPath(), "no folder");
    says(refused(new File(file, "pool"), "a test", small()), file.getName(),
        "BraidStoreOptions.pool");
    BraidOptions wrong = small();
    wrong.set("no.such", "1");
    says(refused(new File(folder(), "pool"), "a test", wrong), "no.such", "memtable.bytes");
  }

  @Test
  void afterItsEndTheStoreSaysSo() throws Exception {
    BraidRawKVStore store = open();
    store.shutdown();
    store.shutdown();
    assertTrue(ask(answer -> store.get(bytes("a"), answer)).text().contains("closed"));
    says(assertThrows(StorageException.class, () -> store.put(bytes("a"), bytes("1"), null)),
        "closed");
  }
}
