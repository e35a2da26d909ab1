package io.braid.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.BraidDB;
import io.braid.BraidFactory;
import io.braid.BraidScan;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.processor.TaskId;
import org.iq80.leveldb.Options;
import org.junit.jupiter.api.Test;

/** One pool for many stores: who shares it, who may not, and what becomes of wiped stores. */
class PoolTest extends StoreCase {
  private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);

  private static BraidKeyValueStore open(TestContext context, String name) {
    BraidKeyValueStore store = new BraidKeyValueStore(name);
    store.init(context, store);
    return store;
  }

  private static TestContext context(File states, int task) {
    return new TestContext(states, new TaskId(0, task), false);
  }

  private static ProcessorStateException refused(TestContext context) {
    return assertThrows(ProcessorStateException.class, () -> open(context, "store"));
  }

  private static void says(ProcessorStateException e, String... words) {
    for (String word : words) {
      assertTrue(e.getMessage().contains(word), e.getMessage());
    }
  }

  private static File poolOf(File states) {
    return new File(new File(states, "application"), "braid");
  }

  /** How many entries of stores there are. */
  private static int entries(File pool) throws IOException {
    int count = 0;
    try (BraidDB db = BraidFactory.factory.open(pool, new Options());
        BraidScan scan = db.scan(new byte[] {0, 0, 0, 0, 0, 0, 0, 1}, null, true)) {
      while (scan.hasNext()) {
        count += scan.next().getKey()[Long.BYTES] == Space.DATA ? 1 : 0;
      }
    }
    return count;
  }

  private static void waitUntilEmpty(File states, int expected) throws Exception {
    long end = System.nanoTime() + 20_000_000_000L;
    int found;
    do {
      open(context(states, 9), "other").close(); // opens the pool, sweeps, and closes it
      found = entries(poolOf(states));
    } while (found != expected && System.nanoTime() < end);
    assertEquals(expected, found);
  }

  @Test
  void storesOfAnInstanceShareAPoolAndNotTheirKeys() throws IOException {
    File states = folder();
    BraidKeyValueStore a = open(context(states, 0), "a");
    BraidKeyValueStore b = open(context(states, 0), "b");
    BraidKeyValueStore c = open(context(states, 1), "a");
    a.put(key("k"), bytes("1"));
    b.put(key("k"), bytes("2"));
    c.put(key("k"), bytes("3"));
    a.close();
    assertEquals(List.of("k=2"), all(b.all()));
    assertEquals(List.of("k=3"), all(c.all()));
    b.close();
    c.close();
    BraidKeyValueStore again = open(context(states, 0), "a");
    assertEquals(List.of("k=1"), all(again.all()));
    again.close();
    assertTrue(poolOf(states).isDirectory());
  }

  @Test
  void aWipedStoreIsEmptyAndItsEntriesGo() throws Exception {
    File states = folder();
    TestContext context = context(states, 0);
    BraidKeyValueStore store = open(context, "store");
    for (int i = 0; i < 10_000; ++i) {
      store.put(key("key" + i), bytes("value"));
    }
    store.commit(Map.of(CHANGELOG, 5L));
    store.close();
    delete(context.stateDir().toPath());

    store = open(context(states, 0), "store");
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(List.of(), all(store.all()));
    store.put(key("new"), bytes("1"));
    store.close();
    waitUntilEmpty(states, 1);
    store = open(context(states, 0), "store");
    assertEquals(List.of("new=1"), all(store.all()));
    store.close();
  }

  @Test
  void aStoreWipedWhileThePoolIsOpenIsEmpty() throws Exception {
    File states = folder();
    BraidKeyValueStore other = open(context(states, 1), "store");
    other.put(key("b"), bytes("2"));
    TestContext context = context(states, 0);
    BraidKeyValueStore store = open(context, "store");
    store.put(key("a"), bytes("1"));
    store.commit(Map.of(CHANGELOG, 5L));
    store.close();
    delete(context.stateDir().toPath());
    store = open(context(states, 0), "store");
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(List.of(), all(store.all()));
    assertEquals(List.of("b=2"), all(other.all()));
    store.close();
    other.close();
    waitUntilEmpty(states, 1);
  }

  @Test
  void aTaskThatIsGoneLeavesNothing() throws Exception {
    File states = folder();
    TestContext context = context(states, 0);
    BraidKeyValueStore store = open(context, "store");
    store.put(key("a"), bytes("1"));
    store.close();
    BraidKeyValueStore other = open(context(states, 1), "store");
    other.put(key("b"), bytes("2"));
    other.close();
    delete(context.stateDir().toPath());
    waitUntilEmpty(states, 1);
  }

  @Test
  void aDamagedMarkerIsANewStore() throws Exception {
    File states = folder();
    TestContext context = context(states, 0);
    BraidKeyValueStore store = open(context, "store");
    store.put(key("a"), bytes("1"));
    store.commit(Map.of(CHANGELOG, 5L));
    store.close();
    File marker = new File(new File(context.stateDir(), "braid"), "store");
    assertTrue(marker.isFile());
    Files.writeString(marker.toPath(), "nonsense\n");
    store = open(context(states, 0), "store");
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(List.of(), all(store.all()));
    store.close();
  }

  @Test
  void aPoolThatIsGoneIsAnEmptyStore() throws Exception {
    File states = folder();
    BraidKeyValueStore store = open(context(states, 0), "store");
    store.put(key("a"), bytes("1"));
    store.commit(Map.of(CHANGELOG, 5L));
    store.close();
    delete(poolOf(states).toPath());
    store = open(context(states, 0), "store");
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(List.of(), all(store.all()));
    store.close();
  }

  @Test
  void twoInstancesDoNotShareAPool() throws IOException {
    File pool = new File(folder(), "pool");
    BraidKeyValueStore first = open(context(folder(), 0).with(BraidConfig.POOL, pool), "store");
    says(refused(context(folder(), 0).with(BraidConfig.POOL, pool)), "in use", BraidConfig.POOL);
    first.put(key("a"), bytes("1"));
    first.close();
  }

  @Test
  void aPoolThatAnotherHasOpenIsRefused() throws IOException {
    File pool = new File(folder(), "pool");
    try (BraidDB db = BraidFactory.factory.open(pool, new Options())) {
      db.flush();
      says(refused(context(folder(), 0).with(BraidConfig.POOL, pool)), BraidConfig.POOL,
          pool.getName());
    }
  }

  @Test
  void aPoolOfAnotherApplicationIsRefused() throws IOException {
    File pool = new File(folder(), "pool");
    open(context(folder(), 0).with(BraidConfig.POOL, pool), "store").close();
    says(refused(context(folder(), 0).with(BraidConfig.POOL, pool)
        .with(StreamsConfig.APPLICATION_ID_CONFIG, "billing")), "application", "billing",
        BraidConfig.POOL);
    open(context(folder(), 0).with(BraidConfig.POOL, pool), "store").close();
  }

  @Test
  void aPoolOfOtherDataIsRefusedAndKept() throws IOException {
    File pool = new File(folder(), "pool");
    try (BraidDB db = BraidFactory.factory.open(pool, new Options())) {
      db.put(bytes("mine"), bytes("1"));
    }
    says(refused(context(folder(), 0).with(BraidConfig.POOL, pool)), BraidConfig.POOL);
    try (BraidDB db = BraidFactory.factory.open(pool, new Options())) {
      assertEquals("1", text(db.get(bytes("mine"))));
    }
  }

  @Test
  void optionsThatDoNotExistAreNamed() throws IOException {
    File states = folder();
    says(refused(context(states, 0).with(BraidConfig.SET + "no.such", "1")), "no.such",
        "memtable.bytes");
    says(refused(context(states, 0).with(BraidConfig.SYNC, "perhaps")), BraidConfig.SYNC,
        "perhaps");
    open(context(states, 0), "store").close();
  }

  @Test
  void aPathThatCannotBeWrittenIsNamed() throws IOException {
    File file = new File(folder(), "file");
    Files.writeString(file.toPath(), "no folder");
    says(refused(context(folder(), 0).with(BraidConfig.POOL, new File(file, "pool"))),
        BraidConfig.POOL, file.getName());
  }

  @Test
  void aFullPoolIsAnErrorAndKeepsWhatWasCommitted() throws IOException {
    File states = folder();
    TestContext small = context(states, 0).with(BraidConfig.SET + "pool.max_bytes", "24M");
    BraidKeyValueStore store = open(small, "store");
    store.put(key("committed"), bytes("1"));
    store.commit(Map.of(CHANGELOG, 5L));
    byte[] large = new byte[256 << 10];
    ProcessorStateException full = assertThrows(ProcessorStateException.class, () -> {
      for (int i = 0; i < 1000; ++i) {
        store.put(key("key" + i), large);
      }
    });
    says(full, "space", "store", "0_0");
    assertEquals("1", text(store.get(key("committed"))));
    store.close();
    BraidKeyValueStore again = open(context(states, 0), "store");
    assertEquals("1", text(again.get(key("committed"))));
    assertEquals(5L, again.committedOffset(CHANGELOG));
    again.put(key("more"), large);
    again.close();
  }

  @Test
  void aRestoreThatEndsInTheMiddleIsRepeatedFromItsLastOffset() throws IOException {
    File states = folder();
    TestContext small = context(states, 0).with(BraidConfig.SET + "pool.max_bytes", "24M");
    BraidKeyValueStore store = open(small, "store");
    small.restore(List.of(TestContext.changed(0, bytes("a-first"), bytes("1"))));
    // More than one batch holds, in the order of the keys: the beginning fits the pool, the end not.
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    records.add(TestContext.changed(1, bytes("a-first"), null));
    for (int i = 0; i < 250; ++i) {
      records.add(TestContext.changed(2 + i, bytes(String.format("b%03d", i)), bytes("2")));
    }
    byte[] large = new byte[256 << 10];
    for (int i = 0; i < 150; ++i) {
      records.add(TestContext.changed(252 + i, bytes(String.format("c%03d", i)), large));
    }
    says(assertThrows(ProcessorStateException.class, () -> small.restore(records)), "space",
        "store", "0_0");
    TopicPartition changelog = new TopicPartition("changelog", 0);
    assertEquals(0L, store.committedOffset(changelog));
    assertEquals("2", text(store.get(key("b000"))));
    assertNull(store.get(key("c149")));
    store.close();
    TestContext roomy = context(states, 0);
    BraidKeyValueStore again = open(roomy, "store");
    assertEquals(0L, again.committedOffset(changelog));
    roomy.restore(records);
    assertEquals(401L, again.committedOffset(changelog));
    assertNull(again.get(key("a-first")));
    assertEquals(400, all(again.all()).size());
    again.close();
  }

  @Test
  void anotherKindOfStoreIsRefusedAndNothingIsLost() throws IOException {
    File states = folder();
    BraidKeyValueStore store = open(context(states, 0), "store");
    store.put(key("a"), bytes("1"));
    store.close();
    BraidKeyValueStore other = new BraidKeyValueStore.Timestamped("store");
    says(assertThrows(ProcessorStateException.class,
        () -> other.init(context(states, 0), other)), "timestamps", "0_0", "changelog");
    store = open(context(states, 0), "store");
    assertEquals(List.of("a=1"), all(store.all()));
    store.close();
  }
}
