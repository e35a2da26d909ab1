package io.braid.kafka;

import io.braid.testing.Folders;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;

/** What tests of stores have in common: state folders of their own, keys and entries as text. */
class StoreCase extends Folders {
  static Bytes key(String text) {
    return Bytes.wrap(bytes(text));
  }

  static String text(Bytes bytes) {
    return text(bytes.get());
  }

  /** As key=value each. */
  static List<String> all(KeyValueIterator<Bytes, byte[]> iterator) {
    List<String> found = new ArrayList<>();
    try (iterator) {
      while (iterator.hasNext()) {
        String peeked = text(iterator.peekNextKey());
        KeyValue<Bytes, byte[]> entry = iterator.next();
        if (!peeked.equals(text(entry.key))) {
          throw new AssertionError("peeked " + peeked + ", got " + text(entry.key));
        }
        found.add(text(entry.key) + "=" + text(entry.value));
      }
    }
    return found;
  }
}
