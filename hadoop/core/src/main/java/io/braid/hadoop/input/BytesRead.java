package io.braid.hadoop.input;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.StorageStatistics;

/**
 * Bytes that this process reads from a child's file system while the child is open, as MapTask
 * counts them for a FileSplit. For one thread.
 */
final class BytesRead {
  private static final String BYTES_READ = "bytesRead";

  private List<StorageStatistics> counted = List.of();
  private long before;

  /** From now on reads of that path's file system count. */
  void begin(Path path, Configuration conf) {
    counted = new ArrayList<>();
    String scheme;
    try {
      scheme = path.getFileSystem(conf).getUri().getScheme();
    } catch (IOException e) {
      return; // the delegate may know how to read it; what it reads is not counted
    }
    for (Iterator<StorageStatistics> all = FileSystem.getGlobalStorageStatistics().iterator();
        all.hasNext(); ) {
      StorageStatistics statistics = all.next();
      if (scheme.equals(statistics.getScheme())) {
        counted.add(statistics);
      }
    }
    before = sum();
  }

  /** Bytes since {@link #begin}; 0 when that was not called, or this already was. */
  long end() {
    long bytes = counted.isEmpty() ? 0 : sum() - before;
    counted = List.of();
    return bytes;
  }

  private long sum() {
    long sum = 0;
    for (StorageStatistics statistics : counted) {
      Long bytes = statistics.getLong(BYTES_READ);
      sum += bytes == null ? 0 : bytes;
    }
    return sum;
  }
}
