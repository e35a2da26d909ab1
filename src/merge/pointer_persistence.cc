// Purpose: merges that are persisted link by link.
// Thread safety, invariants, persistence: see pointer_persistence.h.
#include "merge/pointer_persistence.h"

#include <array>
#include <atomic>
#include <string>

#include "base/check.h"
namespace braid::merge {

using format::EntryHeader;
using format::kMaxHeight;
using format::RedoUpdate;
using index::Damage;
using index::SkipList;

namespace {

media::Site FenceOf(UpdateStep step) noexcept {
  switch (step) {
    case UpdateStep::kPrepare:
      return media::Site::kPointerPrepareFence;
    case UpdateStep::kUnlink:
      return media::Site::kPointerUnlinkFence;
    case UpdateStep::kLast:
      break;
  }
  return media::Site::kPointerLastFence;
}

}  // namespace

Status PointerPersistence::Commit(const std::vector<RedoUpdate>& updates,
                                  const std::vector<UpdateStep>& steps) {
  BRAID_DCHECK(steps.size() == updates.size());
  if (Status s = CheckUpdates(*pool_, updates); !s.ok()) return s;
  media::PersistOps& ops = pool_->ops();
  for (const UpdateStep step : {UpdateStep::kPrepare, UpdateStep::kUnlink, UpdateStep::kLast}) {
    bool any = false;
    for (size_t i = 0; i < updates.size(); ++i) {
      if (steps[i] != step) continue;
      MakeUpdate(pool_, updates[i]);
      any = true;
    }
    if (any) ops.Fence(FenceOf(step));
  }
  return Status::OK();
}

namespace {

uint64_t LoadLink(const uint64_t* link) {
  return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_relaxed);
}

class Settlement {
 public:
  Settlement(pool::PmemPool* pool, uint64_t source, uint64_t target)
      : pool_(pool),
        source_head_(source),
        source_(pool, pool->As<uint64_t>(source)),
        target_head_(target),
        target_(pool, pool->As<uint64_t>(target)) {}

  Result<uint64_t> Run() {
    const EntryHeader* unmerged = nullptr;  // the last one
    const EntryHeader* merged = FindBoundary(0, &unmerged);
    // The own links of the entry under way may be set, to the end of a target that holds nothing
    // behind it. Then only obsolete entries follow in the source, if any; it leads to one of them
    // again, so that there is something to stop at.
    if (!damage_ && unmerged != nullptr && source_.Next(unmerged, &damage_) == nullptr) {
      merged = FindObsolete(merged);
      if (!damage_ && merged != nullptr) LinkTo(unmerged, merged);
    }
    BRAID_DCHECK(damage_ || merged == nullptr || merged != unmerged);
    // The key that was under way, and the last one that may lie in the caches of a process that
    // died.
    if (!damage_ && unmerged != nullptr) RepairKey(unmerged);
    if (!damage_ && merged != nullptr) RepairKey(merged);
    if (damage_) return index::DamageStatus(*pool_, damage_.at);
    pool_->ops().Fence(media::Site::kPointerRepairFence);
    return merged == nullptr ? 0 : pool_->OffsetOf(merged);
  }

 private:
  bool InTarget(const EntryHeader* entry) {
    const std::string_view key = entry->key();
    const EntryHeader* found = target_.FindGE(key, &damage_);
    while (found != nullptr && found->key() == key && found->sequence() > entry->sequence()) {
      found = target_.Next(found, &damage_);
    }
    // A copy has the number of its original, which stands behind it or is replaced by it.
    return found == entry;
  }
  bool IsMerged(const EntryHeader* entry) {
    return entry->state() == format::kStateObsolete || InTarget(entry);
  }
  const EntryHeader* FindBoundary(uint32_t strand, const EntryHeader** unmerged);
  const EntryHeader* FindObsolete(const EntryHeader* first);
  void RepairKey(const EntryHeader* of);
  bool FindBefore(std::string_view key, uint32_t strand, uint64_t* before[kMaxHeight]);
  void RepairLayer(const std::vector<EntryHeader*>& here, std::string_view key, uint32_t strand,
                   uint64_t* before, uint32_t layer);
  void LinkTo(const EntryHeader* from, const EntryHeader* to) {
    Store(const_cast<uint64_t*>(from->links()), pool_->LinkTo(pool_->OffsetOf(to)).raw);
  }
  void Store(uint64_t* link, uint64_t value) {
    if (LoadLink(link) != value) pool_->ops().StoreU64(link, value);
    // Equal too: the process that died may not have made it durable.
    Flush(link, sizeof *link);
  }
  void Flush(const void* address, size_t n) {
    pool_->ops().Flush(address, n, media::Site::kPointerRepair);
  }

  pool::PmemPool* pool_;
  uint64_t source_head_;
  SkipList source_;
  uint64_t target_head_;
  SkipList target_;
  Damage damage_;
};

/// Goes down a strand of the source, to the right as long as the next entry is not merged: by
/// invariant 1 of the header all that are not come before all that are. The bottom layer, which
/// leads through all strands, belongs to strand 0. Returns the first entry found that is merged.
const EntryHeader* Settlement::FindBoundary(uint32_t strand, const EntryHeader** unmerged) {
  index::Tower tower = pool_->As<uint64_t>(pool_->StrandHead(source_head_, strand));
  const EntryHeader* merged = nullptr;
  for (uint32_t layer = kMaxHeight; layer-- > (strand == 0 ? 0u : 1u);) {
    for (;;) {
      const EntryHeader* next = source_.Follow(tower, layer, &damage_);
      if (damage_) return nullptr;
      if (next == nullptr || next == merged) break;
      if (*unmerged != nullptr && !index::InOrder(**unmerged, *next)) {
        damage_.at = pool_->OffsetOf(next);  // perhaps a circle
        return nullptr;
      }
      const bool is_merged = IsMerged(next);
      if (damage_) return nullptr;
      if (is_merged) {
        merged = next;
        break;
      }
      *unmerged = next;
      tower = next->links();
    }
  }
  return merged;
}

/// What upper layers still lead to where the bottom layer ends at the entry under way: the first of
/// `first`, which strand 0 leads to, and what the others do; null when nothing does.
const EntryHeader* Settlement::FindObsolete(const EntryHeader* first) {
  for (uint32_t strand = 1; strand < pool_->strands() && !damage_; ++strand) {
    const EntryHeader* unmerged = nullptr;
    const EntryHeader* found = FindBoundary(strand, &unmerged);
    if (found != nullptr && (first == nullptr || index::InOrder(*found, *first))) first = found;
  }
  return first;
}

/// The towers before `key` in the layers of a strand; the bottom one only for strand 0, which has
/// it.
bool Settlement::FindBefore(std::string_view key, uint32_t strand, uint64_t* before[kMaxHeight]) {
  const auto* head = pool_->As<uint64_t>(pool_->StrandHead(target_head_, strand));
  index::Tower tower = head;
  for (uint32_t layer = kMaxHeight; layer-- > (strand == 0 ? 0u : 1u);) {
    for (;;) {
      const EntryHeader* next = target_.Follow(tower, layer, &damage_);
      if (damage_) return false;
      if (next == nullptr || next->key() >= key) break;
      if (tower != head &&
          !index::InOrder(*(reinterpret_cast<const EntryHeader*>(tower) - 1), *next)) {
        damage_.at = pool_->OffsetOf(next);
        return false;
      }
      tower = next->links();
    }
    before[layer] = const_cast<uint64_t*>(tower);
  }
  return true;
}

/// Makes a layer lead through just those of `here` that are tall enough, and on to the next key.
void Settlement::RepairLayer(const std::vector<EntryHeader*>& here, std::string_view key,
                             uint32_t strand, uint64_t* before, uint32_t layer) {
  BRAID_DCHECK(layer > 0);  // the bottom layer is what the others are made to fit
  uint64_t after = LoadLink(before + layer);
  const EntryHeader* previous = nullptr;
  for (const EntryHeader* entry = target_.Follow(before, layer, &damage_);
       entry != nullptr && entry->key() == key;
       entry = target_.Follow(entry->links(), layer, &damage_)) {
    if (previous != nullptr && !index::InOrder(*previous, *entry)) {
      damage_.at = pool_->OffsetOf(entry);
      return;
    }
    previous = entry;
    after = LoadLink(entry->links() + layer);
  }
  if (damage_) return;
  for (size_t i = here.size(); i-- > 0;) {
    const uint64_t offset = pool_->OffsetOf(here[i]);
    if (here[i]->height() <= layer || pool_->StrandOf(offset) != strand) continue;
    Store(here[i]->links() + layer, after);
    after = pool_->LinkTo(offset).raw;
  }
  Store(before + layer, after);
}

/// Makes the target's entries of the key of `of` live, and its upper layers there lead through just
/// those of them that are tall enough.
void Settlement::RepairKey(const EntryHeader* of) {
  const std::string key(of->key());
  // The links of a source entry that waits may be set already, and be found equal by the merge.
  Flush(of, sizeof *of + of->height() * sizeof(uint64_t));
  uint64_t* before[kMaxHeight];
  if (!FindBefore(key, 0, before)) return;
  std::vector<EntryHeader*> here;  // what the bottom layer links
  for (const EntryHeader* entry = target_.Follow(before[0], 0, &damage_);
       entry != nullptr && entry->key() == key; entry = target_.Next(entry, &damage_)) {
    if (!here.empty() && !index::InOrder(*here.back(), *entry)) damage_.at = pool_->OffsetOf(entry);
    if (damage_) return;
    here.push_back(const_cast<EntryHeader*>(entry));
  }
  if (damage_) return;
  for (EntryHeader* entry : here) {
    if (entry->state() == format::kStateObsolete) {
      pool_->ops().StoreByte(entry->state_byte(), format::kStateLive);
    }
    Flush(entry, sizeof *entry + sizeof(uint64_t));
  }
  Flush(before[0], sizeof(uint64_t));
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    if (strand != 0 && !FindBefore(key, strand, before)) return;
    for (uint32_t layer = 1; layer < kMaxHeight && !damage_; ++layer) {
      RepairLayer(here, key, strand, before[layer], layer);
    }
  }
}

}  // namespace

Result<uint64_t> SettleInterruptedMerge(pool::PmemPool* pool, uint64_t source, uint64_t target) {
  BRAID_DCHECK(source != target && pool->IsHead(source) && pool->IsHead(target));
  return Settlement(pool, source, target).Run();
}

}  // namespace braid::merge
