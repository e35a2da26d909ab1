package io.braid.hadoop.mapred;

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
import org.apache.hadoop.mapred.Counters;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.apache.hadoop.util.ReflectionUtils;

/** Does what the framework does with an input format of the old API. For one thread. */
final class OldApi {
  final JobConf conf;
  final Counters counters = new Counters();

  OldApi(JobConf conf) {
    this.conf = conf;
  }

  List<InputSplit> splits(InputFormat<?, ?> format, int wanted) throws IOException {
    return List.of(format.getSplits(conf, wanted));
  }

  /** Each record of each split with the file it says it is of, in order of text. */
  <K, V> List<String> records(InputFormat<K, V> format, List<InputSplit> splits)
      throws IOException {
    List<String> records = new ArrayList<>();
    for (InputSplit split : splits) {
      records.addAll(records(format, roundTrip(split)));
    }
    Collections.sort(records);
    return records;
  }

  <K, V> List<String> records(InputFormat<K, V> format, InputSplit split) throws IOException {
    List<String> records = new ArrayList<>();
    RecordReader<K, V> reader = format.getRecordReader(split, conf, new CountingReporter());
    try {
      K key = reader.createKey();
      V value = reader.createValue();
      float progress = 0;
      while (reader.next(key, value)) {
        String file =
            split instanceof FileSplit
                ? ((FileSplit) split).getPath() + "+" + ((FileSplit) split).getStart()
                : "";
        records.add(file + " " + key + " " + value);
        float now = reader.getProgress();
        assertTrue(now >= progress && now <= 1, "progress went from " + progress + " to " + now);
        progress = now;
      }
    } finally {
      reader.close();
    }
    return records;
  }

  long counter(String name) {
    return counters.findCounter(CoalescingCounters.GROUP, name).getValue();
  }

  /** As it comes out of the job's split file. */
  <S extends InputSplit> S roundTrip(S split) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    split.write(new DataOutputStream(bytes));
    @SuppressWarnings("unchecked") // an object's class is a class of its type
    S read = (S) ReflectionUtils.newInstance(split.getClass(), conf);
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(bytes.toByteArray()));
    read.readFields(in);
    assertTrue(in.read() < 0, "bytes are left over");
    return read;
  }

  final class CountingReporter implements Reporter {
    @Override
    public void setStatus(String status) {}

    @Override
    public Counters.Counter getCounter(Enum<?> name) {
      return counters.findCounter(name);
    }

    @Override
    public Counters.Counter getCounter(String group, String name) {
      return counters.findCounter(group, name);
    }

    @Override
    public void incrCounter(Enum<?> key, long amount) {
      counters.incrCounter(key, amount);
    }

    @Override
    public void incrCounter(String group, String counter, long amount) {
      counters.incrCounter(group, counter, amount);
    }

    @Override
    public InputSplit getInputSplit() {
      throw new UnsupportedOperationException("no split");
    }

    @Override
    public float getProgress() {
      return 0;
    }

    @Override
    public void progress() {}
  }
}
