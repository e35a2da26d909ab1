package io.braid.hadoop.spark;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** Local files that say their blocks are on the hosts of a cluster: three of them each. */
public class HostedFileSystem extends RawLocalFileSystem {
  static final String SCHEME = "hosted";
  static final int BLOCK = 40_000;
  static final int HOSTS = 12;
  private static final int REPLICAS = 3;

  @Override
  public URI getUri() {
    return URI.create(SCHEME + ":///");
  }

  @Override
  public String getScheme() {
    return SCHEME;
  }

  @Override
  public BlockLocation[] getFileBlockLocations(FileStatus file, long start, long length) {
    List<BlockLocation> found = new ArrayList<>();
    for (long at = 0; at < file.getLen(); at += BLOCK) {
      if (at < start + length && at + BLOCK > start) {
        String[] hosts = hosts(file.getPath(), at / BLOCK);
        found.add(new BlockLocation(hosts, hosts, at, Math.min(BLOCK, file.getLen() - at)));
      }
    }
    return found.toArray(new BlockLocation[0]);
  }

  /** The hosts of a file's block: the same ones each time. */
  static String[] hosts(Path file, long block) {
    Random random = new Random(file.getName().hashCode() * 31L + block);
    return random
        .ints(0, HOSTS)
        .distinct()
        .limit(REPLICAS)
        .mapToObj(n -> "host" + n)
        .toArray(String[]::new);
  }
}
