// Purpose: recovery's inserts and the state machine. Thread safety, invariants, persistence: see
// dram_memtable.h.
#include "memtable/dram_memtable.h"

#include "base/check.h"
#include "base/mutants.h"

namespace braid::memtable {

using format::EntryHeader;
using format::EntryPtr;

void DramMemTable::InsertRecovered(uint64_t offset) {
  auto* entry = pool_->As<EntryHeader>(offset);
  pmem::PersistOps& ops = pool_->ops();
  const auto link_to = [&](EntryHeader* from, uint64_t older) {
    // Not flushed: these links mean nothing after the next crash; the log is replayed again then.
    const uint64_t link = older == 0 ? 0 : pool_->LinkTo(older).raw;
    // Most are as the writer left them, and their lines may stay clean.
    if (std::atomic_ref<uint64_t>(*from->links()).load(std::memory_order_relaxed) == link) return;
    ops.StoreU64(from->links(), link);
  };
  Insert(entry->key(), [&](uint64_t newest) {
    if (newest == 0) {
      link_to(entry, 0);
      return offset;
    }
    auto* current = pool_->As<EntryHeader>(newest);
    const bool is_newest = BRAID_MUTANT(kReplayKeepsOlderVersion)
                               ? current->sequence() > entry->sequence()
                               : current->sequence() <= entry->sequence();
    if (is_newest) {
      link_to(entry, newest);
      return offset;
    }
    for (;;) {
      const EntryPtr next{
          std::atomic_ref<uint64_t>(*current->links()).load(std::memory_order_relaxed)};
      if (next.raw == 0) break;
      auto* older = pool_->As<EntryHeader>(next.offset());
      if (older->sequence() < entry->sequence()) break;
      current = older;
    }
    const EntryPtr behind{
        std::atomic_ref<uint64_t>(*current->links()).load(std::memory_order_relaxed)};
    link_to(entry, behind.raw == 0 ? 0 : behind.offset());
    link_to(current, offset);
    return newest;  // the tree keeps pointing to the newest version
  });
}

index::LookupResult DramMemTable::Get(const index::LookupKey& key,
                                      const index::ReadView& view) const noexcept {
  for (;;) {
    const index::LookupResult result = index::LookupInTree(*pool_, *tree_, key, view);
    const bool known = result.state == index::LookupResult::State::kFound ||
                       result.state == index::LookupResult::State::kDeleted;
    if (!known || view.sequence != index::kLatest) return result;
    const uint8_t unit = pool_->As<EntryHeader>(result.offset)->flags() &
                         (format::kFirstOfUnit | format::kMoreOfUnit);
    if (unit == format::kFirstOfUnit) return result;
    // Of a batch, which may have been published after the tree was asked: then a later update of
    // the same key in the same batch was not there yet. It is now.
    const uint64_t newest = tree_->Find(key.key);
    if (newest == result.offset || !view.Sees(*pool_->As<EntryHeader>(newest))) {
      return result;
    }
  }
}

void DramMemTable::Advance(State next) noexcept {
  const State before = state_.exchange(next, std::memory_order_acq_rel);
  BRAID_CHECK(static_cast<int>(next) == static_cast<int>(before) + 1);
}

}  // namespace braid::memtable
