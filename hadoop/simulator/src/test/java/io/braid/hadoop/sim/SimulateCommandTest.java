package io.braid.hadoop.sim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The command line: what it prints, and what it says of mistakes. */
class SimulateCommandTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  private int run(String... args) {
    out.reset();
    err.reset();
    return SimulateCommand.run(
        args,
        new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8));
  }

  private String out() {
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void comparesThePoliciesThatAreAskedFor() {
    assertEquals(0, run("--nodes", "4", "--slots=2", "--blocks", "80", "--policy", "none,maximum"));
    assertTrue(out().contains("none ") && out().contains("maximum "), out());
    assertFalse(out().contains("assorted"), out());
    // 80 blocks and Grep's reducer against 8 splits and the reducer.
    assertTrue(out().matches("(?s).*none +none +81 .*maximum +maximum +9 .*"), out());
  }

  @Test
  void theSeedDecidesTheRun() {
    String[] args = {
      "--nodes=4", "--slots=2", "--blocks=80", "--block-spread=1", "--json", "--seed=7"
    };
    assertEquals(0, run(args));
    String first = out();
    assertEquals(0, run(args));
    assertEquals(first, out());
    args[5] = "--seed=8";
    assertEquals(0, run(args));
    assertFalse(first.equals(out()));
  }

  @Test
  void jsonIsBalanced() {
    assertEquals(0, run("--figure", "1", "--json"));
    long open = out().chars().filter(c -> c == '{' || c == '[').count();
    assertEquals(open, out().chars().filter(c -> c == '}' || c == ']').count());
    assertTrue(out().startsWith("{\"title\":\"Figure 1: "), out());
    assertTrue(out().contains("\"holds\":true"), out());
  }

  @Test
  void helpNamesEachOption() {
    assertEquals(0, run("--help"));
    for (String option :
        new String[] {
          "--nodes",
          "--slots",
          "--blocks",
          "--block-size",
          "--replication",
          "--policy",
          "--job ",
          "--jobs",
          "--seed",
          "--json",
          "--figure",
          "--sweep",
          "--goal",
          "--points",
          "--calibration"
        }) {
      assertTrue(out().contains(option), option);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--nodes x|--nodes must be a whole number from 1 to 100000, not \"x\"",
        "--nodes 0|--nodes must be a whole number",
        "--blocks -1|--blocks must be a whole number from 0",
        "--block-size big|--block-size must be a size such as 134217728, 128m or 1g",
        "--block-size 1g --blocks 50000000 --replication 0|--replication must be",
        "--policy foo|there is no policy \"foo\": use none, maximum",
        "--job tera|there is no job profile \"tera\": use grep, wordcount or sort",
        "--scheduler none|there is no scheduler \"none\": use fair or fifo",
        "--start -2|--start must be a number of at least 0",
        "--disk 0|bytes a second of a disk must be above 0",
        "--racks 33|racks must be 1 to the number of nodes",
        "--figure 5|there is no figure 5 to simulate",
        "--figure 2 --nodes 3|--nodes does not go with --figure",
        "--sweep --seed 3|--seed does not go with --sweep",
        "--small|--small goes with --sweep",
        "--goal|--goal goes with --sweep",
        "--sweep --points 3|--points does not go with --sweep",
        "--sweep --goal --points 433|--points must be a whole number from 1 to 432",
        "--seed|--seed needs a value",
        "--seed 1 --seed 2|--seed is given twice",
        "--json=yes|--json takes no value",
        "--colour red|there is no option --colour",
        "nodes|\"nodes\" is no option"
      })
  void mistakesAreNamed(String line, String message) {
    assertEquals(2, run(line.split(" ")));
    assertEquals("", out());
    String said = err.toString(StandardCharsets.UTF_8);
    assertTrue(said.startsWith("simulate: " + message), said);
    assertTrue(said.contains("--help"), said);
  }

  @Test
  void jobsOfNoBlocksEnd() {
    assertEquals(0, run("--blocks", "0", "--policy", "none,maximum,auto"));
    assertTrue(out().contains("maximum"), out());
  }
}
