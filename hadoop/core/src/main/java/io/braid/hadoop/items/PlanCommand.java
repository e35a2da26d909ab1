package io.braid.hadoop.items;

import io.braid.hadoop.cli.Arguments;
import io.braid.hadoop.cli.Command;
import io.braid.hadoop.cli.UsageException;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.Node;
import io.braid.hadoop.plan.Plan;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Planner;
import io.braid.hadoop.plan.Policy;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Batches for tasks that each start a process of their own, whatever starts them: Kubernetes
 * Indexed Jobs, arrays of a batch system, batch inference. Needs no Hadoop. Stateless.
 */
public final class PlanCommand implements Command {
  private static final Set<String> OPTIONS =
      Set.of(
          "--items",
          "--workers",
          "--start-seconds",
          "--bytes-per-second",
          "--item-seconds",
          "--policy",
          "--waves",
          "--maximum-seconds",
          "--item-spread",
          "--task-spread",
          "--worker-spread");
  private static final Set<String> FLAGS = Set.of("--json", "--help", "-h");
  private static final String HELP =
      String.join(
          "\n",
          "Usage: java -jar braid-hadoop.jar plan --items FILE --workers N --start-seconds S"
              + " [option]...",
          "",
          "Puts items of work together into batches, one for each process that is started, so that"
              + " starting",
          "processes takes little time and the workers end together. Start the batches in their"
              + " order.",
          "",
          "--items FILE           a line each: what the item costs, and its name, as in \"1.5"
              + " item-7\"",
          "--workers N            processes that run at once",
          "--start-seconds S      what a process takes before it works on its first item",
          "--bytes-per-second N   costs are bytes, of which a process gets through so many (else:"
              + " seconds)",
          "--item-seconds S       what each item takes besides (0)",
          "--policy P             none, maximum, assorted-strict, assorted-balanced, waves,"
              + " factoring, auto (auto)",
          "--waves X              policy waves: batches a worker (1.7)",
          "--maximum-seconds S    no batch of several items shall work longer (0: no limit)",
          "--item-spread X        how far costs are off: standard deviation over mean, by item"
              + " (0.1),",
          "--task-spread X        by process,",
          "--worker-spread X      and by worker; if neither is said, plans are chosen to suit"
              + " several",
          "--json                 the batches, as JSON, in place of a table",
          "");

  @Override
  public String summary() {
    return "batches of items for processes that take a while to start; needs no Hadoop";
  }

  @Override
  public int run(List<String> arguments, PrintStream out, PrintStream err) throws IOException {
    Arguments given = new Arguments(arguments, OPTIONS, FLAGS);
    if (given.has("--help") || given.has("-h")) {
      out.print(HELP);
      return 0;
    }
    if (!given.rest().isEmpty() || !given.definitions().isEmpty()) {
      throw new UsageException("there is nothing to give but options");
    }
    for (String needed : List.of("--items", "--workers", "--start-seconds")) {
      if (!given.has(needed)) {
        throw new UsageException(needed + " is missing");
      }
    }
    int workers = given.whole("--workers", 1);
    if (workers < 1) {
      throw new UsageException("--workers needs at least 1, not " + workers);
    }
    ItemFile items =
        ItemFile.read(Path.of(given.text("--items", "")), given.has("--bytes-per-second"));
    List<Block> blocks = new ArrayList<>();
    items.lengths.forEach(length -> blocks.add(new Block(length, List.of())));
    Costs costs = costs(given);
    PlanSettings settings =
        PlanSettings.DEFAULTS
            .withPolicy(Policy.of(given.text("--policy", Policy.AUTO.label())))
            .withWaves(given.number("--waves", PlanSettings.DEFAULTS.waves()))
            .withMaximumSeconds(given.number("--maximum-seconds", 0))
            .withCosts(costs);
    List<Node> nodes = List.of(new Node("workers", workers));
    Plan plan = Planner.plan(blocks, nodes, settings);
    Batches batches = new Batches(items, plan, nodes, costs);
    out.print(given.has("--json") ? batches.json() : batches.text());
    return 0;
  }

  private static Costs costs(Arguments given) {
    double rate =
        given.has("--bytes-per-second")
            ? given.bytes("--bytes-per-second", 1)
            : ItemFile.UNITS_A_SECOND;
    boolean areSpreadsTold = given.has("--task-spread") || given.has("--worker-spread");
    return new Costs(
            given.number("--start-seconds", 0),
            rate,
            given.number("--item-spread", 0.1),
            given.number("--task-spread", 0),
            given.number("--worker-spread", 0))
        .withOpen(given.number("--item-seconds", 0))
        .assumed(false, !areSpreadsTold);
  }
}
