package io.braid.rheakv;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.alipay.sofa.jraft.Status;
import com.alipay.sofa.jraft.rhea.StoreEngine;
import com.alipay.sofa.jraft.rhea.client.pd.PlacementDriverClient;
import com.alipay.sofa.jraft.rhea.errors.StorageException;
import com.alipay.sofa.jraft.rhea.options.RheaKVStoreOptions;
import com.alipay.sofa.jraft.rhea.storage.BaseKVStoreClosure;
import com.alipay.sofa.jraft.rhea.storage.BraidRawKVStore;
import com.alipay.sofa.jraft.rhea.storage.KVEntry;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock;
import io.braid.SharedResources;
import io.braid.testing.Folders;
import io.braid.testing.Ports;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** A whole server with RheaKV's own client, as an application has it. */
class BraidRheaKVStoreTest extends Folders {
  private static final long LEAST_KEYS = 50;

  private static BraidStoreOptions options(boolean raftLog) {
    return new BraidStoreOptions().set("memory_budget_bytes", "64M").set("memtable.bytes", "1M")
        .raftLog(raftLog);
  }

  private static RheaKVStoreOptions server(File folder, int port) {
    RheaKVStoreOptions made =
        Servers.server("127.0.0.1:" + port, port, folder, 3600, LEAST_KEYS);
    made.setFailoverRetries(2);
    return made;
  }

  private static BraidRheaKVStore start(File folder, int port, boolean raftLog) throws Exception {
    return start(folder, port, options(raftLog));
  }

  private static BraidRheaKVStore start(File folder, int port, BraidStoreOptions options)
      throws Exception {
    BraidRheaKVStore store = new BraidRheaKVStore(options);
    assertTrue(store.init(server(folder, port)));
    awaitLeader(store, Servers.REGION);
    return store;
  }

  private static void awaitLeader(BraidRheaKVStore store, long region) throws Exception {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!store.isLeader(region)) {
      assertTrue(System.nanoTime() < end, "no leader of the region " + region);
      Thread.sleep(20);
    }
  }

  private static void fill(BraidRheaKVStore store) {
    List<KVEntry> entries = new ArrayList<>();
    for (int i = 0; i < 200; ++i) {
      entries.add(new KVEntry(bytes(String.format("key%03d", i)), bytes("value " + i)));
    }
    assertTrue(store.bPut(entries));
  }

  private static void snapshot(BraidRheaKVStore store, long region) throws Exception {
    CompletableFuture<Status> done = new CompletableFuture<>();
    store.getStoreEngine().getRegionEngine(region).getNode().snapshot(done::complete);
    assertTrue(done.get(30, TimeUnit.SECONDS).isOk());
  }

  private void operationsSurviveARestart(boolean raftLog) throws Exception {
    File folder = folder();
    int port = Ports.free(1).get(0);
    BraidRheaKVStore store = start(folder, port, raftLog);
    assertTrue(store.getStoreEngine().getRawKVStore() instanceof BraidRawKVStore);
    fill(store);
    assertTrue(store.bMerge("merged", "a"));
    snapshot(store, Servers.REGION);
    assertTrue(store.bMerge("merged", "b")); // behind the snapshot: in the log alone
    assertTrue(store.bDelete("key000"));
    assertEquals("value 1", text(store.bGetAndPut(bytes("key001"), bytes("new"))));
    assertNull(store.bPutIfAbsent(bytes("absent"), bytes("1")));
    assertTrue(store.bCompareAndPut(bytes("absent"), bytes("1"), bytes("2")));
    assertFalse(store.bCompareAndPut(bytes("absent"), bytes("1"), bytes("3")));
    assertEquals(7, store.bGetSequence(bytes("numbers"), 7).getEndValue());
    DistributedLock<byte[]> lock = store.getDistributedLock("lock", 60, TimeUnit.SECONDS);
    assertTrue(lock.tryLock());
    store.shutdown();

    store = start(folder, port, raftLog);
    assertEquals("a,b", text(store.bGet("merged")));
    assertNull(store.bGet("key000"));
    assertEquals("new", text(store.bGet("key001")));
    assertEquals("2", text(store.bGet("absent")));
    assertEquals(7, store.bGetSequence(bytes("numbers"), 1).getStartValue());
    assertFalse(store.getDistributedLock("lock", 1, TimeUnit.SECONDS).tryLock());
    assertEquals(10, store.bScan("key010", "key020").size());
    assertEquals("key019", text(store.bReverseScan("key019", "key009").get(0).getKey()));
    assertTrue(store.getStoreEngine().getStoreUsedSpace() > 0);
    assertTrue(store.getStoreEngine().getTotalSpace() > 0);
    store.shutdown();
  }

  @Test
  void operationsSurviveARestartWithRocksDBsLog() throws Exception {
    operationsSurviveARestart(false);
  }

  @Test
  void operationsSurviveARestartWithALogInBraid() throws Exception {
    operationsSurviveARestart(true);
  }

  @Test
  void thePoolAndTheLogShareABudget() throws Exception {
    File folder = folder();
    int port = Ports.free(1).get(0);
    try (SharedResources resources = new SharedResources(64 << 20, 3)) {
      for (int round = 0; round < 2; ++round) {
        BraidRheaKVStore store = start(folder, port, options(true).resources(resources));
        assertEquals(2, resources.databases());
        if (round == 0) {
          fill(store);
          snapshot(store, Servers.REGION); // which the next start loads into another pool
        }
        assertEquals("value 7", text(store.bGet("key007")));
        assertTrue(resources.memoryBytes() <= 64 << 20);
        store.shutdown();
        assertEquals(0, resources.databases());
      }
    }
  }

  private static Status split(StoreEngine engine, long region, long made) throws Exception {
    CompletableFuture<Status> done = new CompletableFuture<>();
    engine.applySplit(region, made, new BaseKVStoreClosure() {
      @Override
      public void run(Status status) {
        done.complete(status);
      }
    });
    return done.get(30, TimeUnit.SECONDS);
  }

  @Test
  void aRegionIsSplit() throws Exception {
    File folder = folder();
    int port = Ports.free(1).get(0);
    BraidRheaKVStore store = start(folder, port, true);
    StoreEngine engine = store.getStoreEngine();
    Status small = split(engine, Servers.REGION, 2);
    assertTrue(small.getErrorMsg().contains("keys"), small.toString());
    assertFalse(engine.isBusy());
    fill(store);
    assertFalse(split(engine, 77, 2).isOk());
    assertTrue(split(engine, Servers.REGION, 2).isOk());
    assertFalse(engine.isBusy());
    awaitLeader(store, 2);
    assertNotNull(engine.getRegionEngine(2).getRegion().getStartKey());
    PlacementDriverClient placement = store.getPlacementDriverClient();
    assertEquals(1, placement.findRegionByKey(bytes("key000"), false).getId());
    assertEquals(2, placement.findRegionByKey(bytes("key199"), false).getId());
    store.bPut("key000", bytes("left"));
    store.bPut("key199", bytes("right"));
    assertEquals("left", text(store.bGet("key000")));
    assertEquals("right", text(store.bGet("key199")));
    assertEquals(200, store.bScan("key", "kez").size());
    assertTrue(new File(folder, "raft_data_region_2_" + port + "/log").isDirectory());
    assertFalse(new File(folder, "raft_data_region_2_" + port + "/log/CURRENT").exists());
    snapshot(store, Servers.REGION);
    snapshot(store, 2);
    assertFalse(split(engine, Servers.REGION, 2).isOk()); // there is one
    assertTrue(split(engine, 2, 3).isOk());
    store.shutdown();
  }

  @Test
  void serversThatCannotStartSayWhy() throws Exception {
    File folder = folder();
    List<Integer> ports = Ports.free(2);
    BraidStoreOptions shared = options(false).pool(new File(folder, "pool").getPath());
    BraidRheaKVStore first = new BraidRheaKVStore(shared);
    assertTrue(first.init(server(new File(folder, "first"), ports.get(0))));
    awaitLeader(first, Servers.REGION);
    assertTrue(first.bPut("a", bytes("1")));
    BraidRheaKVStore second = new BraidRheaKVStore(shared);
    StorageException open = assertThrows(StorageException.class,
        () -> second.init(server(new File(folder, "second"), ports.get(1))));
    assertTrue(open.getMessage().contains("BraidStoreOptions.pool"), open.getMessage());
    assertEquals("1", text(first.bGet("a")));
    first.shutdown();
    StorageException other = assertThrows(StorageException.class,
        () -> new BraidRheaKVStore(shared).init(server(new File(folder, "second"), ports.get(1))));
    assertTrue(other.getMessage().contains("belongs to"), other.getMessage());
    BraidRheaKVStore again = new BraidRheaKVStore(shared);
    assertTrue(again.init(server(new File(folder, "first"), ports.get(0))));
    awaitLeader(again, Servers.REGION);
    assertEquals("1", text(again.bGet("a")));
    again.shutdown();
  }
}
