package io.braid.hadoop.mapreduce;

import io.braid.hadoop.input.ChildSplits;
import org.apache.hadoop.mapreduce.InputSplit;

/** A split that holds several of the delegate's. */
public interface Coalesced {
  ChildSplits<InputSplit> children();
}
