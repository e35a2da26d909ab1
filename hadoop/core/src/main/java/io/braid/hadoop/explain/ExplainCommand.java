package io.braid.hadoop.explain;

import io.braid.hadoop.cli.Arguments;
import io.braid.hadoop.cli.Command;
import io.braid.hadoop.cli.UsageException;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** What each policy would do with an input. Stateless. */
public final class ExplainCommand implements Command {
  private static final Set<String> OPTIONS =
      Set.of(
          "--blocks",
          "--nodes",
          "--slots",
          "--policy",
          "--picture",
          "--ratio",
          "--large-share",
          "--local-fraction",
          "--minimum-bytes",
          "--maximum-bytes",
          "--maximum-seconds",
          "--waves",
          "--factoring-share",
          "--open-seconds",
          "--start-seconds",
          "--bytes-per-second",
          "--block-spread",
          "--container-spread",
          "--node-spread",
          "--locality-wait",
          "--history");
  private static final Set<String> FLAGS = Set.of("--json", "--groups", "--help", "-h");
  private static final String HELP =
      String.join(
          "\n",
          "Usage: hadoop jar braid-hadoop.jar explain [-D key=value]... [option]... PATH...",
          "       java -jar braid-hadoop.jar explain [option]... --blocks FILE",
          "",
          "Says what each policy would do with an input: containers, their sizes, the part that is"
              + " local,",
          "predicted waves and time of the map phase.",
          "",
          "PATH...                an input as a job has it; delegate, slots and costs by -D"
              + " braid.input.*",
          "--blocks FILE          blocks from a file, without a cluster: a line each, \"128m"
              + " host1,host2\"",
          "--nodes LIST           host=slots,host=slots; with --blocks, or in place of the"
              + " cluster's",
          "--slots N              slots of each host of the blocks (default 1), without --nodes",
          "--policy P             only this policy; none, maximum, assorted-strict,"
              + " assorted-balanced,",
          "                       waves, factoring, auto",
          "--picture FILE         draws which node reads which blocks in which container, as SVG",
          "--json                 JSON in place of the table; with --groups, each group's hosts and"
              + " blocks",
          "--ratio N              each assorted size is the one before divided by this (2)",
          "--large-share X        part of the slots that get the larger size (0.5)",
          "--local-fraction X     part of a group that must be local (0.9)",
          "--minimum-bytes N      groups below this are put together (0)",
          "--maximum-bytes N      groups of several blocks are no larger (0: no limit)",
          "--maximum-seconds X    nor do they work longer (1800; 0: no limit)",
          "--waves X              policy waves: groups a slot (1.7)",
          "--factoring-share X    policy factoring: what a batch reads of the rest (0.5)",
          "--start-seconds X      to start a container (6.58)",
          "--bytes-per-second N   of a task at work (34861k)",
          "--open-seconds X       to open a block (0.12)",
          "--block-spread X       standard deviation over mean of the time a byte: by block (0.1),",
          "--container-spread X   by container (0),",
          "--node-spread X        and by node (0)",
          "--locality-wait X      seconds that the scheduler keeps a slot for a map that asks for"
              + " its host (0)",
          "--history PATH         costs from a job history file or folder (needs Hadoop's classes)",
          "");

  @Override
  public String summary() {
    return "what each policy would do with an input, as text, JSON or a picture";
  }

  @Override
  public int run(List<String> arguments, PrintStream out, PrintStream err)
      throws IOException, InterruptedException {
    Arguments given = new Arguments(arguments, OPTIONS, FLAGS);
    if (given.has("--help") || given.has("-h")) {
      out.print(HELP);
      return 0;
    }
    PlanSettings settings;
    Scene scene;
    if (given.has("--blocks")) {
      if (!given.rest().isEmpty() || !given.definitions().isEmpty()) {
        throw new UsageException("--blocks goes without a path and without -D");
      }
      settings = PlanSettings.DEFAULTS;
      scene = fromFile(given);
    } else {
      if (given.rest().isEmpty()) {
        throw new UsageException("a path is missing, or --blocks FILE");
      }
      JobInput job = new JobInput(given.definitions());
      settings = job.settings();
      scene =
          job.scene(
              given.rest(),
              given.has("--nodes") || given.has("--slots") ? blocks -> nodes(given, blocks) : null);
    }
    settings = settings(given, settings);
    List<Row> rows = new ArrayList<>();
    for (Policy policy : policies(given)) {
      rows.add(Row.of(scene, settings, policy));
    }
    if (given.has("--picture")) {
      Files.writeString(
          Path.of(given.text("--picture", "")),
          Picture.svg(scene, settings.costs(), rows),
          StandardCharsets.UTF_8);
    }
    out.print(
        given.has("--json")
            ? ExplainReport.json(scene, settings.costs(), rows, given.has("--groups"))
            : ExplainReport.text(scene, settings.costs(), rows));
    return 0;
  }

  private static List<Policy> policies(Arguments given) {
    return given.has("--policy")
        ? List.of(Policy.of(given.text("--policy", "")))
        : List.of(Policy.values());
  }

  private static Scene fromFile(Arguments given) throws IOException {
    Path file = Path.of(given.text("--blocks", ""));
    List<Block> blocks = BlockFile.read(file);
    return new Scene(blocks, nodes(given, blocks), file.getFileName().toString());
  }

  private static List<Node> nodes(Arguments given, List<Block> blocks) {
    List<Node> nodes =
        given.has("--nodes")
            ? BlockFile.nodes(given.text("--nodes", ""))
            : BlockFile.nodes(blocks, given.whole("--slots", 1));
    if (nodes.stream().mapToLong(Node::slots).sum() == 0) {
      throw new UsageException("there are no slots: say --nodes host=slots,...");
    }
    return nodes;
  }

  private static PlanSettings settings(Arguments given, PlanSettings base) throws IOException {
    Costs costs =
        given.has("--history")
            ? JobInput.costs(given.definitions(), given.text("--history", ""))
            : base.costs();
    boolean areTimesTold = given.has("--start-seconds") && given.has("--bytes-per-second");
    boolean areSpreadsTold =
        given.has("--block-spread")
            || given.has("--container-spread")
            || given.has("--node-spread");
    return base.withRatio(given.whole("--ratio", base.ratio()))
        .withLargeShare(given.number("--large-share", base.largeShare()))
        .withWaves(given.number("--waves", base.waves()))
        .withFactoringShare(given.number("--factoring-share", base.factoringShare()))
        .withLocalFraction(given.number("--local-fraction", base.localFraction()))
        .withMinimumBytes(given.bytes("--minimum-bytes", base.minimumBytes()))
        .withMaximumBytes(given.bytes("--maximum-bytes", base.maximumBytes()))
        .withMaximumSeconds(given.number("--maximum-seconds", base.maximumSeconds()))
        .withCosts(
            new Costs(
                    given.number("--start-seconds", costs.startSeconds()),
                    given.has("--bytes-per-second")
                        ? given.bytes("--bytes-per-second", 1)
                        : costs.bytesPerSecond(),
                    given.number("--block-spread", costs.blockSpread()),
                    given.number("--container-spread", costs.containerSpread()),
                    given.number("--node-spread", costs.nodeSpread()))
                .withOpen(given.number("--open-seconds", costs.openSeconds()))
                // No history tells it.
                .withLocalityWait(
                    given.number("--locality-wait", base.costs().localityWaitSeconds()))
                .assumed(
                    costs.areTimesAssumed() && !areTimesTold,
                    costs.areSpreadsAssumed() && !areSpreadsTold));
  }
}
