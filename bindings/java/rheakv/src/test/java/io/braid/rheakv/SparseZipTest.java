package io.braid.rheakv;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.alipay.sofa.jraft.rhea.storage.zip.ZipStrategy;
import com.alipay.sofa.jraft.rhea.storage.zip.ZipStrategyManager;
import com.alipay.sofa.jraft.util.CRC64;
import io.braid.testing.Folders;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Test;

/** Archives of snapshots. */
class SparseZipTest extends Folders {
  private static ZipStrategy zip() {
    SparseZip.install();
    return ZipStrategyManager.getZipStrategy(ZipStrategyManager.JDK_STRATEGY);
  }

  @Test
  void whatWasPackedIsUnpackedWithItsChecksum() throws Throwable {
    ZipStrategy zip = zip();
    assertTrue(zip instanceof SparseZip);
    File folder = folder();
    Path from = folder.toPath().resolve("kv");
    Files.createDirectories(from.resolve("inner"));
    byte[] holes = new byte[1_000_003]; // begins and ends empty
    holes[400_000] = 1;
    holes[400_001] = 2;
    Files.write(from.resolve("holes"), holes);
    Files.write(from.resolve("empty"), new byte[0]);
    Files.write(from.resolve("inner/small"), bytes("small"));
    String archive = new File(folder, "kv.zip").getPath();
    CRC64 packed = new CRC64();
    zip.compress(folder.getPath(), "kv", archive, packed);
    File target = folder();
    Files.createDirectories(target.toPath().resolve("kv"));
    Files.write(target.toPath().resolve("kv/holes"), bytes("what was there before"));
    CRC64 unpacked = new CRC64();
    zip.deCompress(archive, target.getPath(), unpacked);
    assertEquals(packed.getValue(), unpacked.getValue());
    assertArrayEquals(holes, Files.readAllBytes(target.toPath().resolve("kv/holes")));
    assertEquals(0, Files.size(target.toPath().resolve("kv/empty")));
    assertEquals("small", Files.readString(target.toPath().resolve("kv/inner/small")));
  }

  @Test
  void nothingIsWrittenOutsideOfTheFolder() throws Exception {
    File folder = folder();
    File archive = new File(folder, "kv.zip");
    try (ZipOutputStream out = new ZipOutputStream(new FileOutputStream(archive))) {
      out.putNextEntry(new ZipEntry("../outside"));
      out.write(bytes("1"));
    }
    File target = new File(folder, "target");
    assertThrows(IOException.class,
        () -> {
          try {
            zip().deCompress(archive.getPath(), target.getPath(), new CRC64());
          } catch (IOException e) {
            throw e;
          } catch (Throwable e) {
            throw new AssertionError(e);
          }
        });
    assertFalse(new File(folder, "outside").exists());
  }
}
