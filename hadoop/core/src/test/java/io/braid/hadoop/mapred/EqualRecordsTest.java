package io.braid.hadoop.mapred;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

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
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.BZip2Codec;
import org.apache.hadoop.io.compress.GzipCodec;
import org.apache.hadoop.mapred.FileInputFormat;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapred.InputFormat;
import org.apache.hadoop.mapred.InputSplit;
import org.apache.hadoop.mapred.JobConf;
import org.apache.hadoop.mapred.KeyValueTextInputFormat;
import org.apache.hadoop.mapred.SequenceFileInputFormat;
import org.apache.hadoop.mapred.TextInputFormat;
import org.apache.hadoop.mapred.lib.CombineTextInputFormat;
import org.apache.hadoop.mapred.lib.NLineInputFormat;
import org.apache.hadoop.util.ReflectionUtils;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The records are the delegate's, whatever the format, the policy and the grouping: old API. */
class EqualRecordsTest {
  @TempDir java.nio.file.Path temporary;

  /** A text format whose files must stay whole. */
  public static class WholeFiles extends TextInputFormat {
    @Override
    protected boolean isSplitable(FileSystem fs, Path file) {
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

    void write(Path folder, JobConf conf, long seed) throws IOException {
      switch (this) {
        case GZIP:
          SampleFiles.writeCompressed(folder, conf, seed, GzipCodec.class, 50_000);
          break;
        case BZIP2:
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

  private JobConf input(Kind kind, long seed) throws IOException {
    JobConf conf = new JobConf();
    Path folder = new Path(temporary.toUri().toString(), "in");
    kind.write(folder, conf, seed);
    FileInputFormat.setInputPaths(conf, folder);
    conf.setInt("mapreduce.input.lineinputformat.linespermap", 37);
    conf.setLong("mapreduce.input.fileinputformat.split.maxsize", 5_000); // CombineText's
    conf.set(Keys.DELEGATE.name(), kind.delegate.getName());
    conf.set(Keys.MIX_CURRENT_FILE.name(), "true"); // each record is asked for its file
    return conf;
  }

  @SuppressWarnings("unchecked")
  private static InputFormat<Object, Object> delegate(Kind kind, JobConf conf) {
    return (InputFormat<Object, Object>) ReflectionUtils.newInstance(kind.delegate, conf);
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
    JobConf conf = input(kind, 11 + policy.ordinal());
    conf.set(Keys.POLICY.name(), policy.label());
    conf.setInt(Keys.SLOT_NODES.name(), 1);
    conf.setInt(Keys.SLOTS_PER_NODE.name(), 4);
    OldApi plain = new OldApi(conf);
    List<InputSplit> expectedSplits = plain.splits(delegate(kind, conf), 14);
    List<String> expected = plain.records(delegate(kind, conf), expectedSplits);
    assertFalse(expected.isEmpty());

    OldApi coalesced = new OldApi(conf);
    CoalescingInputFormat<Object, Object> format = new CoalescingInputFormat<>();
    List<InputSplit> splits = coalesced.splits(format, 14);
    assertEquals(expected, coalesced.records(format, splits));
    assertEquals(expectedSplits.size(), coalesced.counter(CoalescingCounters.SPLITS_BEFORE));
    assertEquals(splits.size(), coalesced.counter(CoalescingCounters.SPLITS_AFTER));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 6})
  void anyGroupingGivesTheSameRecords(int seed) throws Exception {
    Kind kind = Kind.values()[seed % 6];
    JobConf conf = input(kind, seed);
    OldApi api = new OldApi(conf);
    List<InputSplit> children = api.splits(delegate(kind, conf), 20);
    List<String> expected = api.records(delegate(kind, conf), children);
    Random random = new Random(seed);
    List<InputSplit> left = new ArrayList<>(children);
    Collections.shuffle(left, random);
    List<InputSplit> groups = new ArrayList<>();
    while (!left.isEmpty()) {
      List<InputSplit> group = left.subList(0, 1 + random.nextInt(left.size()));
      groups.add(coalesced(List.copyOf(group), conf));
      group.clear();
    }
    assertEquals(expected, api.records(new CoalescingInputFormat<>(), groups));
    assertEquals(children.size(), api.counter(CoalescingCounters.CHILD_SPLITS));
  }

  private static InputSplit coalesced(List<InputSplit> group, JobConf conf) throws IOException {
    long[] lengths = new long[group.size()];
    List<List<String>> hosts = new ArrayList<>();
    boolean areFiles = true;
    for (int i = 0; i < lengths.length; ++i) {
      lengths[i] = group.get(i).getLength();
      hosts.add(List.of());
      areFiles &= group.get(i) instanceof FileSplit;
    }
    ChildSplits<InputSplit> made = new ChildSplits<>(group, lengths, hosts, List.of(), null);
    return areFiles ? new CoalescedSplit(made, conf) : new MixedSplit<>(made, conf);
  }
}
