package io.braid;

import java.io.File;
import java.io.IOException;

/** Writes and ends without a close, as a process does that is killed. */
final class AbandonedWriter {
  private AbandonedWriter() {}

  public static void main(String[] arguments) throws IOException {
    BraidDB db = BraidFactory.factory.open(new File(arguments[0]), TempPools.small());
    db.put(TempPools.bytes("k"), TempPools.bytes("acknowledged"));
    Runtime.getRuntime().halt(17);
  }
}
