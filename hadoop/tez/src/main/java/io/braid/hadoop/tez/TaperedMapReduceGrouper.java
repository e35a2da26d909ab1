package io.braid.hadoop.tez;

import io.braid.hadoop.input.ChildSplits;
import io.braid.hadoop.input.SplitCoalescer;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.split.SplitLocationProvider;
import org.apache.hadoop.mapreduce.split.SplitSizeEstimator;
import org.apache.hadoop.mapreduce.split.TezGroupedSplit;
import org.apache.hadoop.mapreduce.split.TezMapReduceSplitsGrouper;

/**
 * Takes the place of Tez's grouper of splits of the new API: groups whose sizes fall, the
 * largest first, in Tez's own kind of split. Thread-safe: it keeps nothing between calls.
 */
public class TaperedMapReduceGrouper extends TezMapReduceSplitsGrouper {
  @Override
  public List<InputSplit> getGroupedSplits(
      Configuration conf,
      List<InputSplit> splits,
      int wanted,
      String format,
      SplitSizeEstimator estimator,
      SplitLocationProvider places)
      throws IOException, InterruptedException {
    Splits api = new Splits(format, estimator, places);
    List<InputSplit> groups = TaperedGrouping.of(conf, splits, wanted, api);
    return groups == null
        ? super.getGroupedSplits(conf, splits, wanted, format, estimator, places)
        : groups;
  }

  /** The splits of this API. */
  private static final class Splits implements SplitCoalescer.Api<InputSplit> {
    private final String format;
    private final SplitSizeEstimator estimator;
    private final SplitLocationProvider places;

    Splits(String format, SplitSizeEstimator estimator, SplitLocationProvider places) {
      this.format = format;
      this.estimator = estimator;
      this.places = places;
    }

    /** What reading it takes, which may be less than it has: some columns of all. */
    @Override
    public long length(InputSplit split) throws IOException, InterruptedException {
      return estimator == null ? split.getLength() : estimator.getEstimatedSize(split);
    }

    @Override
    public String[] locations(InputSplit split) throws IOException, InterruptedException {
      return places == null ? split.getLocations() : places.getLocations(split);
    }

    @Override
    public SplitLocationInfo[] locationInfo(InputSplit split) {
      return null;
    }

    @Override
    public InputSplit coalesced(ChildSplits<InputSplit> children, boolean isFileShown) {
      String[] hosts = TaperedGrouping.locations(children.preferredHosts());
      TezGroupedSplit group = new TezGroupedSplit(children.size(), format, hosts, null);
      for (int i = 0; i < children.size(); ++i) {
        group.addSplit(children.child(i));
      }
      return group;
    }
  }
}
