package io.braid.hadoop.explain;

import io.braid.hadoop.conf.InputSettings;
import io.braid.hadoop.history.CostsFromHistory;
import io.braid.hadoop.input.Delegates;
import io.braid.hadoop.input.HostNames;
import io.braid.hadoop.input.Mix;
import io.braid.hadoop.mapreduce.CoalescingInputFormat;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.slots.SlotSource;
import io.braid.hadoop.slots.Slots;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;

/** An input as a job would have it: the delegate's splits, the cluster's slots. For one thread. */
final class JobInput {
  private final Configuration conf;

  /** With Hadoop's configuration of the class path and these further key=value. */
  JobInput(List<String> definitions) {
    conf = configuration(definitions);
  }

  private static Configuration configuration(List<String> definitions) {
    // A JobConf, so that the settings of MapReduce and YARN are read as well.
    Configuration conf = new JobConf();
    for (String definition : definitions) {
      int equals = definition.indexOf('=');
      conf.set(definition.substring(0, equals), definition.substring(equals + 1));
    }
    return conf;
  }

  static Costs costs(List<String> definitions, String history) throws IOException {
    return CostsFromHistory.of(
            configuration(definitions), new Path(history), null, Integer.MAX_VALUE)
        .costs();
  }

  PlanSettings settings() {
    return InputSettings.plan(conf);
  }

  /** The splits of the paths; nodes from the cluster unless a function gives them. */
  Scene scene(List<String> paths, Function<List<Block>, List<Node>> nodes)
      throws IOException, InterruptedException {
    Job job = Job.getInstance(conf);
    for (String path : paths) {
      FileInputFormat.addInputPath(job, new Path(path));
    }
    InputFormat<?, ?> delegate =
        Delegates.create(
            job.getConfiguration(),
            type(InputFormat.class),
            type(TextInputFormat.class),
            type(CoalescingInputFormat.class));
    Mix mix = Mix.of(job.getConfiguration());
    Map<String, Integer> kinds = new HashMap<>();
    List<Block> blocks = new ArrayList<>();
    for (InputSplit split : delegate.getSplits(job)) {
      String[] hosts = split.getLocations();
      blocks.add(
          new Block(
              Math.max(0, split.getLength()),
              hosts == null ? List.of() : List.of(hosts),
              kinds.computeIfAbsent(mix.kind(split), k -> kinds.size())));
    }
    String what =
        String.join(", ", paths) + " by " + delegate.getClass().getSimpleName() + ", " + mix;
    if (nodes != null) {
      return new Scene(blocks, nodes.apply(blocks), what);
    }
    Slots slots = SlotSource.of(conf).slots(blocks);
    // As a job would: HDFS and YARN may name one host differently.
    List<Block> known = HostNames.of(slots.nodes()).translated(blocks);
    return new Scene(known, slots.nodes(), what + ", slots: " + slots.origin());
  }

  @SuppressWarnings("unchecked") // a class literal has no type arguments
  private static <T> Class<T> type(Class<?> type) {
    return (Class<T>) type;
  }
}
