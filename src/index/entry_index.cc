// Purpose: the kinds of EntryIndex. Thread safety, invariants, persistence: see entry_index.h.
#include "index/entry_index.h"

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
  explicit MapIndex(const pmem::PmemPool& pool, Arguments&&... arguments)
      : users_(&pool.memory_users()), map_(std::forward<Arguments>(arguments)...) {
    users_->Add(this);
  }
  ~MapIndex() override { users_->Remove(this); }

  uint64_t Upsert(std::string_view key, Commit commit) override { return map_.Upsert(key, commit); }
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
  size_t ScanFromStart(uint64_t* out, size_t cap) const override {
    return map_.ScanFromStart(out, cap);
  }
  size_t ScanFromEnd(uint64_t* out, size_t cap) const override {
    return map_.ScanFromEnd(out, cap);
  }
  size_t size() const override { return map_.size(); }
  size_t memory_bytes() const override { return map_.reserved_bytes(); }

 private:
  base::MemoryUsers* users_;
  Map map_;
};

}  // namespace

std::shared_ptr<EntryIndex> NewEntryIndex(const pmem::PmemPool* pool, MemTableKind kind) {
  if (kind == MemTableKind::kSkipList) return std::make_shared<MapIndex<DramSkipList>>(*pool);
  return std::make_shared<MapIndex<DramBTree<EntryKeyOf>>>(*pool, EntryKeyOf(pool));
}

}  // namespace braid::index
