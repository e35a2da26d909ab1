package io.braid.hadoop;

import io.braid.hadoop.cli.Command;
import io.braid.hadoop.cli.UsageException;
import io.braid.hadoop.explain.ExplainCommand;
import io.braid.hadoop.history.HistoryCommand;
import io.braid.hadoop.items.PlanCommand;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.NoSuchFileException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The command line: a verb and its arguments. Exits with 0, with 1 when something could not be
 * done, with 2 for wrong use. Commands are made only when asked for, so that those that need no
 * Hadoop run without it.
 */
public final class Main {
  private static final Map<String, Command> COMMANDS = new LinkedHashMap<>();

  static {
    COMMANDS.put("explain", new ExplainCommand());
    COMMANDS.put("history", new HistoryCommand());
    COMMANDS.put("plan", new PlanCommand());
  }

  private Main() {}

  public static void main(String[] args) {
    System.exit(run(Arrays.asList(args), System.out, System.err));
  }

  /** The exit code. */
  public static int run(List<String> args, PrintStream out, PrintStream err) {
    if (args.isEmpty() || List.of("-h", "--help", "help").contains(args.get(0))) {
      (args.isEmpty() ? err : out).print(help());
      return args.isEmpty() ? 2 : 0;
    }
    String verb = args.get(0);
    Command command = COMMANDS.get(verb);
    if (command == null) {
      err.println(
          "braid-hadoop: there is no command \""
              + verb
              + "\"; there are "
              + String.join(", ", COMMANDS.keySet()));
      return 2;
    }
    try {
      return command.run(args.subList(1, args.size()), out, err);
    } catch (UsageException | IllegalArgumentException e) {
      err.println(
          "braid-hadoop "
              + verb
              + ": "
              + e.getMessage()
              + "\nbraid-hadoop "
              + verb
              + " --help says what can be given");
      return 2;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      err.println("braid-hadoop " + verb + ": interrupted");
    } catch (NoClassDefFoundError e) {
      err.println(
          "braid-hadoop "
              + verb
              + ": this needs Hadoop's classes ("
              + e.getMessage()
              + " is missing): run it by \"hadoop jar braid-hadoop.jar "
              + verb
              + " ...\"");
    } catch (FileNotFoundException | NoSuchFileException e) {
      String what = e.getMessage();
      err.println("braid-hadoop " + verb + ": there is no such file: " + what);
    } catch (IOException e) {
      err.println(
          "braid-hadoop " + verb + ": " + (e.getMessage() == null ? e.toString() : e.getMessage()));
    }
    return 1;
  }

  private static String help() {
    StringBuilder help = new StringBuilder("Usage: braid-hadoop COMMAND ...\n\n");
    COMMANDS.forEach(
        (verb, command) -> help.append(String.format("  %-10s %s%n", verb, command.summary())));
    return help.append("\nCOMMAND --help says more.\n").toString();
  }
}
