package com.alipay.sofa.jraft.rhea.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.alipay.sofa.jraft.rhea.util.Pair;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock.Acquirer;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/**
 * Random operations, alone and as the state machine gives them, many of a kind at once: the answers
 * are those of RheaKV's own store in memory, and so is what is stored in the end.
 */
class ModelTest extends StoreCase {
  private final long seed = seed();
  private final Random random = new Random(seed);
  private long clock = 1000;

  private byte[] key() {
    return bytes("k" + random.nextInt(12));
  }

  private byte[] value() {
    return bytes("v" + random.nextInt(6));
  }

  private List<KVEntry> entries() {
    List<KVEntry> made = new ArrayList<>();
    for (int i = random.nextInt(5); i >= 0; --i) {
      made.add(new KVEntry(key(), value()));
    }
    return made;
  }

  private List<byte[]> keys() {
    return new ArrayList<>(entries().stream().map(KVEntry::getKey).toList());
  }

  private List<CASEntry> swaps() {
    List<CASEntry> made = new ArrayList<>();
    for (int i = random.nextInt(2); i >= 0; --i) {
      made.add(new CASEntry(key(), random.nextInt(3) == 0 ? null : value(), value()));
    }
    return made;
  }

  private Acquirer acquirer() {
    Acquirer made = new Acquirer("client" + random.nextInt(2), 50);
    made.setLockingTimestamp(clock += random.nextInt(20));
    made.setFencingToken(random.nextInt(5));
    made.setContext(random.nextBoolean() ? null : value());
    return made;
  }

  private KVOperation lock() {
    return KVOperation.createKeyLockRequest(
        key(), random.nextBoolean() ? null : bytes("region"),
        Pair.of(random.nextInt(4) == 0, acquirer()));
  }

  private byte[] bound() {
    return random.nextInt(6) == 0 ? null : key();
  }

  /** An operation of a kind, and how a store does many of them. */
  private record Kind(
      Supplier<KVOperation> make, BiConsumer<BatchRawKVStore<?>, KVStateOutputList> run) {}

  private List<Kind> kinds() {
    return List.of(
        new Kind(() -> KVOperation.createPut(key(), value()), BatchRawKVStore::batchPut),
        new Kind(() -> KVOperation.createPutIfAbsent(key(), value()),
            BatchRawKVStore::batchPutIfAbsent),
        new Kind(() -> KVOperation.createPutList(entries()), BatchRawKVStore::batchPutList),
        new Kind(() -> KVOperation.createDelete(key()), BatchRawKVStore::batchDelete),
        new Kind(() -> {
          int from = random.nextInt(5);
          return KVOperation.createDeleteRange(bytes("k" + from), bytes("k" + (from + 1)));
        }, BatchRawKVStore::batchDeleteRange),
        new Kind(() -> KVOperation.createDeleteList(keys()), BatchRawKVStore::batchDeleteList),
        new Kind(() -> KVOperation.createGetSequence(key(), 1 + random.nextInt(4)),
            BatchRawKVStore::batchGetSequence),
        new Kind(() -> KVOperation.createResetSequence(key()),
            BatchRawKVStore::batchResetSequence),
        new Kind(this::lock, BatchRawKVStore::batchTryLockWith),
        new Kind(() -> KVOperation.createKeyLockReleaseRequest(key(), acquirer()),
            BatchRawKVStore::batchReleaseLockWith),
        new Kind(() -> KVOperation.createGet(key()), BatchRawKVStore::batchGet),
        new Kind(() -> KVOperation.createMultiGet(keys()), BatchRawKVStore::batchMultiGet),
        new Kind(() -> KVOperation.createContainsKey(key()), BatchRawKVStore::batchContainsKey),
        new Kind(() -> KVOperation.createScan(bound(), bytes("k9x"), random.nextInt(5),
            random.nextBoolean()), BatchRawKVStore::batchScan),
        new Kind(() -> KVOperation.createReverseScan(bound(), bytes("a"), random.nextInt(5),
            random.nextBoolean()), BatchRawKVStore::batchReverseScan),
        new Kind(() -> KVOperation.createGetAndPut(key(), value()),
            BatchRawKVStore::batchGetAndPut),
        new Kind(() -> KVOperation.createCompareAndPut(key(), value(), value()),
            BatchRawKVStore::batchCompareAndPut),
        new Kind(() -> KVOperation.createCompareAndPutAll(swaps()),
            BatchRawKVStore::batchCompareAndPutAll),
        new Kind(() -> KVOperation.createMerge(key(), value()), BatchRawKVStore::batchMerge));
  }

  private static List<String> run(
      BatchRawKVStore<?> store, Kind kind, List<KVOperation> operations) {
    KVStateOutputList states = KVStateOutputList.newInstance();
    List<Answer> answers = new ArrayList<>();
    for (KVOperation operation : operations) {
      Answer answer = new Answer();
      answers.add(answer);
      states.add(KVState.of(operation, answer));
    }
    kind.run().accept(store, states);
    List<String> found = answers.stream().map(Answer::text).toList();
    states.recycle();
    return found;
  }

  @Test
  void answersAreThoseOfTheStoreInMemory() throws Exception {
    MemoryRawKVStore model = new MemoryRawKVStore();
    BraidRawKVStore store = open();
    List<Kind> kinds = kinds();
    int rounds = isNight() ? 200_000 : 5_000;
    for (int i = 0; i < rounds; ++i) {
      Kind kind = kinds.get(random.nextInt(kinds.size()));
      List<KVOperation> operations = new ArrayList<>();
      for (int n = random.nextInt(3) == 0 ? 1 : random.nextInt(8); n >= 0; --n) {
        operations.add(kind.make().get());
      }
      assertEquals(run(model, kind, operations), run(store, kind, operations),
          "BRAID_SEED=" + seed + ", round " + i + ": " + operations);
    }
    assertEquals(dump(model), dump(store), "BRAID_SEED=" + seed);
    assertTrue(!dump(store).isEmpty());
    assertEquals(0, store.getApproximateKeysInRange(bytes("z"), bytes("k8")));
    for (String from : List.of("a", "k0", "k3", "k5x")) {
      assertEquals(model.getApproximateKeysInRange(bytes(from), bytes("k8")),
          store.getApproximateKeysInRange(bytes(from), bytes("k8")));
      assertEquals(text(model.jumpOver(bytes(from), 3)), text(store.jumpOver(bytes(from), 3)));
    }
    mapsOfTheStoreInMemoryAreEmpty(store);
    store.shutdown();
  }

  private static void mapsOfTheStoreInMemoryAreEmpty(BraidRawKVStore store) throws Exception {
    int maps = 0;
    for (Field field : MemoryRawKVStore.class.getDeclaredFields()) {
      if (Map.class.isAssignableFrom(field.getType())) {
        field.setAccessible(true);
        assertTrue(((Map<?, ?>) field.get(store)).isEmpty(), field.getName());
        ++maps;
      }
    }
    assertEquals(4, maps);
  }
}
