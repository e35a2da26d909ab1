package io.braid.hadoop.mapred;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.ChildSplits;
import io.braid.hadoop.input.Coalesced;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.input.Delegates;
import io.braid.hadoop.input.MixedSplit;
import io.braid.hadoop.input.SplitCoalescer;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.InputSplitWithLocationInfo;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapred.TextInputFormat;

/**
 * The same as {@link io.braid.hadoop.mapreduce.CoalescingInputFormat} in the old API, which
 * streaming's -inputformat and Hive take. Thread-safe: it keeps nothing between calls.
 */
public class CoalescingInputFormat<K, V> implements InputFormat<K, V> {
  /** Streaming drops the offsets in front of the lines if the input format is TextInputFormat. */
  private static final String STREAM_IGNORE_KEY = "stream.map.input.ignoreKey";

  private static final String HIVE_SPLIT =
      "org.apache.hadoop.hive.ql.io.HiveInputFormat$HiveInputSplit";

  /** Makes the job read what its input format reads, in coalesced splits. */
  public static void wrap(JobConf job) {
    setDelegate(job, job.getInputFormat().getClass());
  }

  /** Makes the job read what that input format reads, in coalesced splits. */
  @SuppressWarnings("rawtypes") // JobConf's own signature is raw
  public static void setDelegate(JobConf job, Class<? extends InputFormat> delegate) {
    job.set(Keys.DELEGATE.name(), delegate.getName());
    job.setInputFormat(CoalescingInputFormat.class);
  }

  @Override
  public InputSplit[] getSplits(JobConf job, int wanted) throws IOException {
    InputFormat<K, V> delegate = delegate(job);
    SplitCoalescer<InputSplit> coalescer = new SplitCoalescer<>(job, new Splits(job));
    List<InputSplit> splits = Arrays.asList(delegate.getSplits(job, wanted));
    return coalescer.coalesce(splits).toArray(new InputSplit[0]);
  }

  @Override
  public RecordReader<K, V> getRecordReader(InputSplit split, JobConf job, Reporter reporter)
      throws IOException {
    InputFormat<K, V> delegate = delegate(job);
    if (delegate.getClass() == TextInputFormat.class && job.get(STREAM_IGNORE_KEY) == null) {
      // Streaming looks at the class of the input format, which is this one, after this call.
      job.setBoolean(STREAM_IGNORE_KEY, true);
    }
    if (split instanceof Coalesced) {
      return new CoalescingRecordReader<>(delegate, split, job, reporter);
    }
    CoalescingCounters.countSingle(new TaskOfReporter(reporter));
    return delegate.getRecordReader(split, job, reporter);
  }

  @SuppressWarnings("unchecked") // the user says which delegate, and so which K and V
  private static <K, V> InputFormat<K, V> delegate(Configuration conf) {
    return (InputFormat<K, V>)
        Delegates.<InputFormat<?, ?>>create(
            conf, raw(InputFormat.class), TextInputFormat.class, raw(CoalescingInputFormat.class));
  }

  @SuppressWarnings("unchecked") // a class literal has no type arguments
  private static <T> Class<T> raw(Class<?> type) {
    return (Class<T>) type;
  }

  /** The splits of this API. */
  private static final class Splits implements SplitCoalescer.Api<InputSplit> {
    private final Configuration conf;

    Splits(Configuration conf) {
      this.conf = conf;
    }

    @Override
    public long length(InputSplit split) throws IOException {
      return split.getLength();
    }

    @Override
    public String[] locations(InputSplit split) throws IOException {
      return split.getLocations();
    }

    @Override
    public SplitLocationInfo[] locationInfo(InputSplit split) throws IOException {
      return split instanceof InputSplitWithLocationInfo
          ? ((InputSplitWithLocationInfo) split).getLocationInfo()
          : null;
    }

    /** The format of Hive's splits, whose key and value a map makes once. */
    @Override
    public String kind(InputSplit split) throws IOException {
      if (!split.getClass().getName().equals(HIVE_SPLIT)) {
        return "";
      }
      try {
        return (String) split.getClass().getMethod("inputFormatClassName").invoke(split);
      } catch (ReflectiveOperationException e) {
        throw new IOException("Hive's splits do not tell their table's format in this version", e);
      }
    }

    @Override
    public InputSplit coalesced(ChildSplits<InputSplit> children, boolean isFileShown) {
      return isFileShown ? new CoalescedSplit(children, conf) : new MixedSplit<>(children, conf);
    }
  }
}
