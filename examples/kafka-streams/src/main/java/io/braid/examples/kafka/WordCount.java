package io.braid.examples.kafka;

import java.util.Arrays;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.processor.StateRestoreListener;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.common.utils.Bytes;

/**
 * The application: it counts the words of the topic "lines" and writes the counts to "counts",
 * exactly once. What makes braid its store is one line of its configuration. It says on its output
 * when it runs, and how many records it restored from its changelog until then.
 */
final class WordCount {
  static final String APPLICATION = "word-count";
  static final String LINES = "lines";
  static final String COUNTS = "counts";
  static final String CHANGELOG = APPLICATION + "-words-changelog";

  /** Before the number of restored records, on the line that says that it runs. */
  static final String RUNNING = "running, restored ";

  private WordCount() {}

  static Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    builder.<String, String>stream(LINES)
        .flatMapValues(line -> Arrays.asList(line.toLowerCase(Locale.ROOT).split("\\W+")))
        .selectKey((key, word) -> word)
        .groupByKey()
        .count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("words")
            .withValueSerde(Serdes.Long()))
        .toStream()
        .to(COUNTS, Produced.with(Serdes.String(), Serdes.Long()));
    return builder.build();
  }

  static Properties configuration(String brokers, String states, boolean braid) {
    Properties properties = new Properties();
    properties.put(StreamsConfig.APPLICATION_ID_CONFIG, APPLICATION);
    properties.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, brokers);
    properties.put(StreamsConfig.STATE_DIR_CONFIG, states);
    properties.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    if (braid) { // the one line
      properties.put(
          StreamsConfig.DSL_STORE_SUPPLIERS_CLASS_CONFIG, "io.braid.kafka.BraidDslStoreSuppliers");
    }
    properties.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    properties.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 2);
    // An instance that is started again takes its old place in the group at once.
    properties.put(
        StreamsConfig.mainConsumerPrefix(ConsumerConfig.GROUP_INSTANCE_ID_CONFIG), "first");
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    return properties;
  }

  /** Counts what it restores. */
  private static final class Restored implements StateRestoreListener {
    private final AtomicLong records = new AtomicLong();

    @Override
    public void onRestoreStart(TopicPartition changelog, String store, long begin, long end) {}

    @Override
    public void onBatchRestored(TopicPartition changelog, String store, long end, long count) {
      records.addAndGet(count);
    }

    @Override
    public void onRestoreEnd(TopicPartition changelog, String store, long total) {}
  }

  /** The brokers, the folder of the state, and the store: braid or rocksdb. */
  public static void main(String[] arguments) {
    KafkaStreams streams = new KafkaStreams(topology(),
        configuration(arguments[0], arguments[1], arguments[2].equals("braid")));
    Restored restored = new Restored();
    AtomicBoolean said = new AtomicBoolean();
    streams.setGlobalStateRestoreListener(restored);
    streams.setStateListener((state, before) -> {
      if (state == KafkaStreams.State.RUNNING && said.compareAndSet(false, true)) {
        System.out.println(RUNNING + restored.records.get());
      }
      if (state == KafkaStreams.State.ERROR) {
        Runtime.getRuntime().halt(1); // the log says why
      }
    });
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
  }
}
