package io.braid.rheakv;

import com.alipay.sofa.jraft.rhea.storage.zip.JDKZipStrategy;
import com.alipay.sofa.jraft.rhea.storage.zip.ZipStrategy;
import com.alipay.sofa.jraft.rhea.storage.zip.ZipStrategyManager;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CheckedInputStream;
import java.util.zip.Checksum;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * How the archives of snapshots are unpacked: in large blocks, and what is empty takes no space. RheaKV's
 * own way copies byte for byte, which takes ten seconds and more for a pool's file, and a server that
 * loads a snapshot for that long is given the next one before it is through.
 */
final class SparseZip implements ZipStrategy {
  private static final int BLOCK = 1 << 16;
  private static final int BUFFER = 1 << 20;

  private final ZipStrategy packing;

  private SparseZip(ZipStrategy packing) {
    this.packing = packing;
  }

  /** Takes the place of RheaKV's own; one that an application has chosen stays. */
  static void install() {
    ZipStrategy now = ZipStrategyManager.getZipStrategy(ZipStrategyManager.JDK_STRATEGY);
    if (now instanceof JDKZipStrategy) {
      ZipStrategyManager.addZipStrategy(ZipStrategyManager.JDK_STRATEGY, new SparseZip(now));
    }
  }

  @Override
  public void compress(String rootDir, String sourceDir, String outputZipFile, Checksum checksum)
      throws Throwable {
    packing.compress(rootDir, sourceDir, outputZipFile, checksum);
  }

  @Override
  public void deCompress(String sourceZipFile, String outputDir, Checksum checksum)
      throws IOException {
    Path folder = Path.of(outputDir).toAbsolutePath().normalize();
    try (InputStream file = new BufferedInputStream(new FileInputStream(sourceZipFile), BUFFER);
        CheckedInputStream checked = new CheckedInputStream(file, checksum);
        ZipInputStream zip = new ZipInputStream(checked)) {
      for (ZipEntry entry; (entry = zip.getNextEntry()) != null;) {
        Path target = folder.resolve(entry.getName()).normalize();
        if (!target.startsWith(folder)) {
          throw new IOException("the archive " + sourceZipFile + " names a file outside of its folder: "
              + entry.getName());
        }
        if (!entry.isDirectory()) {
          Files.createDirectories(target.getParent());
          unpack(zip, target);
        }
      }
      byte[] rest = new byte[BLOCK]; // the directory at the end, which the checksum covers
      while (checked.read(rest) >= 0) {
        continue;
      }
    }
  }

  private static void unpack(InputStream from, Path target) throws IOException {
    byte[] zero = new byte[BLOCK];
    Files.deleteIfExists(target);
    try (RandomAccessFile file = new RandomAccessFile(target.toFile(), "rw")) {
      long at = 0;
      for (byte[] block; (block = from.readNBytes(BLOCK)).length > 0; at += block.length) {
        if (!Arrays.equals(block, 0, block.length, zero, 0, block.length)) {
          file.seek(at);
          file.write(block);
        }
      }
      file.setLength(at);
      file.getFD().sync();
    }
  }
}
