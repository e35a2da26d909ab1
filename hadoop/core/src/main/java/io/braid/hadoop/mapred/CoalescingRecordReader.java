package io.braid.hadoop.mapred;

import io.braid.hadoop.input.ChildReading;
import io.braid.hadoop.input.Coalesced;
import java.io.IOException;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.RecordReader;
import org.apache.hadoop.mapred.Reporter;

/** Reads the children of a coalesced split one after the other, each by the delegate's reader. */
final class CoalescingRecordReader<K, V> implements RecordReader<K, V> {
  private final InputFormat<K, V> delegate;
  private final JobConf job;
  private final Reporter reporter;
  private final ChildReading<InputSplit> reading;

  /** Of the present child; the last one's stays, closed, as the maker of keys and values. */
  private RecordReader<K, V> reader;

  private boolean isOpen;

  CoalescingRecordReader(
      InputFormat<K, V> delegate, InputSplit split, JobConf job, Reporter reporter)
      throws IOException {
    this.delegate = delegate;
    this.job = job;
    this.reporter = reporter;
    this.reading =
        new ChildReading<>(
            Coalesced.childrenOf(split),
            split instanceof FileSplit,
            job,
            new TaskOfReporter(reporter));
    open();
  }

  @Override
  public boolean next(K key, V value) throws IOException {
    while (isOpen) {
      if (reader.next(key, value)) {
        return true;
      }
      isOpen = false;
      reader.close();
      reading.finish();
      open();
    }
    return false;
  }

  /** Opens the next child, if there is one. */
  private void open() throws IOException {
    InputSplit child = reading.next();
    if (child != null) {
      reader = delegate.getRecordReader(child, job, reporter);
      reading.opened();
      isOpen = true;
    }
  }

  @Override
  public K createKey() {
    return reader.createKey();
  }

  @Override
  public V createValue() {
    return reader.createValue();
  }

  @Override
  public long getPos() throws IOException {
    return reading.position(isOpen ? reader.getProgress() : 0);
  }

  @Override
  public float getProgress() throws IOException {
    return reading.progress(isOpen ? reader.getProgress() : 0, !isOpen);
  }

  @Override
  public void close() throws IOException {
    reading.stop();
    if (isOpen) {
      isOpen = false;
      reader.close();
    }
  }
}
