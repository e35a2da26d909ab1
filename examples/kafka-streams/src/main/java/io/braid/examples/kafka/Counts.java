package io.braid.examples.kafka;

import io.braid.testing.Child;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.LongDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes lines, counts their words itself, and compares with what the application says of them in
 * its committed output.
 */
final class Counts implements AutoCloseable {
  static final int WORDS_A_LINE = 10;

  private final KafkaProducer<String, String> producer;
  private final KafkaConsumer<String, Long> consumer;
  private final Random random;
  private final int words;
  private final Map<String, Long> expected = new HashMap<>();
  private final Map<String, Long> found = new HashMap<>();
  private long total;
  private long foundTotal;

  Counts(String address, int words, long seed) {
    this.words = words;
    random = new Random(seed);
    producer = new KafkaProducer<>(Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, address,
        ProducerConfig.LINGER_MS_CONFIG, 20), new StringSerializer(), new StringSerializer());
    consumer = new KafkaConsumer<>(Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, address,
        ConsumerConfig.GROUP_ID_CONFIG, "reader", ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
        "earliest", ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed"),
        new StringDeserializer(), new LongDeserializer());
    consumer.subscribe(List.of(WordCount.COUNTS));
  }

  private void write(List<String> line) {
    producer.send(new ProducerRecord<>(WordCount.LINES, null, String.join(" ", line)),
        (sent, failure) -> {
          if (failure != null) {
            System.err.println("a line could not be written: " + failure.getMessage());
          }
        });
    line.forEach(word -> expected.merge(word, 1L, Long::sum));
    total += line.size();
  }

  /** Lines of random words, the low numbers more often. */
  void writeRandom(long lines) {
    for (long i = 0; i < lines; ++i) {
      write(random.doubles(WORDS_A_LINE)
          .mapToObj(x -> "word" + (int) (x * x * words)).collect(Collectors.toList()));
    }
    producer.flush();
  }

  /** Each word once. */
  void writeEach() {
    for (int i = 0; i < words; i += WORDS_A_LINE) {
      write(IntStream.range(i, Math.min(words, i + WORDS_A_LINE)).mapToObj(n -> "word" + n)
          .toList());
    }
    producer.flush();
  }

  long written() {
    return total;
  }

  long counted() {
    return foundTotal;
  }

  /** Takes what there is of the output within the time. */
  void look(Duration time) {
    for (ConsumerRecord<String, Long> record : consumer.poll(time)) {
      Long before = found.put(record.key(), record.value());
      foundTotal += record.value() - (before == null ? 0 : before);
      if (record.value() > expected.getOrDefault(record.key(), 0L)) {
        throw new Failure("WRONG: \"" + record.key() + "\" was counted " + record.value()
            + " times and written " + expected.get(record.key()) + " times");
      }
    }
  }

  /** Waits until every word that was written is counted, and none twice. */
  void awaitAll(Child application, long seconds) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (!found.equals(expected)) {
      application.check();
      if (System.nanoTime() > end) {
        throw new Failure("WRONG: after " + seconds + " s " + foundTotal + " of " + total
            + " words are counted");
      }
      look(Duration.ofMillis(100));
    }
    look(Duration.ofMillis(500)); // nothing may follow
    if (!found.equals(expected)) {
      throw new Failure("WRONG: a count has changed after the last word");
    }
  }

  /** The words that were counted most. */
  String most() {
    return found.entrySet().stream()
        .sorted(Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
            .thenComparing(Map.Entry.comparingByKey())).limit(5)
        .map(entry -> entry.getKey() + " " + entry.getValue()).collect(Collectors.joining(", "));
  }

  int different() {
    return found.size();
  }

  @Override
  public void close() {
    producer.close();
    consumer.close();
  }
}
