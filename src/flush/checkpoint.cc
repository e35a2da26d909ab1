// Purpose: writing back a group of tables. Thread safety, persistence: see checkpoint.h.
#include "flush/checkpoint.h"

#include <algorithm>

#include "base/mutants.h"

namespace braid::flush {

using format::EntryHeader;

void WriteBackTables(pmem::PmemPool* pool, const std::vector<const level::WaitingTable*>& tables) {
  std::vector<uint64_t> entries;
  for (const level::WaitingTable* table : tables) {
    entries.insert(entries.end(), table->touched.begin(), table->touched.end());
  }
  std::sort(entries.begin(), entries.end());
  pmem::PersistOps& ops = pool->ops();
  uint64_t flushed_to = 0;  // lines below are written back
  for (const uint64_t offset : entries) {
    const EntryHeader* entry = pool->EntryAt(offset);
    if (entry == nullptr) continue;  // the medium has failed; nothing will be committed
    uint64_t begin = offset + EntryHeader::kStateByteOffset;
    uint64_t end = offset + sizeof(EntryHeader) + 8ull * entry->height();
    if (BRAID_MUTANT(kCheckpointLinksNotFlushed)) continue;
    if (BRAID_MUTANT(kCheckpointMarksNotFlushed)) begin = offset + sizeof(EntryHeader);
    if (BRAID_MUTANT(kCheckpointTowersNotFlushed)) end = offset + sizeof(EntryHeader) + 8;
    begin = std::max(begin, flushed_to);
    if (begin >= end) continue;
    ops.Flush(pool->At(begin), end - begin);
    flushed_to = (end + pmem::kLineBytes - 1) & ~uint64_t{pmem::kLineBytes - 1};
  }
  for (const level::WaitingTable* table : tables) {
    const uint64_t head = pool->HeadOffset(table->record.head);
    if (BRAID_MUTANT(kCheckpointHeadsNotFlushed)) break;
    for (uint32_t strand = 0; strand < pool->strands(); ++strand) {
      ops.Flush(pool->At(pool->StrandHead(head, strand)), sizeof(format::TableHead));
    }
  }
  if (!BRAID_MUTANT(kCheckpointNotFenced)) ops.Fence();
}

}  // namespace braid::flush
