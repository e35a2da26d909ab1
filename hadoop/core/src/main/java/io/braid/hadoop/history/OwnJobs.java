package io.braid.hadoop.history;

import io.braid.hadoop.input.CoalescingCounters;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.mapreduce.Cluster;
import org.apache.hadoop.mapreduce.Counters;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobID;
import org.apache.hadoop.mapreduce.TaskCompletionEvent;
import org.apache.hadoop.mapreduce.TaskReport;
import org.apache.hadoop.mapreduce.TaskType;
import org.apache.hadoop.yarn.api.protocolrecords.ApplicationsRequestScope;
import org.apache.hadoop.yarn.api.protocolrecords.GetApplicationsRequest;
import org.apache.hadoop.yarn.api.records.ApplicationReport;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;

/**
 * The user's own finished jobs, as the ResourceManager remembers them and the JobHistoryServer
 * tells them: with the user's rights, where its files are for administrators alone. Only jobs whose
 * tasks counted their reading say when they began to. Stateless.
 */
final class OwnJobs {
  private static final int MOST_EVENTS = 100_000;

  private OwnJobs() {}

  /** Those of that name that finished last, at most so many. */
  static List<JobTimes> find(Configuration conf, String jobName, int most)
      throws IOException, InterruptedException {
    List<ApplicationReport> newest = finished(conf, jobName);
    List<JobTimes> jobs = new ArrayList<>();
    Cluster cluster = new Cluster(conf);
    try {
      for (ApplicationReport report : newest) {
        if (jobs.size() == most || Thread.interrupted()) {
          break;
        }
        JobTimes job = job(cluster, report);
        if (job != null && job.maps().size() >= StartUp.FEWEST) {
          jobs.add(job);
        }
      }
    } finally {
      cluster.close();
    }
    return jobs;
  }

  private static List<ApplicationReport> finished(Configuration conf, String jobName)
      throws IOException {
    YarnConfiguration plain = new YarnConfiguration(conf);
    // The timeline service has nothing to do with it, and its client may need further jars.
    plain.setBoolean(YarnConfiguration.TIMELINE_SERVICE_ENABLED, false);
    GetApplicationsRequest request =
        GetApplicationsRequest.newInstance(
            Set.of("MAPREDUCE"), EnumSet.of(YarnApplicationState.FINISHED));
    request.setScope(ApplicationsRequestScope.OWN);
    try (YarnClient client = YarnClient.createYarnClient()) {
      client.init(plain);
      client.start();
      List<ApplicationReport> reports = new ArrayList<>(client.getApplications(request));
      reports.removeIf(
          report ->
              report.getFinalApplicationStatus() != FinalApplicationStatus.SUCCEEDED
                  || jobName == null
                  || !jobName.equals(report.getName()));
      reports.sort(Comparator.comparingLong(ApplicationReport::getFinishTime).reversed());
      return reports;
    } catch (YarnException e) {
      throw new IOException(e.getMessage(), e);
    }
  }

  /** Null when the history server no longer knows it. */
  private static JobTimes job(Cluster cluster, ApplicationReport report)
      throws IOException, InterruptedException {
    String id = report.getApplicationId().toString().replaceFirst("application", "job");
    Job job = cluster.getJob(JobID.forName(id));
    if (job == null) {
      return null;
    }
    Map<String, String> hosts = hosts(job);
    List<MapTime> maps = new ArrayList<>();
    for (TaskReport task : job.getTaskReports(TaskType.MAP)) {
      MapTime map = time(task, hosts);
      if (map != null) {
        maps.add(map);
      }
    }
    return new JobTimes(id, report.getName(), report.getStartTime(), report.getFinishTime(), maps);
  }

  private static Map<String, String> hosts(Job job) throws IOException, InterruptedException {
    Map<String, String> hosts = new HashMap<>();
    for (TaskCompletionEvent event : job.getTaskCompletionEvents(0, MOST_EVENTS)) {
      String address = event.getTaskTrackerHttp();
      String host = address == null ? null : URI.create(address).getHost();
      hosts.put(event.getTaskAttemptId().toString(), host == null ? String.valueOf(address) : host);
    }
    return hosts;
  }

  /** Null when the task did not count. A report has no launch, so it is counted back. */
  private static MapTime time(TaskReport task, Map<String, String> hosts) {
    Counters counters = task.getTaskCounters();
    long reading = TaskCounts.of(counters, CoalescingCounters.READING_MS);
    long starting = TaskCounts.of(counters, CoalescingCounters.STARTING_MS);
    if (task.getSuccessfulTaskAttemptId() == null || reading <= 0 || starting <= 0) {
      return null;
    }
    String id = task.getSuccessfulTaskAttemptId().toString();
    long began = task.getFinishTime() - reading;
    return new MapTime(
        id,
        hosts.getOrDefault(id, ""),
        task.getStartTime(),
        began - starting,
        began,
        task.getFinishTime(),
        TaskCounts.bytes(counters),
        TaskCounts.of(counters, CoalescingCounters.SPLITS_BEFORE),
        new int[0],
        TaskCounts.openSeconds(counters));
  }
}
