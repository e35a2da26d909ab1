package io.braid.hadoop.mapreduce;

import io.braid.hadoop.conf.Keys;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.mapreduce.lib.map.MultithreadedMapper;

/** Jobs over text in the local job runner. */
final class LocalJobs {
  private LocalJobs() {}

  /** Sets the runner, small splits, and a plan of so many groups. */
  static void configure(
      Configuration conf, java.nio.file.Path temporary, long splitBytes, int groups) {
    conf.set("mapreduce.framework.name", "local");
    conf.set("hadoop.tmp.dir", temporary + "/tmp");
    conf.setLong(FileInputFormat.SPLIT_MAXSIZE, splitBytes);
    conf.set(Keys.POLICY.name(), "maximum");
    conf.setInt(Keys.SLOT_NODES.name(), groups);
  }

  /** A job without input and output yet, whose mapper runs in so many threads. */
  static <K, V> Job of(
      Configuration conf,
      boolean isCoalesced,
      Class<? extends Mapper<LongWritable, Text, K, V>> mapper,
      int threads)
      throws IOException, ClassNotFoundException {
    Job job = Job.getInstance(conf, mapper.getSimpleName());
    job.setInputFormatClass(TextInputFormat.class);
    if (isCoalesced) {
      CoalescingInputFormat.wrap(job);
    }
    job.setMapperClass(mapper);
    if (threads > 1) {
      job.setMapperClass(MultithreadedMapper.class);
      MultithreadedMapper.setMapperClass(job, mapper);
      MultithreadedMapper.setNumberOfThreads(job, threads);
    }
    return job;
  }
}
