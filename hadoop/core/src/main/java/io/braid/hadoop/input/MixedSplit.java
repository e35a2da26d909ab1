package io.braid.hadoop.input;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import org.apache.hadoop.conf.Configurable;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.InputSplitWithLocationInfo;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapreduce.InputSplit;

/**
 * Several splits for one container that are not all of one file; {@link #children} tells which one
 * is being read. It is no FileSplit, so that a mapper which asks such a split for its file fails
 * rather than take all records for the first file's. A split of both APIs: the old one's is an
 * interface. Thread safety: as {@link ChildSplits}.
 *
 * @param <S> the API's InputSplit
 */
public final class MixedSplit<S> extends InputSplit
    implements InputSplitWithLocationInfo, Coalesced<S>, Configurable {
  private Configuration conf;
  private ChildSplits<S> children;

  /** For deserialization alone. */
  public MixedSplit() {}

  public MixedSplit(ChildSplits<S> children, Configuration conf) {
    this.children = children;
    this.conf = conf;
  }

  @Override
  public ChildSplits<S> children() {
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
