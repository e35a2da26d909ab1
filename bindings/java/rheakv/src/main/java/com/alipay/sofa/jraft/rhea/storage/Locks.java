package com.alipay.sofa.jraft.rhea.storage;

import com.alipay.sofa.jraft.rhea.serialization.Serializer;
import com.alipay.sofa.jraft.rhea.serialization.Serializers;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock.Acquirer;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock.Owner;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock.OwnerBuilder;
import com.alipay.sofa.jraft.util.BytesUtil;
import java.nio.ByteBuffer;

/**
 * RheaKV's distributed locks: who has one until when, and the fencing tokens of regions. The time is
 * that of the request, which all replicas see, so they all decide the same.
 */
final class Locks {
  private static final Serializer SERIALIZER = Serializers.getDefault();

  private Locks() {}

  private static Owner read(Changes changes, byte[] key) {
    byte[] stored = changes.get(Keys.of(Keys.LOCK, key));
    return stored == null ? null : SERIALIZER.readObject(stored, Owner.class);
  }

  private static Owner store(Changes changes, byte[] key, Owner owner) {
    changes.put(Keys.of(Keys.LOCK, key), SERIALIZER.writeObject(owner));
    return owner;
  }

  /** What a client that did not get the lock is told of its owner. */
  private static Owner refuse(Owner held, Acquirer acquirer, long deadline, long remaining) {
    return new Owner(held == null ? acquirer.getId() : held.getId(), deadline, remaining, 0, 0,
        held == null ? null : held.getContext(), false);
  }

  /**
   * Takes a lock that is free or whose lease is over; takes it once more, or prolongs its lease, for
   * its owner. `keepLease`: only prolongs.
   */
  static Owner tryLock(Changes changes, byte[] key, byte[] fencingKey, boolean keepLease,
      Acquirer acquirer) {
    Owner held = read(changes, key);
    long now = acquirer.getLockingTimestamp();
    long deadline = now + acquirer.getLeaseMillis();
    if (held == null || held.getDeadlineMillis() < now) {
      if (keepLease) { // too late
        return refuse(held, acquirer, held == null ? 0 : held.getDeadlineMillis(),
            OwnerBuilder.KEEP_LEASE_FAIL);
      }
      return store(changes, key, new Owner(acquirer.getId(), deadline,
          held == null ? OwnerBuilder.FIRST_TIME_SUCCESS : OwnerBuilder.NEW_ACQUIRE_SUCCESS,
          nextToken(changes, fencingKey), 1, acquirer.getContext(), true));
    }
    if (!held.isSameAcquirer(acquirer)) {
      return refuse(held, acquirer, 0, held.getDeadlineMillis() - now);
    }
    return store(changes, key, keepLease
        ? new Owner(held.getId(), deadline, OwnerBuilder.KEEP_LEASE_SUCCESS,
            held.getFencingToken(), held.getAcquires(), held.getContext(), true)
        : new Owner(held.getId(), deadline, OwnerBuilder.REENTRANT_SUCCESS,
            held.getFencingToken(), held.getAcquires() + 1, acquirer.getContext(), true));
  }

  /** Gives back what was taken once; the last time the lock goes. */
  static Owner release(Changes changes, byte[] key, Acquirer acquirer) {
    Owner held = read(changes, key);
    if (held == null) {
      return new Owner(acquirer.getId(), 0, 0, acquirer.getFencingToken(), 0, null, true);
    }
    if (!held.isSameAcquirer(acquirer)) {
      return new Owner(held.getId(), 0, 0, held.getFencingToken(), held.getAcquires(),
          held.getContext(), false);
    }
    long acquires = held.getAcquires() - 1;
    Owner left = new Owner(held.getId(), held.getDeadlineMillis(), 0, held.getFencingToken(),
        acquires, held.getContext(), true);
    if (acquires > 0) {
      return store(changes, key, left);
    }
    changes.delete(Keys.of(Keys.LOCK, key));
    return left;
  }

  private static long nextToken(Changes changes, byte[] fencingKey) {
    byte[] place = Keys.of(Keys.FENCING, BytesUtil.nullToEmpty(fencingKey));
    long token = number(changes.get(place)) + 1;
    changes.put(place, bytes(token));
    return token;
  }

  /** A new region's tokens go on where those of the region are that it was part of. */
  static void inheritToken(Changes changes, byte[] parentKey, byte[] childKey) {
    byte[] token = changes.get(Keys.of(Keys.FENCING, BytesUtil.nullToEmpty(parentKey)));
    if (token != null) {
      changes.put(Keys.of(Keys.FENCING, childKey), token);
    }
  }

  /** 0 for null. */
  static long number(byte[] stored) {
    return stored == null ? 0 : ByteBuffer.wrap(stored).getLong();
  }

  static byte[] bytes(long number) {
    return ByteBuffer.allocate(Long.BYTES).putLong(number).array();
  }
}
