// Purpose: the kinds of EntryIndex.
// Thread safety, invariants, persistence: see entry_index.h.
#include "index/entry_index.h"

#include <algorithm>

#include "base/check.h"
#include "base/epoch.h"
#include "index/dram_btree.h"
#include "index/dram_skiplist.h"
#include "index/entry_tree.h"

namespace braid::index {

namespace {

/// `Map` is DramBTree or DramSkipList.
template <class Map>
class MapIndex final : public EntryIndex {
 public:
  template <class... Arguments>
  explicit MapIndex(const pool::PmemPool& pool, Arguments&&... arguments)
      : users_(&pool.memory_users()), map_(std::forward<Arguments>(arguments)...) {
    users_->Add(this);
  }
  ~MapIndex() override { users_->Remove(this); }

  uint64_t Upsert(std::string_view key, Commit commit) override { return map_.Upsert(key, commit); }
  void Append(std::string_view key, uint64_t offset) override {
    if constexpr (requires { map_.Append(key, offset); }) {
      map_.Append(key, offset);
    } else {
      map_.Upsert(key, [offset](uint64_t) { return offset; });
    }
  }
  size_t ReplaceRun(std::string_view key, const Replacement* run, size_t n) override {
    if (n == 0) return 0;
    if constexpr (requires { map_.ReplaceRun(key, run, n); }) {
      return map_.ReplaceRun(key, run, n);
    } else {
      const uint64_t old = map_.Upsert(
          key, [&](uint64_t here) { return here == run->from ? run->to : uint64_t{0}; });
      return old == run->from ? 1 : 0;
    }
  }
  bool EraseIf(std::string_view key, Predicate predicate) override {
    return map_.EraseIf(key, predicate);
  }
  uint64_t Find(std::string_view key) const override { return map_.Find(key); }
  uint64_t FindFloor(std::string_view key) const override { return map_.FindFloor(key); }
  void FindMany(const std::string_view* keys, uint64_t* refs, size_t n) const override {
    if constexpr (requires { map_.FindMany(keys, refs, n); }) {
      map_.FindMany(keys, refs, n);
    } else {
      for (size_t i = 0; i < n; ++i) refs[i] = map_.Find(keys[i]);
    }
  }
  size_t ScanForward(std::string_view key, bool inclusive, uint64_t* out,
                     size_t cap) const override {
    return map_.ScanForward(key, inclusive, out, cap);
  }
  size_t ScanBackward(std::string_view key, bool inclusive, uint64_t* out,
                      size_t cap) const override {
    return map_.ScanBackward(key, inclusive, out, cap);
  }
  size_t ScanBefore(std::string_view key, uint64_t* out, size_t cap,
                    Finger* finger) const override {
    if constexpr (requires { map_.ScanBefore(key, out, cap, finger); }) {
      return map_.ScanBefore(key, out, cap, finger);
    } else {
      return map_.ScanBackward(key, false, out, cap);
    }
  }
  size_t ScanKeyed([[maybe_unused]] const ScanStart& start, [[maybe_unused]] KeyedRefs* out,
                   [[maybe_unused]] size_t cap) const override {
    if constexpr (kKnowsKeys) {
      return map_.ScanKeyed(start, out, cap);
    } else {
      BRAID_CHECK(kKnowsKeys);
      return 0;
    }
  }
  bool knows_keys() const noexcept override { return kKnowsKeys; }
  bool is_empty() const override {
    if constexpr (requires { map_.is_empty(); }) {
      return map_.is_empty();
    } else {
      return map_.size() == 0;
    }
  }
  size_t ScanFromStart(uint64_t* out, size_t cap) const override {
    return map_.ScanFromStart(out, cap);
  }
  size_t ScanFromEnd(uint64_t* out, size_t cap) const override {
    return map_.ScanFromEnd(out, cap);
  }
  size_t size() const override { return map_.size(); }
  size_t memory_bytes() const override { return map_.reserved_bytes(); }
  size_t used_bytes() const override { return map_.memory_bytes(); }
  void ReclaimNodes(size_t least) noexcept override {
    if constexpr (requires { map_.TakeRetired(); }) {
      if (map_.retired_bytes() < std::max<size_t>(least, 1)) return;
      auto retired = map_.TakeRetired();
      base::SynchronizeEpoch();
      map_.Reuse(retired);
    }
  }

 private:
  static constexpr bool kKnowsKeys = requires(const Map& map, KeyedRefs* out) {
    map.ScanKeyed(ScanStart{}, out, size_t{});
  };

  base::MemoryUsers* users_;
  Map map_;
};

}  // namespace

std::shared_ptr<EntryIndex> NewEntryIndex(const pool::PmemPool* pool, MemTableKind kind) {
  // Persistent memtables are read back into DRAM.
  if (kind != MemTableKind::kBTree) return std::make_shared<MapIndex<DramSkipList>>(*pool);
  return std::make_shared<MapIndex<DramBTree<EntryKeyOf>>>(*pool, EntryKeyOf(pool));
}

}  // namespace braid::index
