package io.braid.testing;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * A process of its own with the class path of this one, in the folder of its log, where a library may
 * leave dumps. It ends with this one, whatever ends that. What it prints is read at once, so that it
 * never waits for its reader. One thread.
 */
public final class Child implements AutoCloseable {
  /** The process has ended, or has not said what it should have; the message has the last of its log. */
  public static final class Failed extends IOException {
    private static final long serialVersionUID = 1;

    Failed(String message) {
      super(message);
    }
  }

  private static final int TAIL_LINES = 40;
  private static final int CLOSE_SECONDS = 20;

  private final String what;
  private final Path log;
  private final Process process;
  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final Thread atExit;
  private final Thread reader;
  private final long begin = System.nanoTime();

  /**
   * @param what names the process in messages: "the broker"
   * @param log what it writes to its standard error is appended to this file
   * @param options of the JVM
   * @param main the class whose main runs
   */
  public Child(String what, Path log, List<String> options, String main, String... arguments)
      throws IOException {
    this.what = what;
    this.log = log;
    List<String> command = new ArrayList<>();
    command.add(new File(System.getProperty("java.home"), "bin/java").getPath());
    command.addAll(options);
    String classes = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
        .map(path -> new File(path).getAbsolutePath()).collect(Collectors.joining(File.pathSeparator));
    command.addAll(List.of("-cp", classes, main));
    command.addAll(List.of(arguments));
    process = new ProcessBuilder(command).directory(log.toAbsolutePath().getParent().toFile())
        .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
    atExit = new Thread(process::destroyForcibly);
    Runtime.getRuntime().addShutdownHook(atExit);
    reader = new Thread(this::read, "reader of " + what);
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

  /** The System.nanoTime() of its start. */
  public long begin() {
    return begin;
  }

  public long id() {
    return process.pid();
  }

  public boolean isAlive() {
    return process.isAlive();
  }

  /** Writes a line to its standard input. */
  public void say(String line) throws IOException {
    OutputStream input = process.getOutputStream();
    input.write((line + "\n").getBytes(StandardCharsets.UTF_8));
    input.flush();
  }

  /** What follows these words on a line of its output, which is waited for. */
  public String await(String words, long seconds) throws InterruptedException, Failed {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    while (System.nanoTime() < end) {
      boolean over = !reader.isAlive(); // before the look: what it has read is in the queue then
      String line = lines.poll(20, TimeUnit.MILLISECONDS);
      if (line != null && line.startsWith(words)) {
        return line.substring(words.length());
      }
      if (line == null && over) {
        check();
      }
    }
    throw new Failed(what + " has not said \"" + words + "\" within " + seconds + " s" + tail());
  }

  /** Fails when the process has ended. */
  public void check() throws Failed {
    if (!process.isAlive()) {
      throw new Failed(what + " has ended with code " + process.exitValue() + tail());
    }
  }

  /** What it has printed and nobody has awaited, once it has ended. */
  public List<String> rest() throws InterruptedException {
    reader.join();
    List<String> all = new ArrayList<>();
    lines.drainTo(all);
    return all;
  }

  private String tail() {
    try {
      List<String> all = Files.readAllLines(log, StandardCharsets.ISO_8859_1);
      return "; the last of its log:\n"
          + String.join("\n", all.subList(Math.max(0, all.size() - TAIL_LINES), all.size()));
    } catch (IOException e) {
      return "; its log can't be read: " + e.getMessage();
    }
  }

  private void forget() {
    try {
      Runtime.getRuntime().removeShutdownHook(atExit);
    } catch (IllegalStateException e) {
      // this process is ending: the hook runs, and finds nothing to do
    }
  }

  /** SIGKILL: nothing of the process runs any more. */
  public void kill() throws InterruptedException {
    process.toHandle().destroyForcibly(); // which leaves its output to be read
    process.waitFor();
    forget();
  }

  /** Asks it to end, and kills it when it does not within 20 s. */
  @Override
  public void close() {
    if (!process.isAlive()) {
      forget();
      return;
    }
    process.destroy();
    try {
      process.waitFor(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    process.destroyForcibly(); // nothing, if it has ended
    process.onExit().join();
    forget();
  }
}
