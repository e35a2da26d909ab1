package io.braid.hadoop.history;

import io.braid.hadoop.input.CoalescingCounters;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.mapreduce.jobhistory.EventReader;
import org.apache.hadoop.mapreduce.jobhistory.HistoryEvent;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser.JobInfo;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser.TaskAttemptInfo;
import org.apache.hadoop.mapreduce.jobhistory.JobHistoryParser.TaskInfo;
import org.apache.hadoop.mapreduce.jobhistory.MapAttemptFinishedEvent;

/** Reads the files (.jhist) that MapReduce's application masters leave. Stateless. */
public final class HistoryReader {
  private static final String SUFFIX = ".jhist";
  private static final Comparator<FileStatus> NEWEST =
      Comparator.comparingLong(FileStatus::getModificationTime)
          .reversed()
          .thenComparing(FileStatus::getPath);

  private HistoryReader() {}

  /** The job of one file. */
  public static JobTimes read(Configuration conf, Path file) throws IOException {
    FileSystem files = file.getFileSystem(conf);
    Map<String, int[]> clockSplits = clockSplits(files, file);
    JobInfo job;
    try {
      job = new JobHistoryParser(files, file).parse();
    } catch (IOException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(file + " is no job history: " + e.getMessage(), e);
    }
    if (job.getJobId() == null) {
      throw new IOException(
          file + " is no job history, or is cut off before the job's first event");
    }
    List<MapTime> maps = new ArrayList<>();
    for (TaskInfo task : job.getAllTasks().values()) {
      for (TaskAttemptInfo attempt : task.getAllTaskAttempts().values()) {
        if (task.getTaskType() == TaskType.MAP && "SUCCEEDED".equals(attempt.getTaskStatus())) {
          maps.add(time(task, attempt, clockSplits));
        }
      }
    }
    return new JobTimes(
        job.getJobId().toString(),
        job.getJobname(),
        job.getSubmitTime(),
        job.getFinishTime(),
        maps);
  }

  private static MapTime time(
      TaskInfo task, TaskAttemptInfo attempt, Map<String, int[]> clockSplits) {
    Counters counters = attempt.getCounters();
    String id = attempt.getAttemptId().toString();
    return new MapTime(
        id,
        attempt.getHostname(),
        task.getStartTime(),
        attempt.getStartTime(),
        began(attempt, TaskCounts.of(counters, CoalescingCounters.READING_MS)),
        attempt.getFinishTime(),
        TaskCounts.bytes(counters),
        TaskCounts.of(counters, CoalescingCounters.SPLITS_BEFORE),
        clockSplits.getOrDefault(id, new int[0]),
        TaskCounts.openSeconds(counters));
  }

  /** When the map began to read, by how long it did; 0 when it did not say. */
  private static long began(TaskAttemptInfo attempt, long reading) {
    long mapped = attempt.getMapFinishTime();
    boolean isKnown = mapped > attempt.getStartTime() && mapped <= attempt.getFinishTime();
    return reading <= 0 ? 0 : (isKnown ? mapped : attempt.getFinishTime()) - reading;
  }

  /** How each map's time is spread over its progress, which the parser leaves out. */
  private static Map<String, int[]> clockSplits(FileSystem files, Path file) throws IOException {
    Map<String, int[]> splits = new HashMap<>();
    try (EventReader reader = new EventReader(files, file)) {
      for (HistoryEvent event = reader.getNextEvent();
          event != null;
          event = reader.getNextEvent()) {
        if (event instanceof MapAttemptFinishedEvent) {
          MapAttemptFinishedEvent map = (MapAttemptFinishedEvent) event;
          if (map.getClockSplits() != null) {
            splits.put(map.getAttemptId().toString(), map.getClockSplits());
          }
        }
      }
    } catch (FileNotFoundException e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw new IOException(file + " is no job history, or is cut off: " + e.getMessage(), e);
    }
    return splits;
  }

  /**
   * History files: the path itself, or those below a folder, at most that many, the newest first.
   * At the deadline, by System.nanoTime(), with those that were found by then.
   */
  public static List<Path> find(Configuration conf, Path path, int most, long deadline)
      throws IOException {
    FileSystem files = path.getFileSystem(conf);
    if (!files.getFileStatus(path).isDirectory()) {
      return List.of(path);
    }
    List<FileStatus> found = new ArrayList<>();
    walk(files, path, most, deadline, found);
    found.sort(NEWEST);
    List<Path> newest = new ArrayList<>();
    for (FileStatus file : found.subList(0, Math.min(most, found.size()))) {
      newest.add(file.getPath());
    }
    return newest;
  }

  /** The folders of a JobHistoryServer are years, months, days and numbers: the last one first. */
  private static void walk(
      FileSystem files, Path folder, int most, long deadline, List<FileStatus> found)
      throws IOException {
    List<FileStatus> folders = new ArrayList<>();
    boolean areDated = true;
    for (FileStatus file : files.listStatus(folder)) {
      String name = file.getPath().getName();
      if (file.isDirectory()) {
        folders.add(file);
        areDated &= name.chars().allMatch(Character::isDigit);
      } else if (name.endsWith(SUFFIX)) {
        found.add(file);
      }
    }
    folders.sort(
        areDated ? Comparator.<FileStatus, Path>comparing(FileStatus::getPath).reversed() : NEWEST);
    int before = found.size();
    for (FileStatus next : folders) {
      boolean isEnough = areDated && found.size() - before >= most;
      if (isEnough || System.nanoTime() - deadline > 0) {
        return;
      }
      walk(files, next.getPath(), most, deadline, found);
    }
  }
}
