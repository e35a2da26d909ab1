package io.braid.hadoop.mapred;

import io.braid.hadoop.input.ChildSplits;
import org.apache.hadoop.mapred.InputSplit;

/** A split that holds several of the delegate's. */
public interface Coalesced {
  ChildSplits<InputSplit> children();
}
