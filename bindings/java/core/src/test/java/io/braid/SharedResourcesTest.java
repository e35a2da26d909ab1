package io.braid;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import org.iq80.leveldb.DBException;
import org.junit.jupiter.api.Test;

class SharedResourcesTest extends TempPools {
  private static void fill(BraidDB db, String value) {
    for (int i = 0; i < 3000; ++i) {
      db.put(bytes("key" + i), bytes(value));
    }
  }

  @Test
  void databasesShareABudgetAndKeepWhatTheyUse() throws IOException {
    SharedResources resources = new SharedResources(32L << 20, 3);
    BraidOptions options = small().resources(resources);
    BraidDB first = BraidFactory.factory.open(pool(), options);
    BraidDB second = BraidFactory.factory.open(pool(), options);
    fill(first, "first");
    fill(second, "second");
    assertEquals(2, resources.databases());
    assertTrue(resources.memoryBytes() > 0 && resources.memoryBytes() <= 32L << 20);
    second.close();
    assertEquals(1, resources.databases());
    resources.close();
    resources.close();
    assertThrows(DBException.class, resources::databases);
    IOException refused = assertThrows(
        IOException.class, () -> BraidFactory.factory.open(pool(), options));
    assertTrue(refused.getMessage().contains("is closed"), refused.getMessage());
    fill(first, "again");
    assertArrayEquals(bytes("again"), first.get(bytes("key7")));
    first.close();
  }

  @Test
  void whatMakesNoSenseIsRefused() throws IOException {
    for (long[] limits : new long[][] {{1000, 3}, {1 << 20, 2}, {-1, 0}, {1 << 20, -1}}) {
      assertThrows(DBException.class, () -> new SharedResources(limits[0], (int) limits[1]));
    }
    try (SharedResources resources = new SharedResources(1 << 20, 0)) {
      BraidOptions options = small().resources(resources);
      try (BraidDB db = BraidFactory.factory.open(pool(), options)) {
        IOException refused = assertThrows(
            IOException.class, () -> BraidFactory.factory.open(pool(), options));
        assertTrue(refused.getMessage().contains("raise memory_budget_bytes"),
            refused.getMessage());
        fill(db, "value");
      }
    }
  }
}
