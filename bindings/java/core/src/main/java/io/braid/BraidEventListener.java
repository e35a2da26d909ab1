package io.braid;

/**
 * Is told of what the store does in the background (BraidOptions.listener). Called from the threads
 * of the background, which all databases of a process share, and from those that write, several at a
 * time: it must return soon, and must not call a database nor wait for one. What it throws is
 * dropped.
 */
public interface BraidEventListener {
  /** A memtable with so many entries has become a table. */
  default void onFlush(long entries, long nanos) {}

  /** So many tables were merged into the lowest level at once. */
  default void onMerge(long tables, long entries, long nanos) {}

  /** A write was held back for a millisecond or longer: the background is behind, or the pool full. */
  default void onStall(long nanos) {}

  /**
   * The database is open.
   *
   * @param clean it had been closed in order
   * @param replayedEntries of the log
   * @param micros that the open took
   * @param mediaLossPossible its memory was shut down dirty: acknowledged writes may be missing
   */
  default void onRecovery(
      boolean clean, long replayedEntries, long micros, boolean mediaLossPossible) {}

  /** Writes end with this error until the database is opened again; reads go on. */
  default void onBackgroundError(String error) {}
}
