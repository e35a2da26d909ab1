// Purpose: inserting what was read from logs.
// Thread safety, invariant, persistence: see recovered_entries.h.
#include "memtable/recovered_entries.h"

#include "base/check.h"
namespace braid::memtable {

using format::EntryHeader;
using format::EntryPtr;

void RecoveredEntries::Insert(uint64_t offset) {
  // Who has read it has looked where it lies; what lies there may have been lost since.
  BRAID_DCHECK(offset % 8 == 0 && pool_->IsEntryRoom(offset, sizeof(EntryHeader)));
  auto* entry = pool_->As<EntryHeader>(offset);
  media::PersistOps& ops = pool_->ops();
  const auto link_to = [&](EntryHeader* from, uint64_t older) {
    // Not flushed: these links mean nothing after the next crash; the log is replayed again then.
    const uint64_t link = older == 0 ? 0 : pool_->LinkTo(older).raw;
    // Most are as the writer left them, and their lines may stay clean.
    if (std::atomic_ref<uint64_t>(*from->links()).load(std::memory_order_relaxed) == link) return;
    ops.StoreU64(from->links(), link);
  };
  tree_->Upsert(entry->key(), [&](uint64_t newest) {
    if (newest == 0) {
      link_to(entry, 0);
      return offset;
    }
    BRAID_DCHECK(newest != offset);  // each is read once
    auto* current = pool_->As<EntryHeader>(newest);
    if (current->sequence() <= entry->sequence()) {
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

}  // namespace braid::memtable
