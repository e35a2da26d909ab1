package io.braid.hadoop.mapreduce;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.Coalesced;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.testing.SampleFiles;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.lib.input.FileInputFormat;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.input.InvalidInputException;
import org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat;
import org.apache.hadoop.mapreduce.lib.input.MultipleInputs;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes wrong before a job runs: the delegate's own errors, wrong keys, no ResourceManager. */
class BadInputTest {
  @TempDir java.nio.file.Path temporary;
  private final Configuration conf = new Configuration();
  private final NewApi api = new NewApi(conf);
  private final CoalescingInputFormat<Object, Object> format = new CoalescingInputFormat<>();

  @BeforeEach
  void reset() {
    ScriptedFormat.reset();
  }

  private Path folder() {
    return new Path(temporary.toUri().toString(), "in");
  }

  @Test
  void aMissingPathIsTheDelegatesError() {
    conf.set(FileInputFormat.INPUT_DIR, folder().toString());
    IOException e = assertThrows(InvalidInputException.class, () -> api.splits(format));
    assertTrue(e.getMessage().contains("does not exist"), e.getMessage());
  }

  @Test
  void noPathIsTheDelegatesError() {
    assertThrows(IOException.class, () -> api.splits(format));
  }

  @Test
  void theDelegatesExceptionsComeUnchanged() {
    conf.set(Keys.DELEGATE.name(), ScriptedFormat.class.getName());
    for (Exception failure :
        List.of(
            new FileNotFoundException("gone"),
            new InterruptedException(),
            new IllegalStateException("no"),
            new IOException((String) null))) {
      ScriptedFormat.failure = failure;
      assertSame(failure, assertThrows(Exception.class, () -> api.splits(format)));
    }
  }

  @Test
  void emptyFilesAndNoFilesAreNoTrouble() throws Exception {
    folder().getFileSystem(conf).mkdirs(folder());
    conf.set(FileInputFormat.INPUT_DIR, folder().toString());
    assertEquals(List.of(), api.splits(format));
    for (int i = 0; i < 5; ++i) {
      SampleFiles.write(new Path(folder(), "empty" + i), conf, null, new byte[0]);
    }
    for (String policy : List.of("none", "maximum", "assorted-strict", "assorted", "auto")) {
      conf.set(Keys.POLICY.name(), policy);
      List<InputSplit> splits = api.splits(format);
      assertTrue(splits.size() >= 1 && splits.size() <= 5, policy);
      assertEquals(List.of(), api.records(format, splits), policy);
    }
  }

  @Test
  void wrongDelegatesAreNamed() {
    for (String name :
        List.of(
            "org.example.NoSuchFormat",
            "java.lang.String",
            "org.apache.hadoop.mapred.TextInputFormat",
            CoalescingInputFormat.class.getName())) {
      conf.set(Keys.DELEGATE.name(), name);
      String message =
          assertThrows(IllegalArgumentException.class, () -> api.splits(format)).getMessage();
      assertTrue(message.contains("braid.input.delegate"), message);
      assertTrue(message.contains(name), message);
    }
  }

  @Test
  void absurdKeysStopTheJobBeforeFilesAreListed() {
    conf.set(FileInputFormat.INPUT_DIR, folder().toString());
    conf.set(Keys.RATIO.name(), "-7");
    String message =
        assertThrows(IllegalArgumentException.class, () -> api.splits(format)).getMessage();
    assertEquals(
        "braid.input.ratio can't be \"-7\": allowed is a whole number from 2 to 64 "
            + "(default 2)",
        message);
  }

  @Test
  void withoutSlotsTheSplitsAreTheDelegates() throws Exception {
    SampleFiles.writeTexts(folder(), conf, 5);
    conf.set(FileInputFormat.INPUT_DIR, folder().toString());
    conf.setLong(FileInputFormat.SPLIT_MAXSIZE, 1000);
    List<InputSplit> splits;
    // A port that is taken and that nobody listens at.
    try (Socket socket = new Socket()) {
      socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      conf.set("mapreduce.framework.name", "yarn");
      conf.set("yarn.resourcemanager.address", "localhost:" + socket.getLocalPort());
      conf.set(Keys.SLOT_TIMEOUT.name(), "1000");
      splits = api.splits(format);
    }
    List<InputSplit> expected = api.splits(new TextInputFormat());
    assertEquals(expected.toString(), splits.toString());
    for (InputSplit split : splits) {
      assertEquals(FileSplit.class, split.getClass());
    }
    assertEquals(api.records(new TextInputFormat(), expected), api.records(format, splits));
    assertEquals(splits.size(), api.counter(CoalescingCounters.SPLITS_AFTER));
  }

  @Test
  void aHistoryThatIsNotThereIsDoneWithout() throws Exception {
    SampleFiles.writeTexts(folder(), conf, 8);
    conf.set(FileInputFormat.INPUT_DIR, folder().toString());
    conf.setLong(FileInputFormat.SPLIT_MAXSIZE, 1000);
    String planned = api.splits(format).toString();
    conf.set(Keys.COST_HISTORY.name(), folder() + "/no-such-folder");
    assertEquals(planned, api.splits(format).toString());
    conf.set(Keys.COST_HISTORY.name(), folder().toString());
    assertEquals(planned, api.splits(format).toString());
  }

  @Test
  void splitsThatWontTellWhereTheyAreStayAsTheyAre() throws Exception {
    conf.set(Keys.DELEGATE.name(), ScriptedFormat.class.getName());
    FileSplit broken =
        new FileSplit(new Path("file:///in/a"), 0, 1, null) {
          @Override
          public String[] getLocations() throws IOException {
            throw new IOException("scripted");
          }
        };
    ScriptedFormat.splits = List.of(broken, broken);
    assertSame(ScriptedFormat.splits, api.splits(format));
  }

  @Test
  void splitsWithoutLocationsArePlanned() throws Exception {
    conf.set(Keys.DELEGATE.name(), ScriptedFormat.class.getName());
    ScriptedFormat.splits =
        List.of(
            new ScriptedFormat.NumberSplit(3),
            new FileSplit(new Path("file:///in/a"), 0, 1, new String[] {"h", "", null}));
    List<InputSplit> splits = api.splits(format);
    long children = 0;
    for (InputSplit split : splits) {
      children += assertInstanceOf(Coalesced.class, split).children().size();
    }
    assertEquals(2, children);
    assertEquals(4, api.records(format, splits).size());
  }

  @Test
  void theSplitsOfMultipleInputsStaySingle() throws Exception {
    SampleFiles.writeTexts(folder(), conf, 6);
    Job job = Job.getInstance(conf);
    MultipleInputs.addInputPath(
        job, new Path(folder(), "text-0"), TextInputFormat.class, Mapper.class);
    MultipleInputs.addInputPath(
        job, new Path(folder(), "text-1"), KeyValueTextInputFormat.class, Mapper.class);
    CoalescingInputFormat.wrap(job);
    assertEquals(CoalescingInputFormat.class, job.getInputFormatClass());
    List<InputSplit> splits = format.getSplits(job);
    assertEquals(2, splits.size());
    for (InputSplit split : splits) {
      assertEquals("TaggedInputSplit", split.getClass().getSimpleName());
    }
  }
}
