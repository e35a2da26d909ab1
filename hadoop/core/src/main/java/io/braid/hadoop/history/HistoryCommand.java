package io.braid.hadoop.history;

import io.braid.hadoop.cli.Arguments;
import io.braid.hadoop.cli.Command;
import io.braid.hadoop.cli.UsageException;
import io.braid.hadoop.plan.Costs;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.ToDoubleFunction;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/** What the history of finished jobs says about start-up and work. Stateless. */
public final class HistoryCommand implements Command {
  private static final String HELP =
      String.join(
          "\n",
          "Usage: hadoop jar braid-hadoop.jar history [-D key=value]... [option]... PATH",
          "",
          "Shows container start-up against work for the map tasks of finished jobs, and the costs"
              + " that",
          "policy auto should plan by. PATH is a .jhist file or a folder with such files, at any"
              + " depth",
          "(mapreduce.jobhistory.done-dir).",
          "",
          "--jobs N    at most so many jobs of a folder, the newest (5)",
          "--tasks     a line for each map task",
          "");

  @Override
  public String summary() {
    return "container start-up against work of finished jobs, and the costs for auto";
  }

  @Override
  public int run(List<String> arguments, PrintStream out, PrintStream err) throws IOException {
    Arguments given = new Arguments(arguments, Set.of("--jobs"), Set.of("--tasks", "--help", "-h"));
    if (given.has("--help") || given.has("-h")) {
      out.print(HELP);
      return 0;
    }
    if (given.rest().size() != 1) {
      throw new UsageException("one path is needed: a .jhist file or a folder with some");
    }
    Work.show(given, out);
    return 0;
  }

  /** Apart, since loading it needs Hadoop's classes and the help should not. */
  private static final class Work {
    static void show(Arguments given, PrintStream out) throws IOException {
      Configuration conf = new Configuration();
      for (String definition : given.definitions()) {
        int equals = definition.indexOf('=');
        conf.set(definition.substring(0, equals), definition.substring(equals + 1));
      }
      Path path = new Path(given.rest().get(0));
      int most = given.whole("--jobs", 5);
      if (most < 1) {
        throw new UsageException("--jobs needs at least 1, not " + most);
      }
      List<JobTimes> jobs = new ArrayList<>();
      for (Path file :
          HistoryReader.find(conf, path, most, Long.MAX_VALUE / 2 + System.nanoTime())) {
        JobTimes job = HistoryReader.read(conf, file);
        print(job, given.has("--tasks"), out);
        if (job.maps().size() >= StartUp.FEWEST) {
          jobs.add(job);
        }
      }
      if (jobs.isEmpty()) {
        throw new IOException(
            "there is no job with at least " + StartUp.FEWEST + " finished maps in " + path);
      }
      print(CostsFromHistory.of(jobs), out);
    }
  }

  private static void print(JobTimes job, boolean tasks, PrintStream out) {
    out.printf(
        Locale.ROOT,
        "%s \"%s\": %.1f s, %d maps, at most %d at once, %.2f waves%n",
        job.id(),
        job.name(),
        job.seconds(),
        job.maps().size(),
        job.mostAtOnce(),
        job.waves());
    if (job.maps().isEmpty()) {
      return;
    }
    StartUp start = StartUp.of(job.maps());
    out.printf("  %-34s %8s %8s %8s %8s%n", "seconds", "10 %", "median", "90 %", "most");
    line(out, "a container's end to next launch", job.gaps());
    line(out, "launch to the map's end", of(job, MapTime::seconds));
    if (start.method != null) {
      line(out, "  of which work", of(job, start::work));
      double work = of(job, start::work).stream().mapToDouble(Double::doubleValue).sum();
      double all = (start.seconds + Numbers.median(job.gaps())) * job.maps().size();
      out.printf(
          Locale.ROOT,
          "  start-up %.2f s a container (%s): %.1f s in all against %.1f s of work%n",
          start.seconds,
          start.method,
          all,
          work);
    } else {
      out.println(
          "  start-up can't be told from work: the maps read alike much and are too short for their"
              + " progress to show it;\n  a job under another policy than none counts it");
    }
    if (tasks) {
      out.printf(
          "  %-40s %-20s %10s %8s %14s %7s%n",
          "map", "host", "launched", "seconds", "bytes", "blocks");
      long first = job.maps().get(0).launched();
      for (MapTime map : job.maps()) {
        out.printf(
            Locale.ROOT,
            "  %-40s %-20s %10.2f %8.2f %14d %7d%n",
            map.id(),
            map.host(),
            (map.launched() - first) / 1e3,
            map.seconds(),
            map.bytes(),
            map.blocks());
      }
    }
  }

  private static List<Double> of(JobTimes job, ToDoubleFunction<MapTime> value) {
    List<Double> values = new ArrayList<>();
    job.maps().forEach(m -> values.add(value.applyAsDouble(m)));
    return values;
  }

  private static void line(PrintStream out, String name, List<Double> values) {
    if (!values.isEmpty()) {
      out.printf(
          Locale.ROOT,
          "  %-34s %8.2f %8.2f %8.2f %8.2f%n",
          name,
          Numbers.percentile(values, 0.1),
          Numbers.median(values),
          Numbers.percentile(values, 0.9),
          Numbers.percentile(values, 1));
    }
  }

  private static void print(CostsFromHistory learnt, PrintStream out) {
    Costs costs = learnt.costs();
    out.printf(Locale.ROOT, "%nFor policy auto (%s):%n", learnt.origin());
    out.printf(Locale.ROOT, "  -D braid.input.cost.start-seconds=%.2f%n", costs.startSeconds());
    out.printf(
        Locale.ROOT,
        "  -D braid.input.cost.bytes-per-second=%d%n",
        Math.max(1, Math.round(costs.bytesPerSecond())));
    out.printf(Locale.ROOT, "  -D braid.input.cost.open-seconds=%.3f%n", costs.openSeconds());
    out.printf(Locale.ROOT, "  -D braid.input.cost.block-spread=%.3f%n", costs.blockSpread());
    out.printf(
        Locale.ROOT, "  -D braid.input.cost.container-spread=%.3f%n", costs.containerSpread());
    out.printf(Locale.ROOT, "  -D braid.input.cost.node-spread=%.3f%n", costs.nodeSpread());
  }
}
