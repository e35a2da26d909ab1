package com.alipay.sofa.jraft.rhea.storage;

import io.braid.BraidDB;
import java.util.Arrays;

/**
 * Where things are in the pool: a byte for the kind, and the key as RheaKV has it. In each kind the
 * keys of a region are one range.
 */
final class Keys {
  static final byte DATA = 'd';
  static final byte FENCING = 'f'; // the last fencing token, eight bytes, of a region's start key
  static final byte LOCK = 'l'; // a lock's owner, in RheaKV's own serialization
  static final byte SEQUENCE = 's'; // the end of a sequence, eight bytes
  private static final byte OWN = 'o'; // of the store itself

  /** The kinds that belong to regions. */
  static final byte[] OF_REGIONS = {DATA, FENCING, LOCK, SEQUENCE};

  static final byte[] OWNER = own("owner");
  static final byte[] LAYOUT = own("layout");

  /** In a snapshot of one region of several: from where to where it goes. */
  static final byte[] RANGE_BEGIN = own("range begin");
  static final byte[] RANGE_END = own("range end");

  /** Bytes of the longest key that RheaKV's clients can use: the pool's longest, less the kind. */
  static final int MOST_BYTES = 128 * 1024 - 2;

  private Keys() {}

  private static byte[] own(String name) {
    return of(OWN, name.getBytes(java.nio.charset.StandardCharsets.US_ASCII));
  }

  static byte[] of(byte kind, byte[] key) {
    byte[] made = new byte[1 + key.length];
    made[0] = kind;
    System.arraycopy(key, 0, made, 1, key.length);
    return made;
  }

  /** The key as RheaKV has it. */
  static byte[] rest(byte[] key) {
    return Arrays.copyOfRange(key, 1, key.length);
  }

  /** Where a range begins; null: the first key of the kind. */
  static byte[] begin(byte kind, byte[] key) {
    return key == null ? new byte[] {kind} : of(kind, key);
  }

  /** Where a range ends, before this key; null: behind the last of the kind. */
  static byte[] end(byte kind, byte[] key) {
    return key == null ? BraidDB.prefixUpperBound(new byte[] {kind}) : of(kind, key);
  }

  /** The first key behind this one. */
  static byte[] behind(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }
}
