package io.braid.testing;

import java.io.BufferedReader;
import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Ports of the loopback for servers that a test starts. */
public final class Ports {
  private static final int FIRST = 10_000;
  private static final int MOST_ATTEMPTS = 1000;

  private Ports() {}

  /**
   * Ports that are free, and that the system gives to no connection by itself: one of those could be
   * taken while its server is down, even by a client that looks for the server and then talks to
   * itself.
   */
  public static List<Integer> free(int count) throws IOException {
    int end = firstOfSystem();
    List<ServerSocket> open = new ArrayList<>();
    List<Integer> ports = new ArrayList<>();
    try {
      for (int attempt = 0; ports.size() < count; ++attempt) {
        int port = end <= FIRST ? 0 : ThreadLocalRandom.current().nextInt(FIRST, end);
        try {
          ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
          open.add(socket);
          ports.add(socket.getLocalPort());
        } catch (BindException e) {
          if (attempt == MOST_ATTEMPTS) {
            throw e;
          }
        }
      }
    } finally {
      for (ServerSocket socket : open) {
        socket.close();
      }
    }
    return ports;
  }

  private static int firstOfSystem() {
    // In one read: the kernel has no second one of this file.
    try (BufferedReader range =
        Files.newBufferedReader(Path.of("/proc/sys/net/ipv4/ip_local_port_range"))) {
      return Integer.parseInt(range.readLine().trim().split("\\s+")[0]);
    } catch (IOException | NumberFormatException e) {
      return 0; // not known: the system chooses
    }
  }
}
