package org.apache.hadoop.mapreduce.jobhistory;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.Map;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.TaskID;
import org.apache.hadoop.mapreduce.TaskType;

/**
 * Writes a .jhist by Hadoop's own writer, whose methods are for its package alone. For tests; one
 * thread.
 */
public final class HistoryFile implements AutoCloseable {
  private final JobID job = new JobID("202601010000", 1);
  private final EventWriter writer;
  private int maps;
  private long last;

  /** Begins the file of a job of that name, submitted at 0. */
  public HistoryFile(File file, String name) throws IOException {
    writer =
        new EventWriter(
            new FSDataOutputStream(new FileOutputStream(file), null), EventWriter.WriteMode.JSON);
    writer.write(new JobSubmittedEvent(job, name, "user", 0, "job.xml", Map.of(), "default"));
    writer.write(new JobInitedEvent(job, 1500, 1, 0, "RUNNING", false));
  }

  /** A map that succeeds, in milliseconds; {@code blocks} 0 for one that was not coalesced. */
  public void map(String host, long launched, long finished, long bytes, long blocks)
      throws IOException {
    Counters counters = new Counters();
    counters
        .findCounter("org.apache.hadoop.mapreduce.lib.input.FileInputFormatCounter", "BYTES_READ")
        .setValue(bytes);
    if (blocks > 0) {
      counters.findCounter("Input coalescing", "SPLITS_BEFORE").setValue(blocks);
    }
    TaskID task = new TaskID(job, TaskType.MAP, maps++);
    TaskAttemptID attempt = new TaskAttemptID(task, 0);
    writer.write(new TaskStartedEvent(task, 1500, TaskType.MAP, ""));
    writer.write(
        new TaskAttemptStartedEvent(
            attempt, TaskType.MAP, launched, host, 1, 2, "NODE_LOCAL", "VIRGIN"));
    writer.write(
        new MapAttemptFinishedEvent(
            attempt,
            TaskType.MAP,
            "SUCCEEDED",
            finished,
            finished,
            host,
            1,
            "/rack",
            "",
            counters,
            new int[][] {{}, {}, {}, {}}));
    writer.write(
        new TaskFinishedEvent(
            task, attempt, finished, TaskType.MAP, "SUCCEEDED", counters, launched));
    last = Math.max(last, finished);
  }

  /** A map whose only attempt fails. */
  public void failedMap(String host, long launched, long finished) throws IOException {
    TaskID task = new TaskID(job, TaskType.MAP, maps++);
    TaskAttemptID attempt = new TaskAttemptID(task, 0);
    writer.write(new TaskStartedEvent(task, 1500, TaskType.MAP, ""));
    writer.write(
        new TaskAttemptStartedEvent(
            attempt, TaskType.MAP, launched, host, 1, 2, "NODE_LOCAL", "VIRGIN"));
    writer.write(
        new TaskAttemptUnsuccessfulCompletionEvent(
            attempt,
            TaskType.MAP,
            "FAILED",
            finished,
            host,
            1,
            "/rack",
            "no disk",
            new Counters(),
            new int[][] {{}, {}, {}, {}}));
  }

  @Override
  public void close() throws IOException {
    writer.write(
        new JobFinishedEvent(
            job, last + 500, maps, 0, 0, 0, 0, 0, new Counters(), new Counters(), new Counters()));
    writer.close();
  }
}
