package com.alipay.sofa.jraft.rhea.storage;

import com.alipay.sofa.jraft.Status;
import com.alipay.sofa.jraft.rhea.errors.Errors;
import com.alipay.sofa.jraft.rhea.util.ByteArray;
import com.alipay.sofa.jraft.rhea.util.concurrent.DistributedLock.Owner;
import io.braid.BraidOptions;
import io.braid.testing.Folders;
import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/** What tests of the store have in common: pools, calls with their answers, answers as text. */
@SuppressWarnings("try") // RheaKV's iterators may be interrupted, these are not
class StoreCase extends Folders {
  /** Takes the answer. */
  static final class Answer implements KVStoreClosure {
    private Errors error;
    private Object data;
    private Status status;

    @Override
    public void run(Status given) {
      status = given;
    }

    @Override
    public Errors getError() {
      return error;
    }

    @Override
    public void setError(Errors given) {
      error = given;
    }

    @Override
    public Object getData() {
      return data;
    }

    @Override
    public void setData(Object given) {
      data = given;
    }

    /** As text, so that answers of two stores can be compared. */
    String text() {
      if (status == null) {
        return "no answer, " + error;
      }
      return status.isOk() ? show(data) : "failed: " + status.getErrorMsg();
    }
  }

  static BraidOptions small() {
    BraidOptions options = new BraidOptions();
    options.set("memory_budget_bytes", "32M").set("memtable.bytes", "256K");
    return options;
  }

  static Pool pool(File folder) {
    return new Pool(new File(folder, "pool"), "a test", small(), false);
  }

  BraidRawKVStore open() throws Exception {
    return open(folder());
  }

  static BraidRawKVStore open(File folder) {
    BraidRawKVStore store = new BraidRawKVStore(pool(folder));
    store.init(null);
    return store;
  }

  static Answer ask(Consumer<KVStoreClosure> call) {
    Answer answer = new Answer();
    call.accept(answer);
    return answer;
  }

  static String get(RawKVStore store, String key) {
    return text((byte[]) ask(answer -> store.get(bytes(key), answer)).data);
  }

  static String show(Object data) {
    if (data instanceof byte[] bytes) {
      return "\"" + text(bytes) + "\"";
    }
    if (data instanceof List<?> list) {
      return list.stream().map(StoreCase::show).toList().toString();
    }
    if (data instanceof KVEntry entry) {
      return text(entry.getKey()) + "=" + text(entry.getValue());
    }
    if (data instanceof Map<?, ?> map) {
      Map<String, String> sorted = new TreeMap<>();
      map.forEach((key, value) -> sorted.put(
          text(((ByteArray) key).getBytes()), show(value)));
      return sorted.toString();
    }
    if (data instanceof Owner owner) {
      return owner.getId() + " until " + owner.getDeadlineMillis() + " remaining "
          + owner.getRemainingMillis() + " token " + owner.getFencingToken() + " acquires "
          + owner.getAcquires() + " context " + Arrays.toString(owner.getContext()) + " success "
          + owner.isSuccess();
    }
    return String.valueOf(data);
  }

  /** All data, in order. */
  static List<String> dump(RawKVStore store) {
    List<String> found = new ArrayList<>();
    try (KVIterator iterator = store.localIterator()) {
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        found.add(text(iterator.key()) + "=" + text(iterator.value()));
      }
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    return found;
  }
}
