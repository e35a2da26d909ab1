package io.braid.ycsb;

import io.braid.BraidDB;
import io.braid.BraidFactory;
import io.braid.BraidOptions;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import org.iq80.leveldb.DBIterator;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * YCSB's client for braid. YCSB makes one a thread; they share one database, which is opened by the
 * first and closed by the last. A record is one value, its fields one behind the other; its key is
 * the table's name, a zero byte and YCSB's key, so that a scan stays in its table.
 *
 * <p>Properties: {@code braid.path}, the folder of the pool (required; made when it is not there),
 * and {@code braid.set.NAME} for any option that `braid options` lists, for example
 * {@code -p braid.set.memory_budget_bytes=1G}.
 */
public final class BraidClient extends DB {
  private static final String PATH = "braid.path";
  private static final String SET = "braid.set.";

  private static BraidDB shared;
  private static int users;

  private BraidDB db;

  @Override
  public void init() throws DBException {
    synchronized (BraidClient.class) {
      if (users == 0) {
        shared = open();
      }
      ++users;
      db = shared;
    }
  }

  private BraidDB open() throws DBException {
    String path = getProperties().getProperty(PATH);
    if (path == null) {
      throw new DBException("name the folder of the pool: -p " + PATH + "=FOLDER");
    }
    BraidOptions options = new BraidOptions();
    for (String name : getProperties().stringPropertyNames()) {
      if (name.startsWith(SET)) {
        options.set(name.substring(SET.length()), getProperties().getProperty(name));
      }
    }
    try {
      return BraidFactory.factory.open(new File(path), options);
    } catch (IOException e) {
      throw new DBException(e);
    }
  }

  @Override
  public void cleanup() {
    synchronized (BraidClient.class) {
      if (db != null && --users == 0) {
        shared.close();
        shared = null;
      }
      db = null;
    }
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] keyOf(String table, String key) {
    return bytes(table + '\0' + key);
  }

  private static byte[] encode(Map<String, byte[]> fields) {
    int size = 0;
    for (Map.Entry<String, byte[]> field : fields.entrySet()) {
      size += 2 * Integer.BYTES + bytes(field.getKey()).length + field.getValue().length;
    }
    ByteBuffer record = ByteBuffer.allocate(size);
    fields.forEach((name, value) -> {
      byte[] named = bytes(name);
      record.putInt(named.length).put(named).putInt(value.length).put(value);
    });
    return record.array();
  }

  /** Field by field; a damaged record can't come here: braid has checked it. */
  private static Map<String, byte[]> decode(byte[] record) {
    Map<String, byte[]> fields = new HashMap<>();
    ByteBuffer rest = ByteBuffer.wrap(record);
    while (rest.hasRemaining()) {
      byte[] name = new byte[rest.getInt()];
      rest.get(name);
      byte[] value = new byte[rest.getInt()];
      rest.get(value);
      fields.put(new String(name, StandardCharsets.UTF_8), value);
    }
    return fields;
  }

  private static void give(byte[] record, Set<String> wanted, Map<String, ByteIterator> result) {
    decode(record).forEach((name, value) -> {
      if (wanted == null || wanted.contains(name)) {
        result.put(name, new ByteArrayByteIterator(value));
      }
    });
  }

  private static Map<String, byte[]> arrays(Map<String, ByteIterator> values) {
    Map<String, byte[]> arrays = new HashMap<>();
    values.forEach((name, value) -> arrays.put(name, value.toArray()));
    return arrays;
  }

  private interface Work {
    Status run() throws IOException;
  }

  /** YCSB counts what is not OK; the reason has to be seen by somebody. */
  private static Status tried(Work work) {
    try {
      return work.run();
    } catch (IOException | RuntimeException e) {
      System.err.println("braid: " + e.getMessage());
      return Status.ERROR;
    }
  }

  @Override
  public Status read(
      String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    return tried(() -> {
      byte[] record = db.get(keyOf(table, key));
      if (record == null) {
        return Status.NOT_FOUND;
      }
      give(record, fields, result);
      return Status.OK;
    });
  }

  @Override
  public Status scan(String table, String startKey, int recordCount, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return tried(() -> {
      byte[] prefix = keyOf(table, "");
      try (DBIterator it = db.iterator()) {
        it.seek(keyOf(table, startKey));
        for (int i = 0; i < recordCount && it.hasNext(); ++i) {
          Map.Entry<byte[], byte[]> entry = it.next();
          if (!ByteBuffer.wrap(entry.getKey(), 0, Math.min(prefix.length, entry.getKey().length))
              .equals(ByteBuffer.wrap(prefix))) {
            break;
          }
          HashMap<String, ByteIterator> record = new HashMap<>();
          give(entry.getValue(), fields, record);
          result.add(record);
        }
      }
      return Status.OK;
    });
  }

  /** The fields that are given take the place of old ones; others stay. One atomic step. */
  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    return tried(() -> {
      byte[] at = keyOf(table, key);
      Map<String, byte[]> changed = arrays(values);
      for (;;) {
        byte[] before = db.get(at);
        if (before == null) {
          return Status.NOT_FOUND;
        }
        Map<String, byte[]> fields = decode(before);
        fields.putAll(changed);
        if (db.compareAndSwap(at, before, encode(fields))) {
          return Status.OK;
        }
      }
    });
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    return tried(() -> {
      db.put(keyOf(table, key), encode(arrays(values)));
      return Status.OK;
    });
  }

  @Override
  public Status delete(String table, String key) {
    return tried(() -> {
      db.delete(keyOf(table, key));
      return Status.OK;
    });
  }
}
