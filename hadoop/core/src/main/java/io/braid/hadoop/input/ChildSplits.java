package io.braid.hadoop.input;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.SplitLocationInfo;

/**
 * The delegate's splits that one coalesced split holds, with their hosts, and which of them is
 * being read. What the coalesced splits of both APIs share. One thread may move on while others ask
 * for the current child; anything else is for one thread.
 *
 * @param <S> the API's InputSplit
 */
public final class ChildSplits<S> {
  private static final int NOT_READING = -1;

  private final List<S> children;
  private final long[] lengths;
  private final List<List<String>> hosts;
  private final List<String> preferred;
  private final SplitLocationInfo[] locationInfo;
  private final long totalLength;
  private volatile int current = NOT_READING;

  /**
   * @param hosts of each child, in order
   * @param preferred the hosts that had best read all, the best first
   * @param locationInfo of the preferred hosts; may be null
   */
  public ChildSplits(
      List<S> children,
      long[] lengths,
      List<List<String>> hosts,
      List<String> preferred,
      SplitLocationInfo[] locationInfo) {
    if (children.isEmpty()) {
      throw new IllegalArgumentException("a coalesced split needs at least one child");
    }
    this.children = children;
    this.lengths = lengths;
    this.hosts = hosts;
    this.preferred = preferred;
    this.locationInfo = locationInfo;
    long sum = 0;
    for (long length : lengths) {
      sum += length;
    }
    this.totalLength = sum;
  }

  public int size() {
    return children.size();
  }

  public S child(int i) {
    return children.get(i);
  }

  /** The child's length in bytes. */
  public long length(int i) {
    return lengths[i];
  }

  /** The hosts that hold the child; empty when they are not known. */
  public List<String> hosts(int i) {
    return hosts.get(i);
  }

  /** Bytes of all children. */
  public long totalLength() {
    return totalLength;
  }

  /** The hosts that had best read all of this, the best first. */
  public List<String> preferredHosts() {
    return preferred;
  }

  /** How the preferred hosts hold it; null when the delegate did not say. Known to the client. */
  public SplitLocationInfo[] locationInfo() {
    return locationInfo == null ? null : locationInfo.clone();
  }

  /** Whether all children are parts of files. */
  boolean areFiles() {
    for (S child : children) {
      if (FileRange.of(child) == null) {
        return false;
      }
    }
    return true;
  }

  /** Whether all children are parts of the same file. */
  boolean areOneFile() {
    Path path = FileRange.of(children.get(0)).path();
    for (S child : children) {
      if (!FileRange.of(child).path().equals(path)) {
        return false;
      }
    }
    return true;
  }

  /** From now on child {@code i} is the one being read. */
  void moveTo(int i) {
    current = i;
  }

  /** Nothing is being read any more. */
  void stop() {
    current = NOT_READING;
  }

  /** The child being read; the first one before reading and after. */
  public S current() {
    return children.get(Math.max(0, current));
  }

  /** The file of the child being read. Only when the children are parts of files. */
  public Path path() {
    return FileRange.of(current()).path();
  }

  /** Where in {@link #path} the child being read starts. */
  public long start() {
    return FileRange.of(current()).start();
  }

  /** The length of the child being read; of all children while none is. */
  public long length() {
    int i = current;
    return i == NOT_READING ? totalLength : lengths[i];
  }

  /** Writes all but the location info; {@code conf} says how splits are serialized. */
  public void write(DataOutput out, Configuration conf) throws IOException {
    ChildSplitsCodec.write(this, out, conf);
  }

  /** Reads what {@link #write} wrote. */
  public static <S> ChildSplits<S> read(DataInput in, Configuration conf) throws IOException {
    return ChildSplitsCodec.read(in, conf);
  }

  /** One short line, for logs and the status of a task. */
  @Override
  public String toString() {
    return children.size()
        + " splits, "
        + totalLength
        + " bytes, "
        + (current == NOT_READING ? "the first " : "now ")
        + current();
  }
}
