package io.braid.hadoop.mapreduce;

import io.braid.hadoop.input.ChildSplits;
import io.braid.hadoop.input.Coalesced;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/**
 * Several FileSplits for one container. It is a FileSplit itself and shows the child being read, so
 * mappers that cast their split see the file they get records of, and the framework counts the
 * bytes read. Before reading and after, the length is that of all children. Thread safety: as
 * {@link ChildSplits}.
 */
public class CoalescedSplit extends FileSplit implements Coalesced<InputSplit>, Configurable {
  private Configuration conf;
  private ChildSplits<InputSplit> children;

  /** For deserialization alone. */
  public CoalescedSplit() {}

  CoalescedSplit(ChildSplits<InputSplit> children, Configuration conf) {
    this.children = children;
    this.conf = conf;
  }

  @Override
  public ChildSplits<InputSplit> children() {
    return children;
  }

  @Override
  public Path getPath() {
    return children.path();
  }

  @Override
  public long getStart() {
    return children.start();
  }

  @Override
  public long getLength() {
    return children.length();
  }

  @Override
  public String[] getLocations() {
    return children.preferredHosts().toArray(new String[0]);
  }

  @Override
  public SplitLocationInfo[] getLocationInfo() {
    return children.locationInfo();
  }

  @Override
  public void write(DataOutput out) throws IOException {
    children.write(out, conf);
  }

  @Override
  public void readFields(DataInput in) throws IOException {
    children = ChildSplits.read(in, conf);
  }

  @Override
  public void setConf(Configuration conf) {
    this.conf = conf;
  }

  @Override
  public Configuration getConf() {
    return conf;
  }

  @Override
  public String toString() {
    return String.valueOf(children);
  }
}
