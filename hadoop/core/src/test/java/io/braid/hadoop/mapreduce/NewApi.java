package io.braid.hadoop.mapreduce;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.input.CoalescingCounters;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.Counter;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.StatusReporter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.hadoop.util.ReflectionUtils;

/** Does what the framework does with an input format of the new API. For one thread. */
final class NewApi {
  final Configuration conf;
  final Counters counters = new Counters();

  NewApi(Configuration conf) {
    this.conf = conf;
  }

  List<InputSplit> splits(InputFormat<?, ?> format) throws IOException, InterruptedException {
    return format.getSplits(Job.getInstance(conf));
  }

  /** Each record of each split with the file it says it is of, in order of text. */
  List<String> records(InputFormat<?, ?> format, List<InputSplit> splits)
      throws IOException, InterruptedException {
    List<String> records = new ArrayList<>();
    for (InputSplit split : splits) {
      records.addAll(records(format, roundTrip(split)));
    }
    Collections.sort(records);
    return records;
  }

  List<String> records(InputFormat<?, ?> format, InputSplit split)
      throws IOException, InterruptedException {
    TaskAttemptContext context = context();
    List<String> records = new ArrayList<>();
    try (RecordReader<?, ?> reader = format.createRecordReader(split, context)) {
      reader.initialize(split, context);
      float progress = 0;
      while (reader.nextKeyValue()) {
        String file =
            split instanceof FileSplit
                ? ((FileSplit) split).getPath() + "+" + ((FileSplit) split).getStart()
                : "";
        records.add(file + " " + reader.getCurrentKey() + " " + reader.getCurrentValue());
        float now = reader.getProgress();
        assertTrue(now >= progress && now <= 1, "progress went from " + progress + " to " + now);
        progress = now;
      }
    }
    return records;
  }

  TaskAttemptContext context() {
    return new TaskAttemptContextImpl(conf, new TaskAttemptID(), new Reporter());
  }

  long counter(String name) {
    return counters.findCounter(CoalescingCounters.GROUP, name).getValue();
  }

  /** As it comes out of the job's split file. */
  <S extends InputSplit> S roundTrip(S split) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ((Writable) split).write(new DataOutputStream(bytes));
    @SuppressWarnings("unchecked") // an object's class is a class of its type
    S read = (S) ReflectionUtils.newInstance(split.getClass(), conf);
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
    ((Writable) read).readFields(in);
    assertTrue(in.read() < 0, "bytes are left over");
    return read;
  }

  private final class Reporter extends StatusReporter {
    @Override
    public Counter getCounter(Enum<?> name) {
      return counters.findCounter(name);
    }

    @Override
    public Counter getCounter(String group, String name) {
      return counters.findCounter(group, name);
    }

    @Override
    public void progress() {}

    @Override
    public float getProgress() {
      return 0;
    }

    @Override
    public void setStatus(String status) {}
  }
}
