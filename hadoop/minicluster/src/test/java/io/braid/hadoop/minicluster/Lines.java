package io.braid.hadoop.minicluster;

import java.io.IOException;
import java.util.Iterator;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.MapReduceBase;
import org.apache.hadoop.mapred.OutputCollector;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/**
 * Counts how often a line is in a file, in both APIs. The mappers ask their split for the file, as
 * many do: with coalesced splits it must be the one that the line is from.
 */
final class Lines {
  private static final LongWritable ONE = new LongWritable(1);

  private Lines() {}

  /** Of the new API. */
  public static final class LineMapper extends Mapper<LongWritable, Text, Text, LongWritable> {
    @Override
    protected void map(LongWritable offset, Text line, Context context)
        throws IOException, InterruptedException {
      FileSplit split = (FileSplit) context.getInputSplit();
      boolean isWithin =
          offset.get() >= split.getStart() && offset.get() <= split.getStart() + split.getLength();
      context.write(
          new Text(split.getPath().getName() + (isWithin ? "" : " outside") + " " + line), ONE);
    }
  }

  /** Of the new API. */
  public static final class Sum extends Reducer<Text, LongWritable, Text, LongWritable> {
    @Override
    protected void reduce(Text line, Iterable<LongWritable> counts, Context context)
        throws IOException, InterruptedException {
      long sum = 0;
      for (LongWritable count : counts) {
        sum += count.get();
      }
      context.write(line, new LongWritable(sum));
    }
  }

  /** Of the old API. */
  public static final class OldMapper extends MapReduceBase
      implements org.apache.hadoop.mapred.Mapper<LongWritable, Text, Text, LongWritable> {
    private JobConf job;

    @Override
    public void configure(JobConf conf) {
      job = conf;
    }

    @Override
    public void map(
        LongWritable offset, Text line, OutputCollector<Text, LongWritable> out, Reporter reporter)
        throws IOException {
      String file =
          ((org.apache.hadoop.mapred.FileSplit) reporter.getInputSplit()).getPath().getName();
      boolean isTold = job.get("mapreduce.map.input.file").endsWith(file);
      out.collect(new Text(file + (isTold ? "" : " not told") + " " + line), ONE);
    }
  }

  /** Of the old API. */
  public static final class OldSum extends MapReduceBase
      implements org.apache.hadoop.mapred.Reducer<Text, LongWritable, Text, LongWritable> {
    @Override
    public void reduce(
        Text line,
        Iterator<LongWritable> counts,
        OutputCollector<Text, LongWritable> out,
        Reporter reporter)
        throws IOException {
      long sum = 0;
      while (counts.hasNext()) {
        sum += counts.next().get();
      }
      out.collect(line, new LongWritable(sum));
    }
  }
}
