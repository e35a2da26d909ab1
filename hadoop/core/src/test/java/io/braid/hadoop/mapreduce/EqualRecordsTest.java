package io.braid.hadoop.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.ChildSplits;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.input.MixedSplit;
import io.braid.hadoop.plan.Policy;
import io.braid.hadoop.testing.SampleFiles;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.BZip2Codec;
import org.apache.hadoop.io.compress.GzipCodec;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.lib.input.CombineTextInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat;
import org.apache.hadoop.mapreduce.lib.input.NLineInputFormat;
import org.apache.hadoop.mapreduce.lib.input.SequenceFileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.hadoop.util.ReflectionUtils;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The records are the delegate's, whatever the format, the policy and the grouping. */
class EqualRecordsTest {
  @TempDir java.nio.file.Path temporary;

  /** A text format whose files must stay whole. */
  public static class WholeFiles extends TextInputFormat {
    @Override
    protected boolean isSplitable(JobContext context, Path file) {
      return false;
    }
  }

  /** What kind of input, and who reads it. */
  enum Kind {
    TEXT(TextInputFormat.class),
    KEY_VALUE(KeyValueTextInputFormat.class),
    N_LINES(NLineInputFormat.class),
    WHOLE_FILES(WholeFiles.class),
    COMBINED(CombineTextInputFormat.class),
    GZIP(TextInputFormat.class),
    BZIP2(TextInputFormat.class),
    SEQUENCE(SequenceFileInputFormat.class);

    final Class<?> delegate;

    Kind(Class<?> delegate) {
      this.delegate = delegate;
    }

    void write(Path folder, Configuration conf, long seed) throws IOException {
      switch (this) {
        case GZIP:
          SampleFiles.writeCompressed(folder, conf, seed, GzipCodec.class, 50_000);
          break;
        case BZIP2:
          // More than a bzip2 block, so that the file has several splits with records.
          SampleFiles.writeCompressed(folder, conf, seed, BZip2Codec.class, 1_200_000);
          break;
        case SEQUENCE:
          SampleFiles.writeSequences(folder, conf, seed);
          break;
        default:
          SampleFiles.writeTexts(folder, conf, seed);
      }
    }
  }

  private Configuration input(Kind kind, long seed) throws IOException {
    Configuration conf = new Configuration();
    Path folder = new Path(temporary.toUri().toString(), "in");
    kind.write(folder, conf, seed);
    conf.set(FileInputFormat.INPUT_DIR, folder.toString());
    conf.setLong(FileInputFormat.SPLIT_MAXSIZE, kind == Kind.BZIP2 ? 200_000 : 1_700);
    conf.setInt(NLineInputFormat.LINES_PER_MAP, 37);
    conf.set(Keys.DELEGATE.name(), kind.delegate.getName());
    conf.set(Keys.MIX_CURRENT_FILE.name(), "true"); // each record is asked for its file
    return conf;
  }

  private static InputFormat<?, ?> delegate(Kind kind, Configuration conf) {
    return (InputFormat<?, ?>) ReflectionUtils.newInstance(kind.delegate, conf);
  }

  static Stream<Arguments> kindsAndPolicies() {
    // Bzip2 is slow: one policy that makes large groups, and one that makes groups of all sizes.
    return Stream.of(Kind.values())
        .flatMap(
            kind ->
                Stream.of(Policy.values())
                    .filter(
                        policy ->
                            kind != Kind.BZIP2
                                || policy == Policy.MAXIMUM
                                || policy == Policy.ASSORTED_BALANCED)
                    .map(policy -> Arguments.of(kind, policy)));
  }

  @ParameterizedTest
  @MethodSource("kindsAndPolicies")
  void recordsEqualTheDelegates(Kind kind, Policy policy) throws Exception {
    Configuration conf = input(kind, 1 + policy.ordinal());
    conf.set(Keys.POLICY.name(), policy.label());
    conf.setInt(Keys.SLOT_NODES.name(), 1);
    conf.setInt(Keys.SLOTS_PER_NODE.name(), 4);
    NewApi plain = new NewApi(conf);
    List<InputSplit> expectedSplits = plain.splits(delegate(kind, conf));
    List<String> expected = plain.records(delegate(kind, conf), expectedSplits);
    assertFalse(expected.isEmpty());

    NewApi coalesced = new NewApi(conf);
    CoalescingInputFormat<Object, Object> format = new CoalescingInputFormat<>();
    List<InputSplit> splits = coalesced.splits(format);
    assertEquals(expected, coalesced.records(format, splits));
    assertEquals(expectedSplits.size(), coalesced.counter(CoalescingCounters.SPLITS_BEFORE));
    assertEquals(splits.size(), coalesced.counter(CoalescingCounters.SPLITS_AFTER));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
  void anyGroupingGivesTheSameRecords(int seed) throws Exception {
    Kind kind = Kind.values()[seed % 6];
    Configuration conf = input(kind, seed);
    NewApi api = new NewApi(conf);
    List<InputSplit> children = api.splits(delegate(kind, conf));
    List<String> expected = api.records(delegate(kind, conf), children);
    List<InputSplit> groups = randomGroups(children, conf, new Random(seed));
    assertEquals(expected, api.records(new CoalescingInputFormat<>(), groups));
    assertEquals(children.size(), api.counter(CoalescingCounters.CHILD_SPLITS));
    long bytes = 0;
    for (InputSplit child : children) {
      bytes += child.getLength();
    }
    assertEquals(
        bytes,
        api.counter(CoalescingCounters.LOCAL_BYTES) + api.counter(CoalescingCounters.REMOTE_BYTES));
    assertTrue(api.counter(CoalescingCounters.LOCAL_BYTES) > 0);
    assertTrue(api.counter(CoalescingCounters.REMOTE_BYTES) > 0);
  }

  /** In any order and size; every other child is said to be on another host. */
  private static List<InputSplit> randomGroups(
      List<InputSplit> children, Configuration conf, Random random)
      throws IOException, InterruptedException {
    List<InputSplit> left = new ArrayList<>(children);
    Collections.shuffle(left, random);
    List<InputSplit> groups = new ArrayList<>();
    while (!left.isEmpty()) {
      List<InputSplit> group = left.subList(0, 1 + random.nextInt(left.size()));
      long[] lengths = new long[group.size()];
      List<List<String>> hosts = new ArrayList<>();
      boolean areFiles = true;
      for (int i = 0; i < lengths.length; ++i) {
        lengths[i] = group.get(i).getLength();
        hosts.add(List.of(i % 2 == 0 ? "localhost" : "elsewhere"));
        areFiles &= group.get(i) instanceof org.apache.hadoop.mapreduce.lib.input.FileSplit;
      }
      ChildSplits<InputSplit> made =
          new ChildSplits<>(List.copyOf(group), lengths, hosts, List.of("localhost"), null);
      groups.add(areFiles ? new CoalescedSplit(made, conf) : new MixedSplit<>(made, conf));
      group.clear();
    }
    return groups;
  }
}
