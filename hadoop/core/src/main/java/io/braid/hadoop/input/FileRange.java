package io.braid.hadoop.input;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.MRJobConfig;

/** The part of a file that a split stands for, whichever API the split is of. Immutable. */
final class FileRange {
  private final Path path;
  private final long start;
  private final long length;

  private FileRange(Path path, long start, long length) {
    this.path = path;
    this.start = start;
    this.length = length;
  }

  /** Null when the split is no FileSplit. */
  static FileRange of(Object split) {
    if (split instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit) {
      org.apache.hadoop.mapreduce.lib.input.FileSplit file =
          (org.apache.hadoop.mapreduce.lib.input.FileSplit) split;
      return new FileRange(file.getPath(), file.getStart(), file.getLength());
    }
    if (split instanceof org.apache.hadoop.mapred.FileSplit) {
      org.apache.hadoop.mapred.FileSplit file = (org.apache.hadoop.mapred.FileSplit) split;
      return new FileRange(file.getPath(), file.getStart(), file.getLength());
    }
    return null;
  }

  Path path() {
    return path;
  }

  long start() {
    return start;
  }

  long length() {
    return length;
  }

  /** Tells the mapper what is read, the way MapTask does; null when that is no part of a file. */
  static void publish(FileRange range, Configuration conf) {
    if (range == null) {
      conf.unset(MRJobConfig.MAP_INPUT_FILE);
      conf.unset(MRJobConfig.MAP_INPUT_START);
      conf.unset(MRJobConfig.MAP_INPUT_PATH);
      return;
    }
    conf.set(MRJobConfig.MAP_INPUT_FILE, range.path.toString());
    conf.setLong(MRJobConfig.MAP_INPUT_START, range.start);
    conf.setLong(MRJobConfig.MAP_INPUT_PATH, range.length); // so named; it is the length
  }
}
