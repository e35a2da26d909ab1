package io.braid.examples.kafka;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A process of its own with the class path of this one. It ends with this one, whatever ends that. */
final class Child implements AutoCloseable {
  private final String what;
  private final Path log;
  private final Process process;
  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final Thread atExit;
  final long begin = System.nanoTime();

  Child(String what, Path log, List<String> options, String main, String... arguments)
      throws IOException {
    this.what = what;
    this.log = log;
    List<String> command = new ArrayList<>();
    command.add(new File(System.getProperty("java.home"), "bin/java").getPath());
    command.addAll(options);
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), main));
    command.addAll(List.of(arguments));
    process = new ProcessBuilder(command)
        .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
    atExit = new Thread(process::destroyForcibly);
    Runtime.getRuntime().addShutdownHook(atExit);
    Thread reader = new Thread(this::read, what);
    reader.setDaemon(true);
    reader.start();
  }

  private void read() {
    try (BufferedReader output = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line; (line = output.readLine()) != null;) {
        lines.add(line);
      }
    } catch (IOException e) {
      lines.add("its output can't be read: " + e.getMessage()); // it was killed
    }
  }

  long id() {
    return process.pid();
  }

  /** What follows these words on a line of its output, which is waited for. */
  String await(String words, long seconds) throws InterruptedException, IOException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (System.nanoTime() < end) {
      String line = lines.poll(20, TimeUnit.MILLISECONDS);
      if (line != null && line.startsWith(words)) {
        return line.substring(words.length());
      }
      if (line == null) {
        check();
      }
    }
    throw new Failure(what + " has not said \"" + words + "\" within " + seconds + " s" + tail());
  }

  /** Fails when the process has ended. */
  void check() throws IOException {
    if (!process.isAlive()) {
      throw new Failure(what + " has ended with code " + process.exitValue() + tail());
    }
  }

  private String tail() throws IOException {
    List<String> all = Files.readAllLines(log, StandardCharsets.UTF_8);
    return "; the last of its log:\n"
        + String.join("\n", all.subList(Math.max(0, all.size() - 30), all.size()));
  }

  /** SIGKILL: nothing of the process runs any more. */
  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
    Runtime.getRuntime().removeShutdownHook(atExit);
  }

  @Override
  public void close() {
    if (!process.isAlive()) {
      return;
    }
    process.destroy();
    try {
      process.waitFor(20, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly(); // nothing, if it has ended
    process.onExit().join();
    Runtime.getRuntime().removeShutdownHook(atExit);
  }
}
