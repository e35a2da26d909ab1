package io.braid.hadoop.cli;

import java.io.IOException;
import java.io.PrintStream;
import java.util.List;

/** A verb of the command line. */
public interface Command {
  /** One line for the list of verbs. */
  String summary();

  /**
   * UsageException for wrong arguments, IOException for what could not be done; the message is
   * shown. Returns the exit code.
   */
  int run(List<String> arguments, PrintStream out, PrintStream err)
      throws IOException, InterruptedException;
}
