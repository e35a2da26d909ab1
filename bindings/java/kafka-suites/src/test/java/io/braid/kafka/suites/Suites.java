package io.braid.kafka.suites;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectPackage;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.streams.state.Stores;
import org.junit.platform.launcher.EngineFilter;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Kafka's own integration tests, unmodified, on braid's stores: this module's classes, which come
 * first on the class path, stand in for Kafka's suppliers of stores in RocksDB. As a control, without
 * them, on Kafka's stores. `make kafka-suites` starts it: Suites braid|control LOG [PATTERN].
 */
public final class Suites {
  private static final String PACKAGE = "org.apache.kafka.streams.integration";
  private static final long HANGS_MINUTES = 20; // Kafka's own limits are ten

  private Suites() {}

  /** Ends the process: brokers and applications of a test that failed may leave threads. */
  public static void main(String[] arguments) throws IOException {
    PrintStream terminal = System.out;
    boolean control = arguments[0].equals("control");
    PrintStream log = new PrintStream(
        new FileOutputStream(arguments[1]), true, StandardCharsets.UTF_8);
    System.setOut(log); // tests write a lot
    System.setErr(log);
    boolean passed = false;
    try {
      passed = run(control, arguments.length > 2 ? arguments[2] : "", terminal, log);
    } catch (RuntimeException | LinkageError e) { // a wrong list or pattern, a jar that is missing
      terminal.println("kafka-suites: " + e);
      e.printStackTrace(log);
    }
    System.exit(passed ? 0 : 1);
  }

  private static boolean run(
      boolean control, String pattern, PrintStream terminal, PrintStream log) {
    OpenedStores stores = OpenedStores.counting();
    Launcher launcher = LauncherFactory.create();
    LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
        .selectors(selectPackage(PACKAGE))
        .filters(EngineFilter.includeEngines("junit-jupiter"), new Selection(pattern)) // not suites
        .configurationParameter("junit.jupiter.testclass.order.default",
            "org.junit.jupiter.api.ClassOrderer$ClassName")
        .configurationParameter("junit.jupiter.extensions.autodetection.enabled", "true")
        .configurationParameter(
            "junit.jupiter.extensions.autodetection.include", LeftOut.class.getName())
        .build();
    TestPlan plan = launcher.discover(request);
    Progress progress = new Progress(terminal, log, stores::count);
    watch(progress, terminal);
    launcher.execute(plan, progress);
    if (pattern.isEmpty()) {
      Exclusions.LIST.reasons().forEach(
          (name, reason) -> terminal.println("left out: " + name + ": " + reason));
    }
    terminal.println("kafka-suites: " + progress.passed() + " tests passed, " + progress.failed()
        + " failed, " + progress.skipped() + " skipped; " + stores.count()
        + " stores of braid opened" + (control ? ": the control, on Kafka's own stores" : ""));
    boolean stale = pattern.isEmpty() && !Exclusions.LIST.unmet().isEmpty();
    if (stale) {
      terminal.println("kafka-suites: excluded.txt names what is no test: " + Exclusions.LIST.unmet());
    }
    return verdict(control, progress, stores.count(), terminal) && !stale;
  }

  private static boolean verdict(
      boolean control, Progress progress, long stores, PrintStream terminal) {
    if (progress.passed() + progress.failed() == 0) {
      terminal.println("kafka-suites: no test ran");
      return false;
    }
    boolean proper = control == (stores == 0);
    if (!proper) {
      terminal.println(control ? "kafka-suites: the control used braid's stores"
          : "kafka-suites: nothing used braid's stores; suppliers are from "
          + Stores.persistentKeyValueStore("any").getClass().getProtectionDomain().getCodeSource());
    }
    return proper && progress.failed() == 0;
  }

  /** Ends a run that makes no progress, with the reason in the log. */
  private static void watch(Progress progress, PrintStream terminal) {
    Thread watcher = new Thread(() -> {
      try {
        while (System.nanoTime() - progress.lastNews() < TimeUnit.MINUTES.toNanos(HANGS_MINUTES)) {
          Thread.sleep(1_000);
        }
      } catch (InterruptedException e) {
        return;
      }
      progress.dumpThreads();
      terminal.println("kafka-suites: a test hangs for " + HANGS_MINUTES
          + " minutes; the log says where its threads are");
      Runtime.getRuntime().halt(1);
    }, "watcher");
    watcher.setDaemon(true);
    watcher.start();
  }
}
