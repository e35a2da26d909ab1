package io.braid;

import org.iq80.leveldb.DBException;

/**
 * One budget of memory and one set of background threads for several databases of a process, which
 * are opened with {@link BraidOptions#resources}. A database that needs less than an equal part of
 * the budget leaves the rest to the others; one whose writers wait is worked for first. Databases
 * keep what they use: this may be closed as soon as they are open. Any thread.
 *
 * <pre>{@code
 * try (SharedResources resources = new SharedResources(1L << 30, 0)) {
 *   BraidOptions options = new BraidOptions().resources(resources);
 *   users = factory.open(new File("/mnt/pmem/users"), options);
 *   orders = factory.open(new File("/mnt/pmem/orders"), options);
 * }
 * }</pre>
 */
public final class SharedResources extends Handle implements AutoCloseable {
  /**
   * `memoryBudget` in bytes, 1 MiB at least for each database that is open at the same time.
   * `backgroundThreads`: 3 to 1024, or 0 for those that all databases of the process share anyhow.
   * DBException for limits that make no sense.
   */
  public SharedResources(long memoryBudget, int backgroundThreads) {
    super("the shared resources", create(memoryBudget, backgroundThreads),
        Native::destroyResources);
  }

  private static long create(long memoryBudget, int backgroundThreads) {
    if (memoryBudget < 0 || backgroundThreads < 0) {
      throw new DBException("a memory budget and a number of threads can't be negative");
    }
    return Native.createResources(memoryBudget, backgroundThreads);
  }

  /** Bytes of memory that all databases take now; closed ones count while iterators hold them. */
  public long memoryBytes() {
    return usage(0);
  }

  /** Databases that are open with this. */
  public long databases() {
    return usage(1);
  }

  private long usage(int which) {
    Scratch scratch = Scratch.mine();
    long address = enter(scratch);
    try {
      return Native.resourcesUsage(address, which);
    } finally {
      leave(scratch);
    }
  }

  /** DBException when this is closed. */
  void giveTo(long options) {
    Scratch scratch = Scratch.mine();
    long address = enter(scratch);
    try {
      Native.setResources(options, address);
    } finally {
      leave(scratch);
    }
  }
}
