package io.braid.hadoop.sim;

/**
 * Something that is served by one or more {@link SharedResource}s at the same time and that is over
 * when the last of them has served it. Confined to the simulation's thread.
 */
abstract class Activity {
  /** How many resources still serve it. */
  int outstanding;

  /** Called once the last resource is done. */
  abstract void done();
}
