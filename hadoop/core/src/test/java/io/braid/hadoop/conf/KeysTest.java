package io.braid.hadoop.conf;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.braid.hadoop.plan.Costs;
import io.braid.hadoop.plan.PlanSettings;
import io.braid.hadoop.plan.Policy;
import io.braid.hadoop.slots.SlotSource;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Keys are complete, documented, and refuse what can't be meant. */
class KeysTest {
  @Test
  void thePageIsUpToDate() throws Exception {
    String page = Files.readString(Path.of("../docs/options.md"));
    assertEquals(
        OptionsPage.markdown(Keys.ALL),
        page,
        "print it again: java -cp ... io.braid.hadoop.conf.OptionsPage > hadoop/docs/options.md");
  }

  @Test
  void allHasEveryKey() throws Exception {
    List<Key> declared = new ArrayList<>();
    for (Field field : Keys.class.getDeclaredFields()) {
      if (Modifier.isStatic(field.getModifiers()) && field.getType() == Key.class) {
        declared.add((Key) field.get(null));
      }
    }
    assertEquals(declared, Keys.ALL);
    for (Key key : declared) {
      assertTrue(key.name().startsWith("braid.input."), key.name());
      assertTrue(key.paragraph().endsWith("."), key.name());
    }
  }

  @Test
  void nothingSetMeansTheDefaults() {
    PlanSettings settings = InputSettings.plan(new Configuration(false));
    assertEquals(PlanSettings.DEFAULTS.policy(), settings.policy());
    assertEquals(PlanSettings.DEFAULTS.ratio(), settings.ratio());
    assertEquals(PlanSettings.DEFAULTS.largeShare(), settings.largeShare());
    assertEquals(PlanSettings.DEFAULTS.localFraction(), settings.localFraction());
    assertEquals(PlanSettings.DEFAULTS.minimumBytes(), settings.minimumBytes());
    assertEquals(Costs.ASSUMED.startSeconds(), settings.costs().startSeconds());
    assertEquals(Costs.ASSUMED.bytesPerSecond(), settings.costs().bytesPerSecond());
  }

  @Test
  void valuesAreTaken() {
    Configuration conf = new Configuration(false);
    conf.set("braid.input.policy", " Assorted ");
    conf.set("braid.input.ratio", "3");
    conf.set("braid.input.large-share", "0.25");
    conf.set("braid.input.local-fraction", "1");
    conf.set("braid.input.minimum-bytes", "64m");
    conf.set("braid.input.cost.start-seconds", "2.5");
    conf.set("braid.input.cost.bytes-per-second", "10m");
    PlanSettings settings = InputSettings.plan(conf);
    assertEquals(Policy.ASSORTED_BALANCED, settings.policy());
    assertEquals(3, settings.ratio());
    assertEquals(0.25, settings.largeShare());
    assertEquals(1, settings.localFraction());
    assertEquals(64L << 20, settings.minimumBytes());
    assertEquals(2.5, settings.costs().startSeconds());
    assertEquals(10 << 20, settings.costs().bytesPerSecond());
    assertEquals(0, settings.costs().localityWaitSeconds());
    conf.set("braid.input.cost.locality-wait-seconds", "1.5");
    assertEquals(1.5, InputSettings.plan(conf).costs().localityWaitSeconds());
  }

  @Test
  void whatIsSetGoesBeforeWhatWasMeasured() {
    Configuration conf = new Configuration(false);
    conf.set("braid.input.cost.node-spread", "0.5");
    Costs costs = InputSettings.costs(conf, new Costs(1, 2, 0.3, 0.4, 0.1));
    assertEquals(1, costs.startSeconds());
    assertEquals(2, costs.bytesPerSecond());
    assertEquals(0.3, costs.blockSpread());
    assertEquals(0.4, costs.containerSpread());
    assertEquals(0.5, costs.nodeSpread());
    Costs waiting = new Costs(1, 2, 0, 0).withLocalityWait(3);
    assertEquals(3, InputSettings.costs(conf, waiting).localityWaitSeconds());
  }

  @ParameterizedTest
  @CsvSource({
    "braid.input.policy, biggest, assorted-strict",
    "braid.input.ratio, 1, from 2 to 64",
    "braid.input.ratio, two, from 2 to 64",
    "braid.input.ratio, 99999999999999999999, from 2 to 64",
    "braid.input.large-share, 1.5, from 0.01 to 1",
    "braid.input.large-share, NaN, from 0.01 to 1",
    "braid.input.local-fraction, -0.1, from 0 to 1",
    "braid.input.minimum-bytes, -1, may end in k",
    "braid.input.minimum-bytes, 9999999t, may end in k",
    "braid.input.minimum-bytes, much, may end in k",
    "braid.input.cost.start-seconds, Infinity, from 0 to 86400",
    "braid.input.cost.bytes-per-second, 0, bytes from 1",
    "braid.input.cost.block-spread, -1, from 0 to 100",
    "braid.input.cost.locality-wait-seconds, -1, from 0 to 86400",
    "braid.input.slots, mesos, 'auto, static, yarn or local'",
    "braid.input.slots.hosts, node1, host=slots",
    "braid.input.slots.hosts, node1=, host=slots",
    "braid.input.slots.hosts, =4, host=slots",
    "braid.input.slots.hosts, 'a=1,a=2', host=slots",
    "braid.input.slots.hosts, 'a=1,', host=slots",
    "braid.input.slots.hosts, a=-1, host=slots",
    "braid.input.slots.hosts, a=0, host=slots",
    "braid.input.slots.nodes, -4, from 0 to 1000000",
  })
  void absurdValuesAreNamed(String key, String value, String allowed) {
    Configuration conf = new Configuration(false);
    conf.set(key, value);
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> {
                  InputSettings.plan(conf);
                  SlotSource.of(conf);
                })
            .getMessage();
    assertTrue(message.contains(key), message);
    assertTrue(message.contains(value), message);
    assertTrue(message.contains(allowed), message);
  }

  @ParameterizedTest
  @CsvSource({
    "braid.input.slots.capacity, most, total or free",
    "braid.input.slots.share, 0, from 0.001 to 1",
    "braid.input.slots.reserve, -1, from 0 to",
    "braid.input.slots.vcores, maybe, 'auto, true or false'",
    "braid.input.slots.timeout-ms, 0, from 1 to",
  })
  void absurdValuesForYarnAreNamed(String key, String value, String allowed) {
    Configuration conf = new Configuration(false);
    conf.set("braid.input.slots", "yarn");
    conf.set(key, value);
    String message =
        assertThrows(IllegalArgumentException.class, () -> SlotSource.of(conf)).getMessage();
    assertTrue(message.contains(key), message);
    assertTrue(message.contains(value), message);
    assertTrue(message.contains(allowed), message);
  }

  @Test
  void keysThatThereAreNotAreWarnedOf() {
    Configuration conf = new Configuration(false);
    conf.set("braid.input.polcy", "none");
    conf.set("braid.input.ratio", "3");
    conf.set("braid.plan.policy", "maximum");
    conf.set("braid.something.completely.different", "1");
    assertEquals(
        List.of(
            "There is no key braid.input.polcy, it has no effect; did you mean braid.input.policy?",
            "There is no key braid.something.completely.different, it has no effect"
                + " (hadoop/docs/options.md has all)"),
        KeyCheck.unknown(conf));
  }

  @ParameterizedTest
  @CsvSource({
    "braid.input.policy, greatest",
    "braid.input.mix, lines",
    "braid.input.ratio, 1",
    "braid.input.slots, mesos",
    "braid.input.slots.hosts, node1",
    "braid.input.slots.vcores, maybe",
    "braid.input.cost.start-seconds, soon",
  })
  void wrongValuesOfASiteAreLeftOut(String key, String value, @TempDir Path folder)
      throws Exception {
    Path site = folder.resolve("mapred-site.xml");
    Files.writeString(
        site,
        "<configuration><property><name>"
            + key
            + "</name><value>"
            + value
            + "</value></property></configuration>");
    Configuration conf = new Configuration(false);
    conf.addResource(new org.apache.hadoop.fs.Path(site.toUri()));
    Configuration usable = KeyCheck.checked(conf);
    assertEquals(null, usable.get(key));
    InputSettings.plan(usable);
    SlotSource.of(usable);
    // On the command line, or in the job, it is refused.
    conf.set(key, value);
    assertThrows(IllegalArgumentException.class, () -> KeyCheck.checked(conf));
  }

  @Test
  void staticSlotsWithoutNumbersAreNamed() {
    Configuration conf = new Configuration(false);
    conf.set("braid.input.slots", "static");
    String message =
        assertThrows(IllegalArgumentException.class, () -> SlotSource.of(conf)).getMessage();
    assertTrue(message.contains("braid.input.slots.nodes"), message);
    conf.set("braid.input.slots.nodes", "1000000");
    conf.set("braid.input.slots.per-node", "100000");
    message = assertThrows(IllegalArgumentException.class, () -> SlotSource.of(conf)).getMessage();
    assertTrue(message.contains("100000000000"), message);
  }
}
