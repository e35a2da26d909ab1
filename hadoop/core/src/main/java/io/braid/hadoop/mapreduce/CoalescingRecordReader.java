package io.braid.hadoop.mapreduce;

import io.braid.hadoop.input.ChildReading;
import io.braid.hadoop.input.Coalesced;
import java.io.IOException;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;

/** Reads the children of a coalesced split one after the other, each by the delegate's reader. */
final class CoalescingRecordReader<K, V> extends RecordReader<K, V> {
  private final InputFormat<K, V> delegate;
  private TaskAttemptContext context;
  private ChildReading<InputSplit> reading;

  /** Null before the first child, after the last and once closed. */
  private RecordReader<K, V> reader;

  CoalescingRecordReader(InputFormat<K, V> delegate) {
    this.delegate = delegate;
  }

  @Override
  public void initialize(InputSplit split, TaskAttemptContext context)
      throws IOException, InterruptedException {
    close();
    this.context = context;
    reading =
        new ChildReading<>(
            Coalesced.childrenOf(split),
            split instanceof FileSplit,
            context.getConfiguration(),
            new TaskOfContext(context));
    open();
  }

  @Override
  public boolean nextKeyValue() throws IOException, InterruptedException {
    while (reader != null) {
      if (reader.nextKeyValue()) {
        return true;
      }
      RecordReader<K, V> read = reader;
      reader = null;
      read.close();
      reading.finish();
      open();
    }
    return false;
  }

  /** Opens the next child, if there is one. */
  private void open() throws IOException, InterruptedException {
    InputSplit child = reading.next();
    if (child == null) {
      return;
    }
    RecordReader<K, V> opened = delegate.createRecordReader(child, context);
    try {
      opened.initialize(child, context);
    } catch (Throwable e) {
      closeAfter(e, opened);
      throw e;
    }
    reading.opened();
    reader = opened;
  }

  private static void closeAfter(Throwable failure, RecordReader<?, ?> opened) {
    try {
      opened.close();
    } catch (Exception e) {
      // A reader that did not come up need not be able to close; what failed first counts.
      failure.addSuppressed(e);
    }
  }

  @Override
  public K getCurrentKey() throws IOException, InterruptedException {
    return reader == null ? null : reader.getCurrentKey();
  }

  @Override
  public V getCurrentValue() throws IOException, InterruptedException {
    return reader == null ? null : reader.getCurrentValue();
  }

  @Override
  public float getProgress() throws IOException, InterruptedException {
    if (reading == null) {
      return 0;
    }
    return reader == null
        ? reading.progress(0, true)
        : reading.progress(reader.getProgress(), false);
  }

  @Override
  public void close() throws IOException {
    RecordReader<K, V> open = reader;
    reader = null;
    if (reading != null) {
      reading.stop();
    }
    if (open != null) {
      open.close();
    }
  }
}
