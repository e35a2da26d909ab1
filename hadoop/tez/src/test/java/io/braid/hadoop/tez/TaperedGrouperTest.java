package io.braid.hadoop.tez;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataInputBuffer;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.TextInputFormat;
import org.apache.hadoop.mapred.split.TezGroupedSplit;
import org.apache.hadoop.mapred.split.TezMapredSplitsGrouper;
import org.junit.jupiter.api.Test;

/** Our groups beside those of Tez's own grouper, which it takes the place of. */
class TaperedGrouperTest {
  private static final int HOSTS = 8;
  private static final int SLOTS = 32;
  private static final int WANTED = (int) (SLOTS * 1.7f);
  private static final long BLOCK = 128L << 20;
  private static final int BLOCKS = 640;
  private static final String FORMAT = TextInputFormat.class.getName();

  private final Configuration conf = new Configuration(false);
  private final InputSplit[] splits = blocks();

  private static InputSplit[] blocks() {
    Random random = new Random(4);
    InputSplit[] blocks = new InputSplit[BLOCKS];
    for (int i = 0; i < blocks.length; ++i) {
      String[] hosts =
          random.ints(0, HOSTS).distinct().limit(3).mapToObj(n -> "h" + n).toArray(String[]::new);
      blocks[i] = new FileSplit(new Path("/in/" + i / 20), i % 20 * BLOCK, BLOCK, hosts);
    }
    return blocks;
  }

  private InputSplit[] tapered() throws IOException {
    return new TaperedMapredGrouper().getGroupedSplits(conf, splits, WANTED, FORMAT, null, null);
  }

  private InputSplit[] ofTez() throws IOException {
    return new TezMapredSplitsGrouper().getGroupedSplits(conf, splits, WANTED, FORMAT, null, null);
  }

  private static long[] lengths(InputSplit[] groups) throws IOException {
    long[] lengths = new long[groups.length];
    for (int i = 0; i < groups.length; ++i) {
      lengths[i] = groups[i].getLength();
    }
    return lengths;
  }

  /** Of all bytes, those on the first host of their group. */
  private static double localShare(InputSplit[] groups) throws IOException {
    double local = 0;
    for (InputSplit group : groups) {
      for (InputSplit split : ((TezGroupedSplit) group).getGroupedSplits()) {
        Set<String> hosts = new HashSet<>(Arrays.asList(split.getLocations()));
        local += hosts.contains(group.getLocations()[0]) ? split.getLength() : 0;
      }
    }
    return local / (BLOCK * BLOCKS);
  }

  @Test
  void eachSplitIsInOneGroup() throws IOException {
    List<InputSplit> found = new ArrayList<>();
    for (InputSplit group : tapered()) {
      assertEquals(TezGroupedSplit.class, group.getClass());
      found.addAll(((TezGroupedSplit) group).getGroupedSplits());
    }
    assertEquals(BLOCKS, found.size());
    assertEquals(new HashSet<>(Arrays.asList(splits)), new HashSet<>(found));
  }

  /** Factoring: a first batch of half of all, then halves of what is left, down to a block. */
  @Test
  void sizesFallWhereThoseOfTezAreAlike() throws IOException {
    conf.setLong("tez.grouping.max-size", 4L << 30);
    long[] ours = lengths(tapered());
    for (int i = 1; i < ours.length; ++i) {
      assertTrue(ours[i] <= ours[i - 1], "a task that starts later has more to do");
    }
    assertEquals(10 * BLOCK, ours[0]);
    assertTrue(ours[ours.length - 1] <= 2 * BLOCK, Arrays.toString(ours));
    long first = Arrays.stream(ours).limit(SLOTS).sum();
    assertTrue(first >= 0.45 * BLOCK * BLOCKS && first <= 0.55 * BLOCK * BLOCKS, first + " bytes");
    long[] theirs = lengths(ofTez());
    Arrays.sort(theirs);
    assertTrue(theirs[theirs.length / 2] == theirs[theirs.length - 1], Arrays.toString(theirs));
  }

  @Test
  void theyAreAsLocalAsThoseOfTez() throws IOException {
    double ours = localShare(tapered());
    double theirs = localShare(ofTez());
    System.out.printf(
        "%d groups, %.1f %% on the preferred host; Tez: %d, %.1f %%%n",
        tapered().length, 100 * ours, ofTez().length, 100 * theirs);
    assertTrue(ours >= 0.97, "local: " + ours);
    assertTrue(ours >= theirs - 0.03, ours + " against " + theirs);
  }

  @Test
  void limitsOfTezHold() throws IOException {
    conf.setLong("tez.grouping.max-size", 3 * BLOCK);
    conf.setLong("tez.grouping.min-size", 2 * BLOCK);
    long[] lengths = lengths(tapered());
    assertEquals(3 * BLOCK, lengths[0]);
    assertTrue(lengths[lengths.length - 1] >= 2 * BLOCK, Arrays.toString(lengths));
  }

  @Test
  void anotherPolicyIsTaken() throws IOException {
    conf.setLong("tez.grouping.max-size", 1L << 40);
    conf.set("braid.input.policy", "maximum");
    assertEquals(SLOTS, tapered().length);
    conf.set("braid.input.policy", "none");
    assertArrayEquals(lengths(ofTez()), lengths(tapered()));
  }

  @Test
  void aNumberOfGroupsThatTheUserSetIsTezs() throws IOException {
    conf.setInt("tez.grouping.split-count", 11);
    assertArrayEquals(lengths(ofTez()), lengths(tapered()));
  }

  /** Columns that are read, not all that there are, and places that are not the blocks'. */
  @Test
  void sizesAndPlacesAreThoseThatItIsTold() throws IOException {
    conf.setLong("tez.grouping.max-size", 4L << 30);
    conf.setLong("tez.grouping.min-size", 1);
    InputSplit[] groups =
        new TaperedMapredGrouper()
            .getGroupedSplits(
                conf,
                splits,
                WANTED,
                FORMAT,
                split -> ((FileSplit) split).getStart() == 0 ? BLOCK : BLOCK / 100,
                split -> new String[] {"cache" + ((FileSplit) split).getStart() % 3});
    for (InputSplit group : groups) {
      assertTrue(group.getLocations()[0].startsWith("cache"), group.getLocations()[0]);
    }
    TezGroupedSplit first = (TezGroupedSplit) groups[0];
    TezGroupedSplit last = (TezGroupedSplit) groups[groups.length - 1];
    assertTrue(starts(first) > starts(last), "the heaviest is not first");
  }

  private static long starts(TezGroupedSplit group) throws IOException {
    long count = 0;
    for (InputSplit split : group.getGroupedSplits()) {
      count += ((FileSplit) split).getStart() == 0 ? 1 : 0;
    }
    return count;
  }

  /** Tez reads a group back as splits of one class, and compares its length. */
  @Test
  void groupsAreReadBackByTez() throws IOException {
    splits[3] = new OtherSplit(new Path("/other"), 0, BLOCK, new String[] {"h1"});
    for (InputSplit group : tapered()) {
      DataOutputBuffer out = new DataOutputBuffer();
      group.write(out);
      DataInputBuffer in = new DataInputBuffer();
      in.reset(out.getData(), out.getLength());
      TezGroupedSplit read = new TezGroupedSplit();
      read.setConf(conf);
      read.readFields(in);
      assertEquals(
          ((TezGroupedSplit) group).getGroupedSplits().toString(),
          read.getGroupedSplits().toString());
    }
  }

  /** Another class of split beside FileSplit. */
  public static final class OtherSplit extends FileSplit {
    public OtherSplit() {}

    OtherSplit(Path file, long start, long length, String[] hosts) {
      super(file, start, length, hosts);
    }
  }

  @Test
  void withoutHostsThereAreGroupsToo() throws IOException {
    for (int i = 0; i < splits.length; ++i) {
      splits[i] = new FileSplit(new Path("/in/" + i), 0, BLOCK, new String[] {"localhost"});
    }
    conf.setLong("tez.grouping.max-size", 4L << 30);
    InputSplit[] groups = tapered();
    assertEquals(10 * BLOCK, groups[0].getLength());
    assertEquals(BLOCK * BLOCKS, Arrays.stream(lengths(groups)).sum());
  }
}
