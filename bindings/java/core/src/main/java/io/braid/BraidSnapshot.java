package io.braid;

import org.iq80.leveldb.Snapshot;

/** A state of the database. Keeps overwritten values alive until it is closed. Any thread. */
final class BraidSnapshot extends Handle implements Snapshot {
  private final BraidDB db;
  private final long snapshot;

  /** The address is that of read options at the snapshot, which are what calls need. */
  private BraidSnapshot(BraidDB db, long snapshot, long options) {
    super("the snapshot", options, address -> {
      Native.destroyReadOptions(address);
      Native.releaseSnapshot(snapshot);
    });
    this.db = db;
    this.snapshot = snapshot;
  }

  static BraidSnapshot of(BraidDB db, long snapshot) {
    return new BraidSnapshot(db, snapshot, Native.createReadOptions(made(snapshot)));
  }

  BraidDB db() {
    return db;
  }

  /** Its own address; within enterToo() only. */
  long snapshot() {
    return snapshot;
  }
}
