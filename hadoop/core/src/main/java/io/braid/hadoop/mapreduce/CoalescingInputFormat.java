package io.braid.hadoop.mapreduce;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.ChildSplits;
import io.braid.hadoop.input.Coalesced;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.input.Delegates;
import io.braid.hadoop.input.MixedSplit;
import io.braid.hadoop.input.SplitCoalescer;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;

/**
 * Puts the splits of another input format (braid.input.delegate) together into fewer that fit the
 * cluster; the records are the delegate's. {@link Keys} has what can be set. Thread-safe: it keeps
 * nothing between calls.
 */
public class CoalescingInputFormat<K, V> extends InputFormat<K, V> {
  /** Makes the job read what its input format reads, in coalesced splits. */
  public static void wrap(Job job) throws ClassNotFoundException {
    setDelegate(job, job.getInputFormatClass());
  }

  /** Makes the job read what that input format reads, in coalesced splits. */
  @SuppressWarnings("rawtypes") // Job's own signature is raw
  public static void setDelegate(Job job, Class<? extends InputFormat> delegate) {
    job.getConfiguration().set(Keys.DELEGATE.name(), delegate.getName());
    job.setInputFormatClass(CoalescingInputFormat.class);
  }

  @Override
  public List<InputSplit> getSplits(JobContext context) throws IOException, InterruptedException {
    Configuration conf = context.getConfiguration();
    InputFormat<K, V> delegate = delegate(conf);
    SplitCoalescer<InputSplit> coalescer = new SplitCoalescer<>(conf, new Splits(conf));
    return coalescer.coalesce(delegate.getSplits(context));
  }

  @Override
  public RecordReader<K, V> createRecordReader(InputSplit split, TaskAttemptContext context)
      throws IOException, InterruptedException {
    InputFormat<K, V> delegate = delegate(context.getConfiguration());
    if (split instanceof Coalesced) {
      return new CoalescingRecordReader<>(delegate);
    }
    CoalescingCounters.countSingle(new TaskOfContext(context));
    return delegate.createRecordReader(split, context);
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
    public long length(InputSplit split) throws IOException, InterruptedException {
      return split.getLength();
    }

    @Override
    public String[] locations(InputSplit split) throws IOException, InterruptedException {
      return split.getLocations();
    }

    @Override
    public SplitLocationInfo[] locationInfo(InputSplit split) throws IOException {
      return split.getLocationInfo();
    }

    @Override
    public InputSplit coalesced(ChildSplits<InputSplit> children, boolean isFileShown) {
      return isFileShown ? new CoalescedSplit(children, conf) : new MixedSplit<>(children, conf);
    }
  }
}
