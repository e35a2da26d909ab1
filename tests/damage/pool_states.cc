#include "pool_states.h"

#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "pool_map.h"
#include "support/child_process.h"
#include "support/region_turns.h"

namespace braid::test {
namespace {

std::string EarlierPath(const std::string& path) { return path + "-earlier"; }

/// Fills one database and remembers what it must hold. Without a database it only remembers: what
/// another process writes.
class Builder {
 public:
  Builder(DB* db, BuiltPool* pool, std::string path, uint64_t seed, const StoreKind& store)
      : db_(db),
        pool_(pool),
        path_(std::move(path)),
        batches_(store.capabilities().atomic_batches),
        random_(seed) {}

  void Put(uint64_t n, size_t size) {
    const std::string key = NumberedKey(n);
    std::string value = key + "#" + std::to_string(writes_++) + "#";
    if (value.size() < size) value += random_.Bytes(size - value.size());
    if (db_ != nullptr) {
      EXPECT_TRUE(IsOk(db_->Put(key, value)));
    }
    Note(key, value);
  }
  void Delete(uint64_t n) {
    const std::string key = NumberedKey(n);
    if (db_ != nullptr) {
      EXPECT_TRUE(IsOk(db_->Delete(key)));
    }
    pool_->content.erase(key);
    pool_->deleted[key] = "";
    pool_->history[key].push_back("(deleted)");
  }
  void Load(uint64_t first, uint64_t count, uint64_t most = 160) {
    for (uint64_t i = 0; i < count; ++i) Put(first + i * 7919 % count, random_.Below(most));
  }
  void Batch(uint64_t first, uint64_t count) {
    WriteBatch batch;
    for (uint64_t i = first; i < first + count; ++i) {
      const std::string key = NumberedKey(i);
      const std::string value = "batch " + std::to_string(writes_++);
      batch.Put(key, value);
      Note(key, value);
      if (db_ != nullptr && !batches_) {
        EXPECT_TRUE(IsOk(db_->Put(key, value)));
      }
    }
    if (db_ != nullptr && batches_) {
      EXPECT_TRUE(IsOk(db_->Write(batch)));
    }
  }
  void Churn(uint64_t keys) {
    for (uint64_t i = 0; i < keys / 3; ++i) {
      const uint64_t n = random_.Below(keys);
      if (random_.OneIn(3)) {
        Delete(n);
      } else {
        Put(n, random_.Below(200));
      }
    }
  }
  uint64_t RandomSize(uint64_t low, uint64_t high) { return random_.Between(low, high); }
  void Flush() {
    if (db_ != nullptr) {
      EXPECT_TRUE(IsOk(db_->Flush()));
    }
  }
  void Compact() {
    if (db_ != nullptr) {
      EXPECT_TRUE(IsOk(db_->Compact()));
    }
  }
  /// Half-way: keeps the files as they are now. Each page is one that the pool once had.
  void KeepEarlier() {
    if (db_ != nullptr) {
      EXPECT_TRUE(PoolImage(path_).WriteTo(EarlierPath(path_)));
    }
  }

 private:
  void Note(const std::string& key, const std::string& value) {
    pool_->content[key] = value;
    pool_->deleted.erase(key);
    pool_->history[key].push_back(value);
  }

  DB* db_;
  BuiltPool* pool_;
  std::string path_;
  const bool batches_;
  Random random_;
  uint64_t writes_ = 0;
};

// Long: a case a state.
void Fill(PoolState state, Builder* builder) {
  constexpr uint64_t kKeys = 3000;
  switch (state) {
    case PoolState::kMemtable:
      builder->Load(0, kKeys);
      builder->KeepEarlier();
      builder->Churn(kKeys);
      break;
    case PoolState::kTables:
      for (uint64_t part = 0; part < 5; ++part) {
        builder->Load(part * 500, 1000);
        builder->Flush();
        if (part == 3) builder->KeepEarlier();
      }
      builder->Churn(kKeys);
      builder->Flush();
      break;
    case PoolState::kMerged:
      builder->Load(0, kKeys);
      builder->KeepEarlier();
      builder->Churn(kKeys);
      builder->Compact();
      break;
    case PoolState::kMixed:
    case PoolState::kKilled:
    case PoolState::kRegions:
      builder->Load(0, kKeys);
      builder->Compact();
      builder->Churn(kKeys);
      builder->Flush();
      builder->KeepEarlier();
      builder->Batch(100, 200);
      for (uint64_t i = 0; i < 4; ++i) builder->Put(i * 700, 20000 + i * 9000);
      if (state != PoolState::kKilled) builder->Flush();
      builder->Churn(kKeys);
      builder->Batch(2900, 300);
      break;
    case PoolState::kExtents:
      for (uint64_t i = 0; i < 40; ++i) builder->Put(i, builder->RandomSize(4000, 60000));
      builder->Compact();
      builder->KeepEarlier();
      for (uint64_t i = 0; i < 15; ++i) builder->Put(i * 3, builder->RandomSize(4000, 60000));
      for (uint64_t i = 1; i < 5; ++i) builder->Delete(i * 7);
      break;
    case PoolState::kCollected:
    case PoolState::kMidCopies:
      builder->Load(0, kKeys, 300);
      builder->Compact();
      if (state == PoolState::kMidCopies) builder->KeepEarlier();
      for (uint64_t i = 0; i < kKeys; ++i) {
        if (i % 4 != 0) builder->Delete(i);
      }
      if (state == PoolState::kMidCopies) break;  // it is killed within the Compact that follows
      builder->Compact();
      builder->KeepEarlier();
      builder->Churn(kKeys);
      break;
    case PoolState::kSegments:
      builder->Load(0, kKeys, 1500);
      builder->KeepEarlier();
      builder->Churn(kKeys);
      break;
    case PoolState::kMidMerge:
      builder->Load(0, kKeys);
      builder->Compact();
      builder->KeepEarlier();
      for (int part = 0; part < 4; ++part) {
        builder->Churn(kKeys);
        builder->Flush();
      }
      builder->Churn(300);
      break;
  }
}

Options BuildOptions(PoolState state, const StoreKind& store) {
  Options options = DamageOptions(store);
  if (state == PoolState::kMemtable || state == PoolState::kTables || state == PoolState::kKilled ||
      state == PoolState::kMidMerge) {
    options.memtable.bytes = 16ull << 20;
  }
  if (state == PoolState::kTables || state == PoolState::kMidMerge) {
    options.compaction.l0_trigger = 12;
  }
  // Else all of L0 and L1 would be merged by copies, which is no merge that is open.
  if (state == PoolState::kMidMerge && options.design == "braid" && !options.log.kind) {
    options.log.kind = LogKind::kIndexUnified;
  }
  if (state == PoolState::kCollected || state == PoolState::kMidCopies) options.log.shards = 1;
  if (state == PoolState::kRegions) {
    options.pool.regions = 3;
    options.log.shards = 3;
    TakeRegionsInTurns();
  }
  // Which bytes a process leaves that is not closed must not depend on its threads.
  if (state == PoolState::kKilled) options.background_threads = false;
  return options;
}

/// Fills the pool in a process that ends without closing it.
bool FillAndDie(PoolState state, const std::string& path, uint64_t seed, uint64_t micros,
                const StoreKind& store) {
  const ChildOutcome outcome = RunInChild(60, [&](int) {
    Result<std::unique_ptr<DB>> opened = DB::Open(BuildOptions(state, store), path);
    if (!opened.ok()) return 1;
    DB* db = opened.value().release();  // never closed
    BuiltPool unused;
    Builder builder(db, &unused, path, seed, store);
    Fill(state, &builder);
    if (state == PoolState::kKilled) return 0;
    std::atomic<bool> ended{false};
    std::thread killer([&] {
      constexpr auto kCollect = static_cast<size_t>(BackgroundWork::kCollect);
      while (state == PoolState::kMidCopies && !ended.load() &&
             db->GetStatistics().work_running[kCollect] == 0) {
        std::this_thread::yield();
      }
      std::this_thread::sleep_for(std::chrono::microseconds(micros));
      ::kill(::getpid(), SIGKILL);
    });
    const Status compacted = db->Compact();
    ended.store(true);
    killer.join();
    return compacted.ok() ? 0 : 1;
  });
  return outcome.exit_code == 0 || outcome.signal == SIGKILL;
}

/// Whether the process ended in the middle of what the state is about.
bool EndedInTime(PoolState state, const PoolImage& image) {
  if (state == PoolState::kMidMerge) return PoolMap(image).merge_id() != 0;
  if (state == PoolState::kMidCopies) return PoolMap(image).copies_id() != 0;
  return true;
}

/// A pool whose process ended.
void BuildUnclosed(PoolState state, const std::string& path, uint64_t seed, const StoreKind& store,
                   BuiltPool* pool) {
  Builder model(nullptr, pool, path, seed, store);
  Fill(state, &model);
  // Beside other work most attempts end too early or too late, so that they get some time as well.
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const auto is_time = [&] { return std::chrono::steady_clock::now() < end; };
  for (uint64_t attempt = 0; attempt < 400 || is_time(); ++attempt) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    const uint64_t micros = (50 + attempt % 40 * 50) * (kSanitizer ? 5 : 1);
    if (!FillAndDie(state, path, seed, micros, store)) break;
    pool->image = PoolImage(path);
    if (EndedInTime(state, pool->image)) return;
  }
  ADD_FAILURE() << "no pool in the state " << PoolStateName(state) << " came about";
}

}  // namespace

const char* PoolStateName(PoolState state) {
  static const char* const kNames[] = {"Memtable", "Tables",    "Merged",   "Mixed",
                                       "Extents",  "Collected", "Segments", "Killed",
                                       "MidMerge", "Regions",   "MidCopies"};
  return kNames[static_cast<int>(state)];
}

Options DamageOptions() {
  Options options = TinyOptions();
  options.memory_budget_bytes = 64ull << 20;
  return options;
}

Options DamageOptions(const StoreKind& store) {
  Options options = DamageOptions();
  store.ApplyTo(&options);
  return options;
}

BuiltPool BuildPool(PoolState state, const std::string& path, uint64_t seed,
                    const StoreKind& store) {
  BuiltPool pool;
  if (EndsUnclosed(state)) {
    BuildUnclosed(state, path, seed, store, &pool);
  } else {
    const std::unique_ptr<DB> db = OpenOrFail(BuildOptions(state, store), path);
    if (db == nullptr) return pool;
    Builder builder(db.get(), &pool, path, seed, store);
    Fill(state, &builder);
    ExpectContent(db.get(), pool.content);
    EXPECT_TRUE(IsOk(db->Close()));
    pool.image = PoolImage(path);
  }
  pool.earlier = PoolImage(EarlierPath(path));
  return pool;
}

}  // namespace braid::test
