// Purpose: merges that are persisted link by link. Thread safety, invariants, persistence: see
// pointer_persistence.h.
#include "compaction/pointer_persistence.h"

#include <array>
#include <atomic>
#include <string>

#include "base/mutants.h"

namespace braid::compaction {

using format::EntryHeader;
using format::EntryPtr;
using format::kMaxHeight;
using format::RedoUpdate;
using index::Damage;
using index::SkipList;

Status PointerPersistence::Commit(const std::vector<RedoUpdate>& updates,
                                  const std::vector<UpdateStep>& steps) {
  if (Status s = CheckUpdates(*pool_, updates); !s.ok()) return s;
  pmem::PersistOps& ops = pool_->ops();
  for (const UpdateStep step : {UpdateStep::kPrepare, UpdateStep::kUnlink, UpdateStep::kLast}) {
    bool any = false;
    for (size_t i = 0; i < updates.size(); ++i) {
      if (steps[i] != step) continue;
      MakeUpdate(pool_, updates[i]);
      any = true;
    }
    if (BRAID_MUTANT(kPointerTowerNotFenced) && step == UpdateStep::kPrepare) continue;
    if (BRAID_MUTANT(kPointerUnlinkNotFenced) && step == UpdateStep::kUnlink) continue;
    if (BRAID_MUTANT(kPointerLastNotFenced) && step == UpdateStep::kLast) continue;
    if (any) ops.Fence();
  }
  return Status::OK();
}

namespace {

uint64_t LoadLink(const uint64_t* link) {
  return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_relaxed);
}

class Settlement {
 public:
  Settlement(pmem::PmemPool* pool, index::Tower source, uint64_t* target)
      : pool_(pool), source_(pool, source), target_(pool, target) {}

  Result<uint64_t> Run() {
    const EntryHeader* unmerged = nullptr;  // the last one
    const EntryHeader* merged = FindBoundary(&unmerged);
    // The own links of the entry under way may be set, to the end of a target that holds nothing
    // behind it. Then only dead entries follow in the source; it leads to one of them again, so
    // that there is something to stop at.
    if (!damage_ && unmerged != nullptr && merged != nullptr &&
        source_.Next(unmerged, &damage_) == nullptr && !BRAID_MUTANT(kPointerEndNotTakenBack)) {
      Store(const_cast<uint64_t*>(unmerged->links()), EntryPtr::To(pool_->OffsetOf(merged)).raw);
    }
    // The key that was under way, and the last one that may lie in the caches of a process that
    // died.
    if (!damage_ && unmerged != nullptr) RepairKey(unmerged);
    if (!damage_ && merged != nullptr) RepairKey(merged);
    if (damage_) return index::DamageStatus(*pool_, damage_.at);
    pool_->ops().Fence();
    if (BRAID_MUTANT(kPointerBoundaryWrong) && unmerged != nullptr) {
      return pool_->OffsetOf(unmerged);
    }
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
    return (entry->state() == format::kStateDead && !BRAID_MUTANT(kPointerDeadNotMerged)) ||
           InTarget(entry);
  }
  const EntryHeader* FindBoundary(const EntryHeader** unmerged);
  void RepairKey(const EntryHeader* of);
  void Store(uint64_t* link, uint64_t value) {
    if (LoadLink(link) != value) pool_->ops().StoreU64(link, value);
    // Equal too: the process that died may not have made it durable.
    Flush(link, sizeof *link);
  }
  void Flush(const void* address, size_t n) {
    if (!BRAID_MUTANT(kPointerRepairNotFlushed)) pool_->ops().Flush(address, n);
  }

  pmem::PmemPool* pool_;
  SkipList source_;
  SkipList target_;
  Damage damage_;
};

/// Goes down the source, to the right as long as the next entry is not merged: by invariant 1 of
/// the header all that are not come before all that are.
const EntryHeader* Settlement::FindBoundary(const EntryHeader** unmerged) {
  index::Tower tower = source_.head();
  const EntryHeader* merged = nullptr;
  for (uint32_t layer = kMaxHeight; layer-- > 0;) {
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

/// Makes the target's entries of the key of `of` live, and its upper layers there lead through just
/// those of them that are tall enough.
void Settlement::RepairKey(const EntryHeader* of) {
  const std::string key(of->key());
  // The links of a source entry that waits may be set already, and be found equal by the merge.
  Flush(of, sizeof *of + of->height() * sizeof(uint64_t));
  uint64_t* before[kMaxHeight];
  index::Tower tower = target_.head();
  for (uint32_t layer = kMaxHeight; layer-- > 0;) {
    const EntryHeader* next = target_.Follow(tower, layer, &damage_);
    for (; !damage_ && next != nullptr && next->key() < key;
         next = target_.Follow(tower, layer, &damage_)) {
      if (tower != target_.head() &&
          !index::InOrder(*(reinterpret_cast<const EntryHeader*>(tower) - 1), *next)) {
        damage_.at = pool_->OffsetOf(next);
      } else {
        tower = next->links();
      }
    }
    if (damage_) return;
    before[layer] = const_cast<uint64_t*>(tower);
  }
  std::vector<EntryHeader*> here;  // what the bottom layer links
  for (const EntryHeader* entry = target_.Follow(before[0], 0, &damage_);
       entry != nullptr && entry->key() == key; entry = target_.Next(entry, &damage_)) {
    if (!here.empty() && !index::InOrder(*here.back(), *entry)) damage_.at = pool_->OffsetOf(entry);
    if (damage_) return;
    here.push_back(const_cast<EntryHeader*>(entry));
  }
  if (damage_) return;
  for (EntryHeader* entry : here) {
    if (entry->state() == format::kStateDead && !BRAID_MUTANT(kPointerDeadNotRevived)) {
      pool_->ops().StoreByte(entry->state_byte(), format::kStateLive);
    }
    Flush(entry, sizeof *entry + sizeof(uint64_t));
  }
  Flush(before[0], sizeof(uint64_t));
  for (uint32_t layer = 1; layer < kMaxHeight && !BRAID_MUTANT(kPointerTowersNotRepaired);
       ++layer) {
    uint64_t* from = before[layer] + layer;
    uint64_t after = LoadLink(from);
    const EntryHeader* previous = nullptr;
    for (const EntryHeader* entry = target_.Follow(before[layer], layer, &damage_);
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
      if (here[i]->height() <= layer) continue;
      Store(here[i]->links() + layer, after);
      after = EntryPtr::To(pool_->OffsetOf(here[i])).raw;
    }
    Store(from, after);
  }
}

}  // namespace

Result<uint64_t> SettleInterruptedMerge(pmem::PmemPool* pool, index::Tower source,
                                        uint64_t* target) {
  return Settlement(pool, source, target).Run();
}

}  // namespace braid::compaction
