package io.braid.rheakv;

import com.alipay.sofa.jraft.rhea.RegionEngine;
import com.alipay.sofa.jraft.rhea.storage.KVIterator;
import com.alipay.sofa.jraft.util.BytesUtil;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;

/**
 * A server in a process of its own: port, servers, folder, seconds between snapshots, whether Raft's
 * log is in braid. It says "running" and then takes commands: "dump FILE", "stop".
 */
final class Replica {
  private Replica() {}

  @SuppressWarnings("try") // RheaKV's iterators may be interrupted, these are not
  private static void dump(BraidRheaKVStore store, File file) throws Exception {
    try (KVIterator iterator = store.getStoreEngine().getRawKVStore().localIterator();
        PrintWriter out = new PrintWriter(file, StandardCharsets.US_ASCII)) {
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        out.println(BytesUtil.toHex(iterator.key()) + " " + BytesUtil.toHex(iterator.value()));
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    BraidStoreOptions options = new BraidStoreOptions().set("memory_budget_bytes", "64M")
        .set("memtable.bytes", "1M").set("pool.initial_bytes", "16M")
        .raftLog(Boolean.parseBoolean(arguments[4]));
    BraidRheaKVStore store = new BraidRheaKVStore(options);
    if (!store.init(Servers.server(arguments[1], Integer.parseInt(arguments[0]),
        new File(arguments[2]), Integer.parseInt(arguments[3]), 10_000))) {
      System.exit(1);
    }
    System.out.println("running");
    RegionEngine region = store.getStoreEngine().getRegionEngine(Servers.REGION);
    BufferedReader commands =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = commands.readLine()) != null && !line.equals("stop");) {
      if (line.startsWith("dump ")) {
        // Before and after: one that catches up meanwhile has dumped less than it has applied.
        long applied;
        do {
          applied = region.getNode().getLastAppliedLogIndex();
          dump(store, new File(line.substring(5)));
        } while (applied != region.getNode().getLastAppliedLogIndex());
        System.out.println("dumped at " + applied);
      }
    }
    store.shutdown();
    System.exit(0);
  }
}
