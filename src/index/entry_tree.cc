// Purpose: version walks, lookups and cursors over an EntryIndex. Thread safety, invariants,
// persistence: see entry_tree.h.
#include "index/entry_tree.h"

namespace braid::index {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;

namespace {

uint64_t LoadLink(const uint64_t* link) noexcept {
  // Acquire pairs with the release store of whoever published the entry behind the link.
  return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_acquire);
}

}  // namespace

VersionWalk FindVersion(const pmem::PmemPool& pool, uint64_t newest,
                        const ReadView& view) noexcept {
  // The offset was checked when it came into the tree; its chunk, or its bytes, may be others now.
  const EntryHeader* entry = pool.EntryAt(newest);
  if (entry == nullptr) return {nullptr, newest};
  if (view.Sees(*entry)) return {entry, 0};
  const std::string_view key = entry->key();
  uint64_t sequence = entry->sequence();
  for (;;) {
    const EntryPtr next{LoadLink(entry->links())};
    if (next.raw == 0 || next.IsEnd()) return {};
    if (!next.IsValid()) return {nullptr, pool.OffsetOf(entry)};
    const EntryHeader* older = pool.EntryAt(next.offset());
    if (older == nullptr) return {nullptr, pool.OffsetOf(entry)};
    if (older->key() != key) return {};
    // Versions fall strictly, so that a damaged list cannot hold a reader in a circle.
    if (older->sequence() >= sequence) return {nullptr, next.offset()};
    if (view.Sees(*older)) return {older, 0};
    sequence = older->sequence();
    entry = older;
  }
}

LookupResult LookupInTree(const pmem::PmemPool& pool, const EntryIndex& tree, const LookupKey& key,
                          const ReadView& view) noexcept {
  const uint64_t newest = tree.Find(key.key);
  if (newest == 0) return {};
  const VersionWalk walk = FindVersion(pool, newest, view);
  if (walk.corrupt_at != 0) return {LookupResult::State::kCorrupt, walk.corrupt_at};
  if (walk.entry == nullptr) return {};
  const uint64_t offset = pool.OffsetOf(walk.entry);
  if (!KeyIsIntact(pool, *walk.entry, offset, key.hash)) {
    return {LookupResult::State::kCorrupt, offset};
  }
  return {walk.entry->op() == EntryOp::kDelete ? LookupResult::State::kDeleted
                                               : LookupResult::State::kFound,
          offset};
}

namespace {

/// Iterates by copying one leaf at a time; a key is enough to go on, whatever happened to the tree.
class TreeCursor final : public Cursor {
 public:
  TreeCursor(const pmem::PmemPool* pool, std::shared_ptr<const EntryIndex> tree,
             const ReadView& view)
      : pool_(pool), tree_(std::move(tree)), view_(view) {}

  bool Valid() const override { return entry_ != nullptr; }
  void SeekToFirst() override {
    forward_ = true;
    Load(tree_->ScanFromStart(refs_, kCapacity));
  }
  void SeekToLast() override {
    forward_ = false;
    Load(tree_->ScanFromEnd(refs_, kCapacity));
  }
  void SeekGE(std::string_view key) override { Restart(key, true, true); }
  void SeekLE(std::string_view key) override { Restart(key, true, false); }
  void Next() override { Step(true); }
  void Prev() override { Step(false); }
  const EntryHeader* entry() const override { return entry_; }
  std::string_view key() const override { return pool_->KeyAt(pool_->OffsetOf(entry_)); }
  Status status() const override { return status_; }

 private:
  static constexpr size_t kCapacity = 64;

  void Restart(std::string_view key, bool inclusive, bool forward) {
    forward_ = forward;
    Load(forward ? tree_->ScanForward(key, inclusive, refs_, kCapacity)
                 : tree_->ScanBackward(key, inclusive, refs_, kCapacity));
  }

  void Load(size_t count) {
    count_ = count;
    position_ = 0;
    // The entries of a leaf lie anywhere in the pool: fetch them side by side.
    for (size_t i = 0; i < count; ++i) __builtin_prefetch(pool_->At(refs_[i]));
    SettleFrom();
  }

  void Step(bool forward) {
    if (forward != forward_) {
      const std::string from(key());
      Restart(from, false, forward);
      return;
    }
    ++position_;
    SettleFrom();
  }

  /// So that the walk ends whatever becomes of keys in a hostile pool.
  bool IsFarther(uint64_t offset, std::string_view key) const {
    const int order = EntryKeyOf(pool_)(offset).compare(key);
    return forward_ ? order > 0 : order < 0;
  }

  /// Makes entry_ the first visible version from position_ on, refilling as needed.
  void SettleFrom() {
    for (;;) {
      for (; position_ < count_; ++position_) {
        const VersionWalk walk = FindVersion(*pool_, refs_[position_], view_);
        if (walk.corrupt_at != 0) {
          entry_ = nullptr;
          status_ =
              pool_->CorruptionAt(walk.corrupt_at, "version link", "its check does not match");
          return;
        }
        if (walk.entry != nullptr) {
          entry_ = walk.entry;
          return;
        }
      }
      entry_ = nullptr;
      // The next leaf is found by a key in the pool; where that is lost the walk would not end.
      if (pool_->failed()) status_ = pool_->FaultStatus();
      if (count_ == 0 || !status_.ok()) return;
      const uint64_t last = refs_[count_ - 1];
      const std::string_view key = EntryKeyOf(pool_)(last);
      count_ = forward_ ? tree_->ScanForward(key, false, refs_, kCapacity)
                        : tree_->ScanBackward(key, false, refs_, kCapacity);
      position_ = 0;
      if (count_ != 0 && !IsFarther(refs_[count_ - 1], key)) {
        status_ = pool_->CorruptionAt(last, "entry", "its key is out of order");
        count_ = 0;
        return;
      }
      for (size_t i = 0; i < count_; ++i) __builtin_prefetch(pool_->At(refs_[i]));
    }
  }

  const pmem::PmemPool* pool_;
  std::shared_ptr<const EntryIndex> tree_;
  ReadView view_;
  uint64_t refs_[kCapacity];
  size_t count_ = 0;
  size_t position_ = 0;
  bool forward_ = true;
  const EntryHeader* entry_ = nullptr;
  Status status_;
};

}  // namespace

std::unique_ptr<Cursor> NewTreeCursor(const pmem::PmemPool* pool,
                                      std::shared_ptr<const EntryIndex> tree,
                                      const ReadView& view) {
  return std::make_unique<TreeCursor>(pool, std::move(tree), view);
}

}  // namespace braid::index
