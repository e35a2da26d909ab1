package io.braid.hadoop.mapreduce;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.conf.Keys;
import io.braid.hadoop.input.ChildSplits;
import io.braid.hadoop.input.CoalescingCounters;
import io.braid.hadoop.input.MixedSplit;
import io.braid.hadoop.mapreduce.ScriptedFormat.Event;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.SplitLocationInfo;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a coalesced split shows, how it travels, and what its reader does when things go wrong. */
class CoalescedSplitTest {
  private final Configuration conf = new Configuration();
  private final NewApi api = new NewApi(conf);

  @BeforeEach
  void scripted() {
    conf.set(Keys.DELEGATE.name(), ScriptedFormat.class.getName());
    ScriptedFormat.reset();
  }

  private CoalescedSplit files(FileSplit... files) {
    long[] lengths = new long[files.length];
    List<List<String>> hosts = new ArrayList<>();
    for (int i = 0; i < files.length; ++i) {
      lengths[i] = files[i].getLength();
      hosts.add(List.of("h" + i, "other"));
    }
    return new CoalescedSplit(
        new ChildSplits<>(List.of(files), lengths, hosts, List.of("h0", "h1"), null), conf);
  }

  private static FileSplit file(String name, long start, long length) {
    return new FileSplit(new Path("file:///in/" + name), start, length, new String[0]);
  }

  @Test
  void travelsThroughTheSplitFile() throws Exception {
    CoalescedSplit split = files(file("a", 0, 10), file("b", 20, 30), file("a", 10, 5));
    CoalescedSplit read = api.roundTrip(split);
    ChildSplits<InputSplit> children = read.children();
    assertEquals(3, children.size());
    assertEquals(45, read.getLength());
    assertEquals("file:/in/b", ((FileSplit) children.child(1)).getPath().toString());
    assertEquals(20, ((FileSplit) children.child(1)).getStart());
    assertEquals(List.of("h2", "other"), children.hosts(2));
    assertArrayEquals(new String[] {"h0", "h1"}, read.getLocations());
    assertNull(read.getLocationInfo());
  }

  @Test
  void plainSplitsTravelToo() throws Exception {
    ScriptedFormat.NumberSplit child = new ScriptedFormat.NumberSplit(7);
    MixedSplit<InputSplit> read =
        api.roundTrip(
            new MixedSplit<>(
                new ChildSplits<>(
                    List.of(child), new long[] {3}, List.of(List.of()), List.of(), null),
                conf));
    assertEquals(7, ((ScriptedFormat.NumberSplit) read.children().child(0)).number);
    assertEquals(3, read.getLength());
    assertEquals(0, read.getLocations().length);
  }

  @Test
  void anotherFormatIsRefused() {
    CoalescedSplit split = new CoalescedSplit();
    split.setConf(conf);
    IOException e =
        assertThrows(
            IOException.class,
            () ->
                split.readFields(
                    new DataInputStream(new ByteArrayInputStream(new byte[] {9, 0, 0, 0, 0}))));
    assertTrue(e.getMessage().contains("same braid-hadoop jar"), e.getMessage());
  }

  @Test
  void isShortAsText() {
    FileSplit[] many = new FileSplit[1000];
    for (int i = 0; i < many.length; ++i) {
      many[i] = file("part-" + i, i, 100);
    }
    String text = files(many).toString();
    assertEquals("1000 splits, 100000 bytes, the first file:/in/part-0:0+100", text);
  }

  @Test
  void showsTheChildBeingRead() throws Exception {
    CoalescedSplit split = files(file("a", 0, 10), file("b", 20, 30));
    assertEquals(40, split.getLength());
    TaskAttemptContext context = api.context();
    Configuration seen = context.getConfiguration();
    try (RecordReader<?, ?> reader =
        new CoalescingInputFormat<>().createRecordReader(split, context)) {
      reader.initialize(split, context);
      assertTrue(reader.nextKeyValue());
      assertEquals("file:/in/a", split.getPath().toString());
      assertEquals(0, split.getStart());
      assertEquals(10, split.getLength());
      assertEquals("file:/in/a", seen.get("mapreduce.map.input.file"));
      assertEquals("10", seen.get("mapreduce.map.input.length"));
      assertTrue(reader.nextKeyValue());
      assertTrue(reader.nextKeyValue());
      assertEquals("file:/in/b", split.getPath().toString());
      assertEquals(20, split.getStart());
      assertEquals("file:/in/b", seen.get("mapreduce.map.input.file"));
      assertEquals("20", seen.get("mapreduce.map.input.start"));
      assertEquals("30", seen.get("mapreduce.map.input.length"));
    }
    assertEquals("file:/in/a", split.getPath().toString());
    assertEquals(40, split.getLength());
  }

  @Test
  void progressNeverGoesBack() throws Exception {
    ScriptedFormat.progress = new float[] {0.9f, Float.NaN, -3, 0.1f, 7, 0.2f};
    CoalescedSplit split = files(file("a", 0, 10), file("b", 0, 0), file("c", 0, 10));
    assertEquals(6, api.records(new CoalescingInputFormat<>(), split).size()); // it asserts
    ScriptedFormat.progress = new float[] {0.9f, 0.1f};
    assertEquals(
        4,
        api.records(new CoalescingInputFormat<>(), files(file("a", 0, 0), file("b", 0, 0))).size());
  }

  @Test
  void isDoneAtTheEnd() throws Exception {
    CoalescedSplit split = files(file("a", 0, 10));
    RecordReader<?, ?> reader =
        new CoalescingInputFormat<>().createRecordReader(split, api.context());
    assertEquals(0, reader.getProgress());
    reader.initialize(split, api.context());
    while (reader.nextKeyValue()) {
      assertTrue(reader.getCurrentKey() != null);
    }
    assertEquals(1, reader.getProgress());
    assertNull(reader.getCurrentKey());
    assertNull(reader.getCurrentValue());
    assertTrue(!reader.nextKeyValue());
    reader.close();
    reader.close();
    assertEquals(1, ScriptedFormat.count(Event.CLOSED));
  }

  @Test
  void everyReaderIsClosedOnce() throws Exception {
    api.records(new CoalescingInputFormat<>(), files(file("a", 0, 1), file("b", 0, 1)));
    assertEquals(2, ScriptedFormat.count(Event.OPENED));
    assertEquals(2, ScriptedFormat.count(Event.CLOSED));
  }

  @Test
  void theTimeOfReadingIsCountedOnce() throws Exception {
    TaskAttemptContext context = api.context();
    CoalescedSplit split = files(file("a", 0, 1), file("b", 0, 1));
    long begin = System.nanoTime();
    try (RecordReader<?, ?> reader =
        new CoalescingInputFormat<>().createRecordReader(split, context)) {
      reader.initialize(split, context);
      while (reader.nextKeyValue()) {
        Thread.sleep(10);
      }
      assertTrue(!reader.nextKeyValue());
    }
    long most = (System.nanoTime() - begin) / 1_000_000;
    long counted = api.counter(CoalescingCounters.READING_MS);
    assertTrue(counted >= 40 && counted <= most, counted + " of " + most);
  }

  @Test
  void aReaderThatFailsToOpenIsClosed() {
    ScriptedFormat.failAt = Event.OPENED;
    ScriptedFormat.failOn = "b";
    IOException e =
        assertThrows(
            IOException.class,
            () ->
                api.records(
                    new CoalescingInputFormat<>(), files(file("a", 0, 1), file("b", 0, 1))));
    assertEquals("scripted OPENED of b", e.getMessage());
    assertEquals(2, ScriptedFormat.count(Event.CLOSED));
  }

  @Test
  void aReaderThatFailsToReadIsClosed() {
    ScriptedFormat.failAt = Event.READ;
    ScriptedFormat.failOn = "b";
    IOException e =
        assertThrows(
            IOException.class,
            () ->
                api.records(
                    new CoalescingInputFormat<>(), files(file("a", 0, 1), file("b", 0, 1))));
    assertEquals("scripted READ of b", e.getMessage());
    assertEquals(2, ScriptedFormat.count(Event.CLOSED));
  }

  @Test
  void aReaderThatFailsToCloseIsNotClosedTwice() {
    ScriptedFormat.failAt = Event.CLOSED;
    ScriptedFormat.failOn = "a";
    IOException e =
        assertThrows(
            IOException.class,
            () ->
                api.records(
                    new CoalescingInputFormat<>(), files(file("a", 0, 1), file("b", 0, 1))));
    assertEquals("scripted CLOSED of a", e.getMessage());
    assertEquals(1, ScriptedFormat.count(Event.CLOSED));
  }

  @Test
  void locationsInMemoryAreTold() throws Exception {
    FileSplit cached =
        new FileSplit(
            new Path("file:///in/a"), 0, 30, new String[] {"h1", "h2"}, new String[] {"h2"});
    FileSplit onDisk =
        new FileSplit(new Path("file:///in/b"), 0, 20, new String[] {"h1", "h2"}, new String[0]);
    ScriptedFormat.splits = List.of(cached, onDisk);
    conf.set(Keys.POLICY.name(), "maximum");
    conf.set(Keys.SLOT_HOSTS.name(), "h1=1,h2=1");
    List<InputSplit> splits = api.splits(new CoalescingInputFormat<>());
    for (InputSplit split : splits) {
      SplitLocationInfo[] infos = split.getLocationInfo();
      assertEquals(split.getLocations().length, infos.length);
      for (SplitLocationInfo info : infos) {
        boolean isCached =
            assertInstanceOf(CoalescedSplit.class, split).getPath().getName().equals("a")
                && info.getLocation().equals("h2");
        assertEquals(isCached, info.isInMemory(), split + " at " + info.getLocation());
        assertTrue(info.isOnDisk());
      }
    }
  }
}
