// Purpose: lookups and cursors of a table.
// Thread safety, invariants, persistence: see pmem_table.h.
#include "level/pmem_table.h"

#include <cstring>
#include <optional>
#include <utility>

#include "base/check.h"
#include "index/tree_cursor.h"

namespace braid::level {

using format::EntryHeader;
using index::EntryIndex;
using index::LookupResult;

PmemTable::PmemTable(pool::PmemPool* pool, const format::TableRecord& record, bool verify)
    : Table(record.id),
      pool_(pool),
      record_(record),
      verify_(verify),
      entries_(record.entries),
      max_sequence_(record.max_sequence),
      is_counted_((record.flags & format::kEntriesNotCounted) == 0) {
  BRAID_DCHECK(pool->IsHead(head_offset()));
  for (uint32_t strand = 0; never_changes() && strand < pool->strands(); ++strand) {
    std::memcpy(&head_copies_[strand], pool->At(pool->StrandHead(head_offset(), strand)),
                sizeof head_copies_[strand]);
  }
}

KeyRange PmemTable::range() {
  if (range_.is_known) return range_;
  index::Damage damage;
  const EntryHeader* const first = list().First(&damage);
  const EntryHeader* const last = first == nullptr ? nullptr : list().FindLast(&damage);
  if (last == nullptr || damage || last->key() < first->key()) return {};
  range_ = {first->key(), last->key(), true};
  return range_;
}

format::TableRecord PmemTable::record() const noexcept {
  format::TableRecord record = record_;
  record.entries = entries();
  constexpr uint16_t kNotCounted = format::kEntriesNotCounted;
  record.flags = static_cast<uint16_t>(is_counted() ? record.flags & ~kNotCounted
                                                    : record.flags | kNotCounted);
  record.max_sequence = max_sequence();
  return record;
}

index::Tower PmemTable::head(uint32_t strand) const noexcept {
  BRAID_DCHECK(strand < pool_->strands());
  return never_changes() ? head_copies_[strand].links
                         : reinterpret_cast<const uint64_t*>(
                               pool_->At(pool_->StrandHead(head_offset(), strand)));
}

index::SkipList PmemTable::list() const noexcept {
  return index::SkipList(pool_, head(0), head(pool_->StrandOfThread()), verify_);
}

void PmemTable::SetBound(std::string_view last) {
  if (is_bounded_.load(std::memory_order_relaxed)) return;
  bound_ = last;
  is_bounded_.store(true, std::memory_order_release);  // pairs with IsWithinBound
}

LookupResult PmemTable::Get(const index::LookupKey& key,
                            const index::ReadView& view) const noexcept {
  const LookupResult result = Search(key, view);
  if (result.state == LookupResult::State::kAbsent || IsWithinBound(key.key)) return result;
  return {};
}

LookupResult PmemTable::Search(const index::LookupKey& key,
                               const index::ReadView& view) const noexcept {
  const auto [tree, min_height] = Shown();
  if (tree == nullptr) return list().Lookup(key, view);
  if (min_height == 1) {
    const LookupResult result = index::LookupInTree(*pool_, *tree, key, view);
    // A merge changes the tree after the list. Where it has just dropped a key, the tree may still
    // name what the list no longer holds; the obsolete mark tells.
    if (result.state != LookupResult::State::kFound ||
        pool_->As<EntryHeader>(result.value.offset())->state() != format::kStateObsolete) {
      return result;
    }
    return list().Lookup(key, view);
  }
  const uint64_t floor = tree->FindFloor(key.key);
  if (floor == 0) return list().Lookup(key, view);
  const auto* start = reinterpret_cast<const EntryHeader*>(pool_->At(floor));
  // One that a merge has just unlinked leads past what the merge put in its place.
  if (start->state() == format::kStateObsolete) return list().Lookup(key, view);
  return list().LookupFrom(start, key, view);
}

void PmemTable::GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
                        LookupResult* out) const noexcept {
  const auto [tree, min_height] = Shown();
  if (tree == nullptr || min_height != 1) {
    for (size_t i = 0; i < n; ++i) out[i] = Get(keys[i], view);
    return;
  }
  index::LookupManyInTree(*pool_, *tree, keys, n, view, out);
  for (size_t i = 0; i < n; ++i) {
    if (out[i].state == LookupResult::State::kFound &&
        pool_->As<EntryHeader>(out[i].value.offset())->state() == format::kStateObsolete) {
      out[i] = Search(keys[i], view);  // see there
    }
    if (out[i].state != LookupResult::State::kAbsent && !IsWithinBound(keys[i].key)) out[i] = {};
  }
}

std::shared_ptr<const EntryIndex> PmemTable::WholeTree() const {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(Shown().tree == tree_owner_.get());
  return Shown().min_height == 1 ? tree_owner_ : nullptr;
}

std::unique_ptr<index::Cursor> PmemTable::NewCursor(const index::ReadView& view) const {
  if (auto tree = WholeTree(); tree != nullptr) {
    return index::NewTreeCursor(pool_, {{std::move(tree)}}, view);
  }
  return index::NewListCursor(list(), shared_from_this(), view);
}

std::optional<index::TreeSource> PmemTable::AsTree() const {
  auto tree = WholeTree();
  if (tree == nullptr || !tree->knows_keys()) return std::nullopt;
  return index::TreeSource{std::move(tree), nullptr, entries()};
}

std::shared_ptr<const EntryIndex> PmemTable::tree() const {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(Shown().tree == tree_owner_.get());  // who keeps it keeps what lookups use
  return tree_owner_;
}

void PmemTable::set_tree(std::shared_ptr<const EntryIndex> tree, uint32_t min_height) {
  std::shared_ptr<const EntryIndex> old;
  const base::MutexLock lock(mutex_);
  const auto address = reinterpret_cast<uintptr_t>(tree.get());
  BRAID_CHECK((address & kHeightMask) == 0 && min_height <= kHeightMask);
  BRAID_DCHECK(tree == nullptr || min_height >= 1);
  shown_.store(address | min_height, std::memory_order_release);
  old.swap(tree_owner_);
  tree_owner_ = std::move(tree);
  BRAID_DCHECK(Shown().tree == tree_owner_.get() && Shown().min_height == min_height);
}

}  // namespace braid::level
