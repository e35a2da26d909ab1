package io.braid.rheakv;

import com.alipay.sofa.jraft.conf.ConfigurationManager;
import com.alipay.sofa.jraft.entity.EnumOutter.EntryType;
import com.alipay.sofa.jraft.entity.LogEntry;
import com.alipay.sofa.jraft.entity.LogId;
import com.alipay.sofa.jraft.entity.codec.v2.LogEntryV2CodecFactory;
import com.alipay.sofa.jraft.option.LogStorageOptions;
import com.alipay.sofa.jraft.option.RaftOptions;
import com.alipay.sofa.jraft.storage.LogStorage;
import com.alipay.sofa.jraft.storage.impl.RocksDBLogStorage;
import com.sun.management.OperatingSystemMXBean;
import io.braid.BraidOptions;
import io.braid.testing.Folders;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * What a Raft log costs a server: `java -cp ... io.braid.rheakv.LogCost LOG APPENDS BATCH BYTES`. LOG is
 * rocksdb, braid (persistent memory) or braid-page (any other medium). Appends so many batches, each
 * synced as Raft asks, and forgets the older half ten times, as snapshots make Raft do. Prints the
 * process's own counts: processor time of all threads, calls that write and the bytes they pass, and
 * with braid cache lines written back, fences and syncs. strace -fc -e trace=fsync,fdatasync,msync
 * counts the syncs of either.
 */
final class LogCost extends Folders {
  private static final int FORGOTTEN = 10; // times
  private static final int WARM = 2000; // appends before it counts: the JIT's work

  private final LogStorage log;
  private final byte[][] values = new byte[64][];
  private final int batch;
  private long next = 1;

  private LogCost(LogStorage log, int batch, int bytes) {
    this.log = log;
    this.batch = batch;
    Random random = new Random(1);
    for (int i = 0; i < values.length; ++i) {
      values[i] = new byte[bytes];
      random.nextBytes(values[i]);
    }
    LogStorageOptions options = new LogStorageOptions();
    options.setGroupId("group");
    options.setConfigurationManager(new ConfigurationManager());
    options.setLogEntryCodecFactory(LogEntryV2CodecFactory.getInstance());
    if (!log.init(options)) {
      throw new IllegalStateException("the log can't be opened");
    }
  }

  private static LogStorage open(String kind, File folder) {
    if (kind.equals("rocksdb")) {
      return new RocksDBLogStorage(folder.getPath(), new RaftOptions());
    }
    BraidOptions options = new BraidOptions().set("memory_budget_bytes", "256M")
        .set("pool.force_media_class", kind.equals("braid") ? "cache_line" : "page");
    return new BraidLogStorage(new File(folder, "log"), true, options);
  }

  private void append(int appends) {
    for (int i = 0; i < appends; ++i) {
      List<LogEntry> entries = new ArrayList<>(batch);
      for (int n = 0; n < batch; ++n) {
        LogEntry entry = new LogEntry(EntryType.ENTRY_TYPE_DATA);
        entry.setId(new LogId(next, 1));
        entry.setData(ByteBuffer.wrap(values[(int) (next % values.length)]));
        entries.add(entry);
        ++next;
      }
      if (log.appendEntries(entries) != batch) {
        throw new IllegalStateException("an append has failed");
      }
    }
  }

  private void work(int appends) {
    long before = next;
    for (int part = 0; part < FORGOTTEN; ++part) {
      append(appends / FORGOTTEN);
      before = before + (next - before) / 2;
      log.truncatePrefix(before);
    }
  }

  private static long processorMicros() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime() / 1000;
  }

  /** A line of /proc/self/io. */
  private static long counted(String name) throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/io"))) {
      if (line.startsWith(name + ":")) {
        return Long.parseLong(line.substring(name.length() + 2).trim());
      }
    }
    throw new IOException("/proc/self/io has no " + name);
  }

  private String statistics() {
    return log instanceof BraidLogStorage braid ? braid.statistics() : "";
  }

  private static long field(String statistics, String name) {
    int at = statistics.indexOf("\"" + name + "\":");
    return at < 0 ? 0 : Long.parseLong(
        statistics.substring(at + name.length() + 3).split("[,}]")[0]);
  }

  public static void main(String[] arguments) throws IOException {
    LogCost self = null;
    File folder = Files.createTempDirectory(scratch(), "braid-log-cost-").toFile();
    try {
      int appends = Integer.parseInt(arguments[1]);
      int batch = Integer.parseInt(arguments[2]);
      int bytes = Integer.parseInt(arguments[3]);
      self = new LogCost(open(arguments[0], folder), batch, bytes);
      self.append(WARM);
      String before = self.statistics();
      long micros = processorMicros();
      long calls = counted("syscw");
      long written = counted("wchar");
      self.work(appends);
      String after = self.statistics();
      System.out.printf(Locale.ROOT, "%s: %d appends of %d x %d bytes: %.1f us of processor time,"
          + " %.2f calls that write, %.0f bytes written by them each", arguments[0], appends, batch,
          bytes, (double) (processorMicros() - micros) / appends,
          (double) (counted("syscw") - calls) / appends,
          (double) (counted("wchar") - written) / appends);
      for (String name : new String[] {"lines_flushed", "fences", "syncs"}) {
        if (!after.isEmpty()) {
          System.out.printf(Locale.ROOT, ", %.2f %s",
              (double) (field(after, name) - field(before, name)) / appends, name);
        }
      }
      System.out.println();
    } finally {
      if (self != null) {
        self.log.shutdown();
      }
      delete(folder.toPath());
    }
  }
}
