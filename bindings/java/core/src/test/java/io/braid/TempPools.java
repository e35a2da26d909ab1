package io.braid;

import io.braid.testing.Folders;
import java.io.File;
import java.io.IOException;

/** Pools in a folder of the test's own. */
class TempPools extends Folders {
  File pool() throws IOException {
    return new File(folder(), "pool");
  }

  static BraidOptions small() {
    BraidOptions options = new BraidOptions();
    options.set("memory_budget_bytes", "32M").set("memtable.bytes", "256K");
    return options;
  }

  BraidDB open(File path) throws IOException {
    return BraidFactory.factory.open(path, small());
  }
}
