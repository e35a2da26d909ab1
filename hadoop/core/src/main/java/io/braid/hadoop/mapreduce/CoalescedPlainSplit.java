package io.braid.hadoop.mapreduce;

import io.braid.hadoop.input.ChildSplits;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapreduce.InputSplit;

/**
 * Several splits for one container, not all of them parts of files; {@link #children} tells which
 * one is being read. Thread safety: as {@link ChildSplits}.
 */
public class CoalescedPlainSplit extends InputSplit implements Coalesced, Writable, Configurable {
  private Configuration conf;
  private ChildSplits<InputSplit> children;

  /** For deserialization alone. */
  public CoalescedPlainSplit() {}

  CoalescedPlainSplit(ChildSplits<InputSplit> children, Configuration conf) {
    this.children = children;
    this.conf = conf;
  }

  @Override
  public ChildSplits<InputSplit> children() {
    return children;
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
