#include "pool_states.h"

namespace braid::test {
namespace {

/// Fills one database and remembers what it must hold.
class Builder {
 public:
  Builder(DB* db, BuiltPool* pool, uint64_t seed) : db_(db), pool_(pool), random_(seed) {}

  void Put(uint64_t n, size_t size) {
    const std::string key = NumberedKey(n);
    std::string value = key + "#" + std::to_string(writes_++) + "#";
    if (value.size() < size) value += random_.Bytes(size - value.size());
    EXPECT_TRUE(IsOk(db_->Put(key, value)));
    pool_->content[key] = value;
    pool_->deleted.erase(key);
  }
  void Delete(uint64_t n) {
    const std::string key = NumberedKey(n);
    EXPECT_TRUE(IsOk(db_->Delete(key)));
    pool_->content.erase(key);
    pool_->deleted[key] = "";
  }
  void Load(uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) Put(first + i * 7919 % count, random_.Below(160));
  }
  void Batch(uint64_t first, uint64_t count) {
    WriteBatch batch;
    for (uint64_t i = first; i < first + count; ++i) {
      const std::string key = NumberedKey(i);
      const std::string value = "batch " + std::to_string(writes_++);
      batch.Put(key, value);
      pool_->content[key] = value;
      pool_->deleted.erase(key);
    }
    EXPECT_TRUE(IsOk(db_->Write(batch)));
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

 private:
  DB* db_;
  BuiltPool* pool_;
  Random random_;
  uint64_t writes_ = 0;
};

void Fill(PoolState state, DB* db, Builder* builder) {
  constexpr uint64_t kKeys = 3000;
  switch (state) {
    case PoolState::kMemtable:
      builder->Load(0, kKeys);
      builder->Churn(kKeys);
      break;
    case PoolState::kTables:
      for (uint64_t part = 0; part < 5; ++part) {
        builder->Load(part * 500, 1000);
        EXPECT_TRUE(IsOk(db->Flush()));
      }
      builder->Churn(kKeys);
      EXPECT_TRUE(IsOk(db->Flush()));
      break;
    case PoolState::kMerged:
      builder->Load(0, kKeys);
      builder->Churn(kKeys);
      EXPECT_TRUE(IsOk(db->Compact()));
      break;
    case PoolState::kMixed:
      builder->Load(0, kKeys);
      EXPECT_TRUE(IsOk(db->Compact()));
      builder->Churn(kKeys);
      EXPECT_TRUE(IsOk(db->Flush()));
      builder->Batch(100, 200);
      for (uint64_t i = 0; i < 4; ++i) builder->Put(i * 700, 20000 + i * 9000);
      EXPECT_TRUE(IsOk(db->Flush()));
      builder->Churn(kKeys);
      builder->Batch(2900, 300);
      break;
    case PoolState::kExtents:
      for (uint64_t i = 0; i < 40; ++i) builder->Put(i, builder->RandomSize(4000, 60000));
      EXPECT_TRUE(IsOk(db->Compact()));
      for (uint64_t i = 0; i < 15; ++i) builder->Put(i * 3, builder->RandomSize(4000, 60000));
      for (uint64_t i = 1; i < 5; ++i) builder->Delete(i * 7);
      break;
  }
}

}  // namespace

const char* PoolStateName(PoolState state) {
  static const char* const kNames[] = {"Memtable", "Tables", "Merged", "Mixed", "Extents"};
  return kNames[static_cast<int>(state)];
}

Options DamageOptions() {
  Options options = TinyOptions();
  options.memory_budget_bytes = 64ull << 20;
  return options;
}

BuiltPool BuildPool(PoolState state, const std::string& path, uint64_t seed) {
  BuiltPool pool;
  Options options = DamageOptions();
  if (state == PoolState::kMemtable) options.memtable.bytes = 16ull << 20;
  if (state == PoolState::kTables) {
    options.memtable.bytes = 16ull << 20;
    options.compaction.l0_trigger = 12;
  }
  const std::unique_ptr<DB> db = OpenOrFail(options, path);
  if (db == nullptr) return pool;
  Builder builder(db.get(), &pool, seed);
  Fill(state, db.get(), &builder);
  ExpectContent(db.get(), pool.content);
  EXPECT_TRUE(IsOk(db->Close()));
  pool.image = PoolImage(path);
  return pool;
}

}  // namespace braid::test
