package io.braid.rheakv;

import com.alipay.sofa.jraft.rhea.client.DefaultRheaKVStore;
import com.alipay.sofa.jraft.rhea.storage.Sequence;
import com.alipay.sofa.jraft.util.Endpoint;
import io.braid.rheakv.History.Kind;
import io.braid.rheakv.History.Operation;
import io.braid.testing.Child;
import io.braid.testing.Folders;
import io.braid.testing.Ports;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Three servers in processes of their own on the loopback, and clients that write and read while the
 * leader is killed and started again, round for round. At the end of each: each key's history is
 * linearizable; what was appended is there once if it was acknowledged, and never twice; no two
 * clients got the same numbers of a sequence; the replicas hold the same.
 */
final class Cluster {
  static final class Wrong extends Exception {
    private static final long serialVersionUID = 1L;

    Wrong(String message) {
      super(message);
    }
  }

  private static final int KEYS = 4; // a round
  private static final int CLIENTS = 6;
  private static final long CALL_SECONDS = 4;

  private final Path folder;
  private final boolean raftLog;
  private final Random random;
  private final Consumer<String> say;
  private final List<Integer> ports;
  private final String servers;
  private static final List<String> JVM = List.of("-Xmx256m", "-XX:TieredStopAtLevel=1",
      "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");

  private final Child[] replicas = new Child[3];
  private final List<History> histories = Collections.synchronizedList(new ArrayList<>());
  private final List<String> keys = Collections.synchronizedList(new ArrayList<>());
  private final AtomicLong values = new AtomicLong();
  private final Set<String> appended = Collections.synchronizedSet(new HashSet<>());
  private final List<Sequence> numbers = Collections.synchronizedList(new ArrayList<>());
  private final AtomicLong answered = new AtomicLong();
  private final AtomicLong unanswered = new AtomicLong();
  private final AtomicLong lastUnanswered = new AtomicLong(System.nanoTime());
  private volatile boolean stopping;
  private DefaultRheaKVStore client;

  Cluster(Path folder, boolean raftLog, long seed, Consumer<String> say) throws IOException {
    this.folder = folder;
    this.raftLog = raftLog;
    this.random = new Random(seed);
    this.say = say;
    this.ports = Ports.free(3);
    this.servers = Servers.list(ports);
  }

  private void start(int which) throws IOException {
    Path own = folder.resolve("server" + which);
    Files.createDirectories(own);
    replicas[which] = new Child("server " + which, folder.resolve("server" + which + ".log"),
        JVM, Replica.class.getName(), ports.get(which).toString(), servers, own.toString(), "2", Boolean.toString(raftLog));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private static byte[] number(long value) {
    return value == 0 ? null : bytes(Long.toString(value));
  }

  private static long number(byte[] value) {
    return value == null ? 0 : Long.parseLong(new String(value, StandardCharsets.US_ASCII));
  }

  private static <T> T get(CompletableFuture<T> future) throws Exception {
    return future.get(CALL_SECONDS, TimeUnit.SECONDS);
  }

  // ---- Clients

  private interface Call<T> {
    CompletableFuture<T> make();
  }

  /** What was answered; null: nobody knows what became of it. */
  private <T> List<T> ask(Call<T> call) throws InterruptedException {
    try {
      List<T> answer = Collections.singletonList(get(call.make()));
      answered.incrementAndGet();
      return answer;
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) { // a leader that is gone, or was none
      unanswered.incrementAndGet();
      lastUnanswered.accumulateAndGet(System.nanoTime(), Math::max);
      awaitLeader();
      return null;
    }
  }

  /** Until a leader answers, so that few calls are open, which make histories hard to judge. */
  private void awaitLeader() throws InterruptedException {
    while (!stopping) {
      look();
      try {
        get(client.get("any"));
        return;
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception e) {
        Thread.sleep(20);
      }
    }
  }

  private Endpoint look() throws InterruptedException {
    try {
      return client.getPlacementDriverClient().getLeader(Servers.REGION, true, 500);
    } catch (RuntimeException e) {
      Thread.sleep(50);
      return null;
    }
  }

  private void operate(int who, Random choice, List<History> round, List<String> names)
      throws InterruptedException {
    int which = choice.nextInt(KEYS);
    byte[] key = bytes(names.get(which));
    History history = round.get(which);
    int what = choice.nextInt(10);
    long call = System.nanoTime();
    if (what < 4) {
      List<byte[]> answer = ask(() -> client.get(key));
      if (answer != null) {
        history.add(new Operation(who, call, System.nanoTime(), Kind.GET, 0,
            number(answer.get(0)), true));
      }
      return;
    }
    long value = what < 9 ? values.incrementAndGet() : 0;
    long expected = choice.nextInt(4) == 0 ? 0 : Math.max(0, value - choice.nextInt(8));
    List<Boolean> answer;
    Kind kind;
    if (what < 7) {
      kind = Kind.PUT;
      answer = ask(() -> client.put(key, number(value)));
    } else if (what < 9) {
      kind = Kind.SWAP;
      answer = ask(() -> expected == 0
          ? client.putIfAbsent(key, number(value)).thenApply(before -> before == null)
          : client.compareAndPut(key, number(expected), number(value)));
    } else {
      kind = Kind.DELETE;
      answer = ask(() -> client.delete(key));
    }
    history.add(new Operation(who, call, answer == null ? History.UNKNOWN : System.nanoTime(),
        kind, expected, value, answer == null || answer.get(0)));
  }

  /** Appends to one key what is never appended again, and draws numbers. */
  private void append(int who) throws InterruptedException {
    for (long i = 0; !stopping; ++i) {
      String value = who + ":" + values.incrementAndGet();
      if (ask(() -> client.merge("appended", value)) != null) {
        appended.add(value);
      }
      List<Sequence> drawn = ask(() -> client.getSequence("numbers", 3));
      if (drawn != null) {
        numbers.add(drawn.get(0));
      }
      Thread.sleep(10);
    }
  }

  private interface Work {
    void run() throws InterruptedException;
  }

  private static Thread thread(Work work, List<Throwable> failures) {
    Thread made = new Thread(() -> {
      try {
        work.run();
      } catch (Throwable e) {
        failures.add(e);
      }
    });
    made.start();
    return made;
  }

  private List<Thread> clients(int round, List<Throwable> failures) {
    List<History> own = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (int i = 0; i < KEYS; ++i) {
      own.add(new History());
      names.add("round " + round + " key " + i);
    }
    histories.addAll(own);
    keys.addAll(names);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < CLIENTS; ++i) {
      int who = i;
      Random choice = new Random(random.nextLong());
      threads.add(thread(() -> {
        while (!stopping) {
          operate(who, choice, own, names);
          Thread.sleep(2 + choice.nextInt(14));
        }
      }, failures));
    }
    threads.add(thread(() -> append(CLIENTS), failures));
    return threads;
  }

  // ---- Rounds

  private int leader() throws Wrong, InterruptedException {
    for (long end = System.nanoTime() + 60_000_000_000L; System.nanoTime() < end;) {
      Endpoint found = look();
      if (found != null && ports.contains(found.getPort())) {
        return ports.indexOf(found.getPort());
      }
    }
    throw new Wrong("there is no leader after 60 s");
  }

  private void awaitAnswers(long more) throws Wrong, InterruptedException {
    long until = answered.get() + more;
    for (long end = System.nanoTime() + 60_000_000_000L; answered.get() < until;) {
      if (System.nanoTime() > end) {
        throw new Wrong("the clients got no answers for 60 s");
      }
      Thread.sleep(20);
    }
  }

  private void round(int which) throws Exception {
    List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
    stopping = false;
    List<Thread> threads = clients(which, failures);
    try {
      awaitAnswers(300 + random.nextInt(300));
      int killed = leader();
      replicas[killed].kill();
      long gone = System.nanoTime();
      awaitAnswers(1);
      long pause = (System.nanoTime() - gone) / 1_000_000;
      awaitAnswers(200 + random.nextInt(200));
      start(killed);
      replicas[killed].await("running", 60);
      awaitAnswers(200 + random.nextInt(200));
      say.accept("round " + which + ": the leader was killed, answers again after " + pause
          + " ms; " + answered + " answers, " + unanswered + " calls without one");
    } finally {
      stopping = true;
      for (Thread thread : threads) {
        thread.join();
      }
    }
    if (!failures.isEmpty()) {
      throw new Exception("a client has failed", failures.get(0));
    }
  }

  /** Plays so many rounds, and checks all; histories for another checker go to `out` (may be null). */
  void run(int rounds, Path out) throws Exception {
    try {
      for (int i = 0; i < replicas.length; ++i) {
        start(i);
      }
      for (Child replica : replicas) {
        replica.await("running", 120);
      }
      client = new DefaultRheaKVStore();
      if (!client.init(Servers.client(servers))) {
        throw new Wrong("the client does not start");
      }
      leader();
      say.accept("the servers run and have a leader");
      List<String> lines = new ArrayList<>();
      for (int i = 0; i < rounds; ++i) {
        round(i);
        // What was asked and not answered has happened so long after, or never will.
        long passed = System.nanoTime() - lastUnanswered.get();
        TimeUnit.NANOSECONDS.sleep(TimeUnit.SECONDS.toNanos(CALL_SECONDS) - passed);
        checkHistories(lines);
        if (out != null) {
          Files.write(out, lines);
        }
        checkAppended();
        checkNumbers();
        compareReplicas();
        say.accept("round " + i + " is right");
      }
    } finally {
      if (client != null) {
        client.shutdown();
      }
      for (Child replica : replicas) {
        if (replica != null && replica.isAlive()) {
          replica.kill();
        }
      }
    }
  }

  // ---- Checks

  private byte[] last(String key) throws Wrong, InterruptedException {
    for (int attempt = 0; attempt < 20; ++attempt) {
      List<byte[]> answer = ask(() -> client.get(key));
      if (answer != null) {
        return answer.get(0);
      }
    }
    throw new Wrong("no answer for the key " + key);
  }

  /** Those of the round, which are over then; each becomes a line for another checker. */
  private void checkHistories(List<String> lines) throws Exception {
    int operations = 0;
    for (int i = 0; i < histories.size(); ++i) {
      History history = histories.get(i);
      long call = System.nanoTime();
      long value = number(last(keys.get(i)));
      lines.add(history.toJson(value));
      history.add(new Operation(99, call, System.nanoTime(), Kind.GET, 0, value, true));
      operations += history.operations().size();
      if (!history.isLinearizable()) {
        throw new Wrong("the history of " + keys.get(i) + " is not linearizable: "
            + lines.get(lines.size() - 1));
      }
    }
    say.accept(histories.size() + " histories of " + operations
        + " operations are linearizable");
    histories.clear();
    keys.clear();
  }

  private void checkAppended() throws Exception {
    byte[] all = last("appended");
    Map<String, Integer> counts = new HashMap<>();
    Arrays.stream(new String(all, StandardCharsets.US_ASCII).split(","))
        .forEach(value -> counts.merge(value, 1, Integer::sum));
    for (Map.Entry<String, Integer> count : counts.entrySet()) {
      if (count.getValue() != 1) {
        throw new Wrong(count.getKey() + " was appended " + count.getValue() + " times");
      }
    }
    for (String value : appended) {
      if (!counts.containsKey(value)) {
        throw new Wrong(value + " was acknowledged, and is lost");
      }
    }
    say.accept(appended.size() + " values that were appended are there, once each");
  }

  private void checkNumbers() throws Wrong {
    List<Sequence> sorted = new ArrayList<>(numbers);
    sorted.sort(java.util.Comparator.comparingLong(Sequence::getStartValue));
    long end = 0;
    for (Sequence drawn : sorted) {
      if (drawn.getStartValue() < end || drawn.getEndValue() != drawn.getStartValue() + 3) {
        throw new Wrong("numbers were given twice: " + drawn + " behind " + end);
      }
      end = drawn.getEndValue();
    }
  }

  /** What a replica has, and the index of Raft's log that it has applied. */
  private record Dump(long index, List<String> entries) {
  }

  private Dump dump(int which) throws Exception {
    Path file = folder.resolve("dump" + which);
    replicas[which].say("dump " + file);
    String index = replicas[which].await("dumped at ", 30);
    return new Dump(Long.parseLong(index.trim()), Files.readAllLines(file));
  }

  /**
   * Replicas that have applied the same are the same. A busy machine may take a while until one that
   * was killed has applied what the others have.
   */
  private void compareReplicas() throws Exception {
    Dump[] dumps = new Dump[replicas.length];
    for (long end = System.nanoTime() + 180_000_000_000L; System.nanoTime() < end;) {
      boolean together = true;
      for (int i = 0; i < replicas.length; ++i) {
        dumps[i] = dump(i);
        together = together && dumps[i].index() == dumps[0].index();
      }
      if (together) {
        for (Dump dump : dumps) {
          if (!dump.entries().equals(dumps[0].entries())) {
            throw new Wrong("the replicas differ: see dump0 to dump2 in " + folder);
          }
        }
        say.accept("the replicas are equal: " + dumps[0].entries().size() + " entries");
        return;
      }
      Thread.sleep(200);
    }
    throw new Wrong("after 180 s the replicas have applied their logs up to " + dumps[0].index() + ", "
        + dumps[1].index() + " and " + dumps[2].index());
  }

  /**
   * ROUNDS SEED FILE_OF_HISTORIES RAFT_LOG: the three-process proof, as long as you like, with Raft's
   * log in "braid" or, as RheaKV has it by itself, in "rocksdb".
   */
  public static void main(String[] arguments) throws Exception {
    int rounds = Integer.parseInt(arguments[0]);
    long seed = arguments.length > 1 && !arguments[1].isEmpty()
        ? Long.parseLong(arguments[1]) : System.nanoTime();
    Path out = arguments.length > 2 ? Path.of(arguments[2]) : null;
    String raftLog = arguments.length > 3 ? arguments[3] : "braid";
    if (!raftLog.equals("braid") && !raftLog.equals("rocksdb")) {
      System.err.println("rheakv-demo: RAFT_LOG=" + raftLog + ": use braid or rocksdb");
      System.exit(2);
    }
    long begin = System.nanoTime();
    Consumer<String> say = text -> System.out.printf(java.util.Locale.ROOT, "[%5.1f s] %s%n",
        (System.nanoTime() - begin) / 1e9, text);
    int code = 1;
    Path folder = Files.createTempDirectory(Folders.scratch(), "braid-rheakv-demo-");
    try {
      say.accept("three servers on the loopback, Raft's log in " + raftLog + ", seed " + seed);
      new Cluster(folder, raftLog.equals("braid"), seed, say).run(rounds, out);
      Folders.delete(folder);
      System.out.println("rheakv-demo: right");
      code = 0;
    } catch (Wrong e) {
      System.err.println("rheakv-demo: " + e.getMessage() + " (seed " + seed + ", logs in "
          + folder + ")");
    }
    System.exit(code);
  }
}
