package io.braid;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.iq80.leveldb.DBComparator;
import org.iq80.leveldb.DBException;
import org.iq80.leveldb.DBFactory;
import org.iq80.leveldb.Options;

/**
 * Opens, destroys and repairs pools: what a user of LevelDB changes to use braid.
 *
 * <p>Of LevelDB's options, block size, restart interval, open files, compression and checksums have
 * no effect (there are no blocks, and every read verifies); the memory budget becomes at least the
 * cache size. A comparator orders the keys, slower than byte order (the project's page on
 * comparators says by how much); it is called from any thread, and what it throws ends the call
 * with a DBException. Its findShortestSeparator and findShortSuccessor are not called. A write
 * buffer size other than LevelDB's default of 4 MiB is taken.
 */
public final class BraidFactory implements DBFactory {
  /** The one there needs to be. */
  public static final BraidFactory factory = new BraidFactory();

  private static final int LEVELDB_WRITE_BUFFER = new Options().writeBufferSize();

  private interface Call {
    void on(long options);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static void with(Options options, Call call) throws IOException {
    int buffer = options.writeBufferSize();
    long made = Handle.made(Native.createOptions(options.createIfMissing(),
        options.errorIfExists(), options.paranoidChecks(),
        buffer == LEVELDB_WRITE_BUFFER ? 0 : buffer, options.cacheSize(), options.logger()));
    try {
      DBComparator comparator = options.comparator();
      if (comparator != null) {
        Native.setComparator(made, bytes(comparator.name()), comparator);
      }
      if (options instanceof BraidOptions) {
        Native.setDesign(made, bytes(((BraidOptions) options).design()));
        if (((BraidOptions) options).listener() != null) {
          Native.setListener(made, ((BraidOptions) options).listener());
        }
        for (Map.Entry<String, String> option : ((BraidOptions) options).named().entrySet()) {
          Native.setOption(made, bytes(option.getKey()), bytes(option.getValue()));
        }
      }
      if (options instanceof BraidOptions && ((BraidOptions) options).resources() != null) {
        ((BraidOptions) options).resources().giveTo(made);
      }
      call.on(made);
    } catch (DBException e) {
      throw new IOException(e.getMessage(), e);
    } finally {
      Native.destroyOptions(made);
    }
  }

  /** Opens the pool at `path`, or makes it; IOException when it can't, with the reason. */
  @Override
  public BraidDB open(File path, Options options) throws IOException {
    long[] db = new long[1];
    with(options, made -> db[0] = Native.open(made, bytes(path.getPath())));
    return new BraidDB(path.getPath(), db[0]);
  }

  /** Removes the pool at `path`; no error when there is nothing. Refuses what is no pool. */
  @Override
  public void destroy(File path, Options options) throws IOException {
    with(options, made -> Native.destroy(made, bytes(path.getPath())));
  }

  /** Salvages what is intact of a damaged pool into a new one that takes its place. */
  @Override
  public void repair(File path, Options options) throws IOException {
    with(options, made -> Native.repair(made, bytes(path.getPath()), new byte[0]));
  }

  /**
   * The same into a pool that has a tier of its own at `newTier`, a folder that is empty or not there
   * yet. The options must set `pool.max_bytes`; their `tier.path` is the damaged pool's, which is only
   * read, and may be left out where that has none.
   */
  public void repair(File path, File newTier, Options options) throws IOException {
    with(options, made -> Native.repair(made, bytes(path.getPath()), bytes(newTier.getPath())));
  }

  /**
   * Makes a new pool at `target`, where nothing may be yet, of a checkpoint or any closed pool, which
   * is only read; `options` are those with which the new pool will be opened. Every byte is verified
   * before the new pool has its name: after an IOException, which says why, nothing is there.
   */
  public void restore(File checkpoint, File target, Options options) throws IOException {
    with(options, made -> Native.restore(
        made, bytes(checkpoint.getPath()), bytes(target.getPath())));
  }

  /**
   * The facts of the pool at `path` as one JSON object, without opening or changing it: its media
   * class, the provider of its memory, what becomes of it when power is lost, bad blocks.
   */
  public String inspect(File path) throws IOException {
    try {
      return Native.inspect(bytes(path.getPath()));
    } catch (DBException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  @Override
  public String toString() {
    return "braid";
  }
}
