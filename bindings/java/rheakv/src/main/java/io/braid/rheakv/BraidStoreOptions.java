package io.braid.rheakv;

import com.alipay.sofa.jraft.rhea.options.RocksDBOptions;
import com.alipay.sofa.jraft.rhea.options.StoreEngineOptions;
import com.alipay.sofa.jraft.rhea.util.Strings;
import io.braid.BraidOptions;
import io.braid.SharedResources;
import java.io.File;
import java.util.Map;
import java.util.TreeMap;

/** Where a server's pool is, and how it is opened. All are optional. */
public final class BraidStoreOptions {
  private final Map<String, String> named = new TreeMap<>();
  private String pool;
  private boolean raftLog;
  private boolean published;
  private SharedResources resources;

  /**
   * The folder of the pool: on persistent memory, and each server's own. Default: {@code
   * braid_PORT} in the folder that the configuration names for RocksDB ({@code
   * rocksDBOptions.dbPath}), else in {@code raftDataPath}.
   */
  public BraidStoreOptions pool(String folder) {
    pool = folder;
    return this;
  }

  /** Any option that {@code braid options} lists, for example memory_budget_bytes. */
  public BraidStoreOptions set(String name, String value) {
    named.put(name, value);
    return this;
  }

  /**
   * Whether Raft's logs are in braid too, a pool for each region, in the place of RocksDB's; default:
   * false. Not to be changed while there is a log: see the guide.
   */
  public BraidStoreOptions raftLog(boolean on) {
    raftLog = on;
    return this;
  }

  /**
   * The server's pool and Raft's logs share this memory budget and these threads, with whatever else
   * is opened with them; memory_budget_bytes does not count then. Close them after the server: pools
   * are opened again while it runs. Default: null, each pool has its own.
   */
  public BraidStoreOptions resources(SharedResources shared) {
    resources = shared;
    return this;
  }

  /** Whether {@code braid top} and {@code braid metrics} see the pool; default: false. */
  public BraidStoreOptions publishStatistics(boolean on) {
    published = on;
    return this;
  }

  File poolOf(StoreEngineOptions options) {
    if (pool != null) {
      return new File(pool);
    }
    RocksDBOptions rocks = options.getRocksDBOptions();
    String folder = rocks == null ? null : rocks.getDbPath();
    if (Strings.isBlank(folder)) {
      folder = options.getRaftDataPath();
    }
    return new File(Strings.isBlank(folder) ? "." : folder,
        "braid_" + options.getServerAddress().getPort());
  }

  boolean hasRaftLog() {
    return raftLog;
  }

  boolean isPublished() {
    return published;
  }

  BraidOptions open() {
    BraidOptions made = new BraidOptions();
    named.forEach(made::set);
    return made.resources(resources);
  }
}
