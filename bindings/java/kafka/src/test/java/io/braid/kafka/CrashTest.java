package io.braid.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.testing.Child;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A process that writes and commits is killed, again and again. Each round of its writes gives all
 * keys the round's number, so that one look shows which commits the store has: with exactly-once all
 * keys are of one round, that of the offset; with at-least-once none is older than the offset's.
 */
class CrashTest extends StoreCase {
  private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);
  private static final int KEYS = 40;

  private static BraidKeyValueStore open(File states, boolean exactlyOnce) {
    BraidKeyValueStore store = new BraidKeyValueStore("store");
    store.init(new TestContext(states, new TaskId(0, 0), exactlyOnce), store);
    return store;
  }

  /** What the process does that is killed: the folder, whether exactly once. */
  static final class Writer {
    private Writer() {}

    public static void main(String[] arguments) throws Exception {
      BraidKeyValueStore store = open(new File(arguments[0]), Boolean.parseBoolean(arguments[1]));
      Long offset = store.committedOffset(CHANGELOG);
      for (long round = offset == null || offset < 0 ? 0 : offset + 1;; ++round) {
        for (int i = 0; i < KEYS; ++i) {
          store.put(key("key" + i), bytes(Long.toString(round)));
        }
        store.commit(Map.of(CHANGELOG, round));
        System.out.println(round);
      }
    }
  }

  private static List<Long> rounds(BraidKeyValueStore store) {
    List<Long> found = new ArrayList<>();
    try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
      while (all.hasNext()) {
        KeyValue<Bytes, byte[]> entry = all.next();
        found.add(Long.parseLong(text(entry.value)));
      }
    }
    return found;
  }

  /** Kills the process at some moment; returns the last round that it said it had committed. */
  private static long writeAndKill(File states, boolean exactlyOnce, Random random)
      throws IOException, InterruptedException {
    long last = -1;
    try (Child writer = new Child("the writer", new File(states, "writer.log").toPath(), List.of(),
        Writer.class.getName(), states.getPath(), Boolean.toString(exactlyOnce))) {
      int until = 1 + random.nextInt(200);
      for (int i = 0; i < until; ++i) {
        last = Long.parseLong(writer.await("", 60));
      }
      writer.kill();
      for (String line : writer.rest()) {
        if (line.matches("[0-9]+")) {
          last = Math.max(last, Long.parseLong(line));
        }
      }
    }
    return last;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatWasCommittedIsThere(boolean exactlyOnce) throws Exception {
    long number = seed();
    Random random = new Random(number);
    String seed = "seed " + number;
    File states = folder();
    int kills = isNight() ? 100 : 3;
    for (int i = 0; i < kills; ++i) {
      long said = writeAndKill(states, exactlyOnce, random);
      BraidKeyValueStore store = open(states, exactlyOnce);
      long offset = store.committedOffset(CHANGELOG);
      List<Long> rounds = rounds(store);
      store.close();
      assertTrue(offset >= said, seed + ": " + said + " was committed, the store is at " + offset);
      assertEquals(KEYS, rounds.size(), seed);
      for (long round : rounds) {
        assertTrue(exactlyOnce ? round == offset : round >= offset,
            seed + ": a key of round " + round + " at offset " + offset);
      }
    }
  }
}
