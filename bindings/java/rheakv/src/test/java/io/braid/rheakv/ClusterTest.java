package io.braid.rheakv;

import io.braid.testing.Folders;
import org.junit.jupiter.api.Test;

/** Three servers in processes of their own, whose leader is killed: once, or many times at night. */
class ClusterTest extends Folders {
  private static final int NIGHT_ROUNDS = 30;
  private static final int NIGHT_ROUNDS_ROCKSDB = 10;

  private void run(boolean raftLog, int rounds) throws Exception {
    long seed = seed();
    StringBuilder said = new StringBuilder();
    try {
      new Cluster(folder().toPath(), raftLog, seed, text -> said.append(text).append('\n'))
          .run(rounds, null);
    } catch (Cluster.Wrong e) {
      throw new AssertionError("BRAID_SEED=" + seed + ": " + e.getMessage() + ", after\n" + said, e);
    }
  }

  @Test
  void leadersAreKilledAndNothingIsLost() throws Exception {
    run(true, isNight() ? NIGHT_ROUNDS : 1);
    if (isNight()) {
      run(false, NIGHT_ROUNDS_ROCKSDB); // with Raft's log in RocksDB
    }
  }
}
