package io.braid.hadoop.explain;

import io.braid.hadoop.cli.ByteCount;
import io.braid.hadoop.cli.UsageException;
import io.braid.hadoop.plan.Block;
import io.braid.hadoop.plan.Node;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;

/**
 * Reads blocks from a text file: a line a block, its length (134217728 or 128m), then, after a tab
 * or blanks, its hosts divided by commas; no hosts for a block of an object store. {@code #} begins
 * a comment.
 */
final class BlockFile {
  private BlockFile() {}

  static List<Block> read(Path file) throws IOException {
    List<Block> blocks = new ArrayList<>();
    int number = 0;
    try (BufferedReader reader = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        ++number;
        int comment = line.indexOf('#');
        String text = (comment < 0 ? line : line.substring(0, comment)).trim();
        if (!text.isEmpty()) {
          blocks.add(parse(file.getFileName() + ", line " + number, text.split("\\s+")));
        }
      }
    }
    if (blocks.isEmpty()) {
      throw new IOException(file + " has no blocks: a line each, \"128m host1,host2,host3\"");
    }
    return blocks;
  }

  private static Block parse(String where, String[] fields) throws IOException {
    try {
      if (fields.length > 2) {
        throw new IOException(
            where
                + ": more than a length and a list of hosts; "
                + "hosts are divided by commas without blanks");
      }
      List<String> hosts = fields.length < 2 ? List.of() : Arrays.asList(fields[1].split(","));
      return new Block(ByteCount.parse("the length", fields[0]), hosts);
    } catch (UsageException e) {
      throw new IOException(where + ": " + e.getMessage(), e);
    }
  }

  /** All hosts of the blocks, each with so many slots. */
  static List<Node> nodes(List<Block> blocks, int slots) {
    TreeSet<String> hosts = new TreeSet<>();
    blocks.forEach(b -> hosts.addAll(b.hosts()));
    List<Node> nodes = new ArrayList<>();
    hosts.forEach(h -> nodes.add(new Node(h, slots)));
    return nodes;
  }

  /** Nodes from host=slots,host=slots. */
  static List<Node> nodes(String list) {
    List<Node> nodes = new ArrayList<>();
    for (String item : list.split(",")) {
      int equals = item.indexOf('=');
      try {
        nodes.add(
            new Node(
                item.substring(0, Math.max(equals, 0)).trim(),
                Integer.parseInt(item.substring(equals + 1).trim())));
      } catch (IllegalArgumentException e) {
        equals = -1;
      }
      if (equals < 1) {
        throw new UsageException("--nodes needs host=slots,host=slots, not \"" + item + "\"");
      }
    }
    return nodes;
  }
}
