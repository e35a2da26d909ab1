package io.braid;

/** Learns how far BraidDB.compactRange is. Must not call back into the database. */
@FunctionalInterface
public interface CompactionProgress {
  /** `share` of the work is done, 0 to 1; false cancels, and so does an exception. */
  boolean on(double share);
}
