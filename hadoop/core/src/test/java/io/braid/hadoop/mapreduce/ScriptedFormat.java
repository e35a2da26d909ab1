package io.braid.hadoop.mapreduce;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/**
 * A delegate that gives two records a split and does what a test's script says. The script is
 * static, as the format is made by reflection: one test at a time.
 */
public class ScriptedFormat extends InputFormat<String, Integer> {
  enum Event {
    OPENED,
    READ,
    CLOSED
  }

  /** A split that is no part of a file. */
  public static class NumberSplit extends InputSplit implements Writable {
    int number;

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
      return null; // some formats do
    }

    @Override
    public void write(DataOutput out) throws IOException {
      out.writeInt(number);
    }

    @Override
    public void readFields(DataInput in) throws IOException {
      number = in.readInt();
    }

    @Override
    public String toString() {
      return "number " + number;
    }
  }

  static List<InputSplit> splits = List.of();
  static Exception failure;
  static Event failAt;
  static String failOn;
  static float[] progress;
  private static final List<Event> EVENTS = new ArrayList<>();
  private static int asked;

  static void reset() {
    splits = List.of();
    failure = null;
    failAt = null;
    failOn = null;
    progress = new float[] {0.5f};
    EVENTS.clear();
    asked = 0;
  }

  static long count(Event event) {
    return EVENTS.stream().filter(event::equals).count();
  }

  @Override
  public List<InputSplit> getSplits(JobContext context) throws IOException, InterruptedException {
    if (failure instanceof IOException) {
      throw (IOException) failure;
    }
    if (failure instanceof InterruptedException) {
      throw (InterruptedException) failure;
    }
    if (failure != null) {
      throw (RuntimeException) failure;
    }
    return splits;
  }

  @Override
  public RecordReader<String, Integer> createRecordReader(
      InputSplit split, TaskAttemptContext context) {
    return new Reader();
  }

  private static final class Reader extends RecordReader<String, Integer> {
    private String name;
    private int read;

    private void happens(Event event) throws IOException {
      EVENTS.add(event);
      if (event == failAt && name.equals(failOn)) {
        throw new IOException("scripted " + event + " of " + name);
      }
    }

    @Override
    public void initialize(InputSplit split, TaskAttemptContext context) throws IOException {
      name =
          split instanceof FileSplit ? ((FileSplit) split).getPath().getName() : split.toString();
      happens(Event.OPENED);
    }

    @Override
    public boolean nextKeyValue() throws IOException {
      happens(Event.READ);
      return ++read <= 2;
    }

    @Override
    public String getCurrentKey() {
      return name;
    }

    @Override
    public Integer getCurrentValue() {
      return read;
    }

    @Override
    public float getProgress() {
      return progress[asked++ % progress.length];
    }

    @Override
    public void close() throws IOException {
      happens(Event.CLOSED);
    }
  }
}
