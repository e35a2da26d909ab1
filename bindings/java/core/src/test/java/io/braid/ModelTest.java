package io.braid;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.iq80.leveldb.DBIterator;
import org.iq80.leveldb.WriteBatch;
import org.junit.jupiter.api.Test;

/** Random operations beside a TreeMap, which must show the same all the time. */
class ModelTest extends TempPools {
  private static final int OPERATIONS = 20_000;

  private final TreeMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);
  private final long seed = seed();
  private final Random random = new Random(seed);

  private byte[] randomBytes(int most) {
    byte[] bytes = new byte[random.nextInt(most)];
    random.nextBytes(bytes);
    return bytes;
  }

  private byte[] key() {
    byte[] key = randomBytes(4);
    for (int i = 0; i < key.length; ++i) {
      key[i] = (byte) (key[i] % 3 * 100); // few of them, with zero and negative bytes
    }
    return key;
  }

  @Test
  void agreesWithATreeMap() throws IOException {
    File path = pool();
    BraidDB db = open(path);
    for (int i = 0; i < OPERATIONS; ++i) {
      String where = "seed " + seed + ", operation " + i;
      byte[] key = key();
      switch (random.nextInt(10)) {
        case 0, 1, 2 -> {
          byte[] value = randomBytes(random.nextInt(200) == 0 ? 100_000 : 50);
          db.put(key, value);
          model.put(key, value);
        }
        case 3, 4 -> {
          db.delete(key);
          model.remove(key);
        }
        case 5 -> batch(db);
        case 6 -> range(db);
        case 7 -> walk(db, where);
        default -> assertArrayEquals(model.get(key), db.get(key), where);
      }
      if (random.nextInt(4000) == 0) {
        db.close();
        db = open(path);
      }
    }
    walk(db, "seed " + seed);
    db.verify();
    db.close();
  }

  private void batch(BraidDB db) throws IOException {
    try (WriteBatch batch = db.createWriteBatch()) {
      for (int i = random.nextInt(5); i >= 0; --i) {
        byte[] key = key();
        if (random.nextBoolean()) {
          byte[] value = randomBytes(20);
          batch.put(key, value);
          model.put(key, value);
        } else {
          batch.delete(key);
          model.remove(key);
        }
      }
      db.write(batch);
    }
  }

  private void range(BraidDB db) {
    byte[] begin = key();
    byte[] end = key();
    boolean turned = Arrays.compareUnsigned(begin, end) > 0;
    Map<byte[], byte[]> gone = turned ? new TreeMap<>() : model.subMap(begin, end);
    long expected = gone.size();
    assertEquals(expected, db.deleteRange(begin, end));
    gone.clear();
  }

  private void walk(BraidDB db, String where) throws IOException {
    byte[] from = key();
    boolean forward = random.nextBoolean();
    try (DBIterator it = db.iterator()) {
      it.seek(from);
      for (Map.Entry<byte[], byte[]> want :
          (forward ? model.tailMap(from, true) : model.headMap(from, false).descendingMap()).entrySet()) {
        assertTrue(forward ? it.hasNext() : it.hasPrev(), where);
        Map.Entry<byte[], byte[]> got = forward ? it.next() : it.prev();
        assertArrayEquals(want.getKey(), got.getKey(), where);
        assertArrayEquals(want.getValue(), got.getValue(), where);
      }
      assertEquals(false, forward ? it.hasNext() : it.hasPrev(), where);
    }
  }
}
