package io.braid.hadoop.mapred;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.input.MixedSplit;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.List;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.JobConfigurable;
import org.apache.hadoop.mapred.KeyValueTextInputFormat;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the old API has of its own: configured delegates, keys and values made once, streaming. */
class OldApiTest {
  /** Not part of a file. */
  public static final class NumberSplit implements InputSplit {
    private int number;

    public NumberSplit() {}

    NumberSplit(int number) {
      this.number = number;
    }

    @Override
    public long getLength() {
      return number;
    }

    @Override
    public String[] getLocations() {
      return new String[0];
    }

    @Override
    public void write(DataOutput out) throws IOException {
      out.writeInt(number);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
      number = in.readInt();
    }
  }

  /** Counts from 1 to a split's number; fails if nobody configured it. */
  public static final class Numbers
      implements InputFormat<IntWritable, IntWritable>, JobConfigurable {
    static RuntimeException failure;
    static int closed;
    private JobConf job;

    @Override
    public void configure(JobConf conf) {
      job = conf;
    }

    @Override
    public InputSplit[] getSplits(JobConf conf, int wanted) {
      if (failure != null) {
        throw failure;
      }
      InputSplit[] splits = new InputSplit[job.getInt("test.splits", wanted)];
      for (int i = 0; i < splits.length; ++i) {
        splits[i] = new NumberSplit(i);
      }
      return splits;
    }

    @Override
    public RecordReader<IntWritable, IntWritable> getRecordReader(
        InputSplit split, JobConf conf, Reporter reporter) {
      int last = ((NumberSplit) split).number;
      return new RecordReader<>() {
        private int at;

        @Override
        public boolean next(IntWritable key, IntWritable value) {
          key.set(last);
          value.set(++at);
          return at <= last;
        }

        @Override
        public IntWritable createKey() {
          return new IntWritable();
        }

        @Override
        public IntWritable createValue() {
          return new IntWritable();
        }

        @Override
        public long getPos() {
          return at;
        }

        @Override
        public float getProgress() {
          return last == 0 ? 1 : (float) at / last;
        }

        @Override
        public void close() {
          ++closed;
        }
      };
    }
  }

  private final JobConf conf = new JobConf();
  private final OldApi api = new OldApi(conf);
  private final CoalescingInputFormat<IntWritable, IntWritable> format =
      new CoalescingInputFormat<>();

  @BeforeEach
  void numbers() {
    Numbers.failure = null;
    Numbers.closed = 0;
    conf.set(Keys.DELEGATE.name(), Numbers.class.getName());
    conf.set(Keys.POLICY.name(), "maximum");
    conf.setInt(Keys.SLOT_NODES.name(), 2);
  }

  @Test
  void splitsThatAreNoFilesAreReadToo() throws Exception {
    conf.setInt("test.splits", 9);
    List<InputSplit> splits = api.splits(format, 1);
    assertEquals(2, splits.size());
    assertInstanceOf(MixedSplit.class, splits.get(0));
    assertEquals(36, api.records(format, splits).size());
    assertEquals(9, Numbers.closed);
    assertEquals(9, api.counter(CoalescingCounters.CHILD_SPLITS));
    assertEquals(36, api.counter(CoalescingCounters.REMOTE_BYTES));
  }

  @Test
  void theWantedNumberIsForTheDelegate() throws Exception {
    conf.set(Keys.POLICY.name(), "none");
    assertEquals(5, api.splits(format, 5).size());
  }

  @Test
  void theDelegatesExceptionComesUnchanged() {
    Numbers.failure = new IllegalStateException("scripted");
    assertSame(
        Numbers.failure, assertThrows(IllegalStateException.class, () -> api.splits(format, 1)));
  }

  @Test
  void keysAndValuesCanBeMadeAtTheEnd() throws Exception {
    conf.setInt("test.splits", 3);
    InputSplit split = api.splits(format, 1).get(0);
    RecordReader<IntWritable, IntWritable> reader = format.getRecordReader(split, conf, null);
    while (reader.next(reader.createKey(), reader.createValue())) {
      assertTrue(reader.getPos() <= split.getLength() + 3);
    }
    assertEquals(1, reader.getProgress());
    assertTrue(!reader.next(reader.createKey(), reader.createValue()));
    int closed = Numbers.closed;
    reader.close();
    assertEquals(closed, Numbers.closed);
  }

  @Test
  void formatsOfTheNewApiAreRefused() {
    conf.set(Keys.DELEGATE.name(), "org.apache.hadoop.mapreduce.lib.input.TextInputFormat");
    String message =
        assertThrows(IllegalArgumentException.class, () -> api.splits(format, 1)).getMessage();
    assertTrue(message.contains("braid.input.delegate"), message);
    assertTrue(message.contains("org.apache.hadoop.mapred.InputFormat"), message);
  }

  @Test
  void wrapTakesTheJobsFormat() {
    conf.setInputFormat(KeyValueTextInputFormat.class);
    CoalescingInputFormat.wrap(conf);
    assertInstanceOf(CoalescingInputFormat.class, conf.getInputFormat());
    assertEquals(KeyValueTextInputFormat.class.getName(), conf.get("braid.input.delegate"));
  }

  @Test
  void streamingIsToldToDropOffsetsForTextAlone() throws Exception {
    InputSplit split = new NumberSplit(1);
    format.getRecordReader(split, conf, Reporter.NULL).close();
    assertNull(conf.get("stream.map.input.ignoreKey"));
    conf.unset(Keys.DELEGATE.name());
    assertThrows(
        ClassCastException.class, () -> format.getRecordReader(split, conf, Reporter.NULL));
    assertEquals("true", conf.get("stream.map.input.ignoreKey"));
    conf.set("stream.map.input.ignoreKey", "false");
    assertThrows(
        ClassCastException.class, () -> format.getRecordReader(split, conf, Reporter.NULL));
    assertEquals("false", conf.get("stream.map.input.ignoreKey"));
  }
}
