// Purpose: writing back a group of tables.
// Thread safety, persistence: see group_write_back.h.
#include "flush/group_write_back.h"

#include <algorithm>

#include "base/check.h"
namespace braid::flush {

using format::EntryHeader;

void WriteBackTables(pool::PmemPool* pool, const std::vector<const level::WaitingTable*>& tables) {
  BRAID_CHECK(!tables.empty());
  std::vector<uint64_t> entries;
  for (const level::WaitingTable* table : tables) {
    // Each entry that was linked; none where the writes have done that.
    BRAID_DCHECK(table->touched.empty() || table->touched.size() >= table->record.entries);
    entries.insert(entries.end(), table->touched.begin(), table->touched.end());
  }
  std::sort(entries.begin(), entries.end());
  media::PersistOps& ops = pool->ops();
  uint64_t flushed_to = 0;  // lines below are written back
  for (const uint64_t offset : entries) {
    const EntryHeader* entry = pool->EntryAt(offset);
    if (entry == nullptr) continue;  // the medium has failed; nothing will be committed
    uint64_t begin = offset + EntryHeader::kStateByteOffset;
    uint64_t end = offset + sizeof(EntryHeader) + 8ull * entry->height();
    begin = std::max(begin, flushed_to);
    if (begin >= end) continue;
    ops.Flush(pool->At(begin), end - begin, media::Site::kGroupLinks);
    flushed_to = (end + media::kLineBytes - 1) & ~uint64_t{media::kLineBytes - 1};
  }
  for (const level::WaitingTable* table : tables) {
    const uint64_t head = pool->HeadOffset(table->record.head);
    BRAID_DCHECK(pool->IsHead(head));
    for (uint32_t strand = 0; strand < pool->strands(); ++strand) {
      ops.Flush(pool->At(pool->StrandHead(head, strand)), sizeof(format::TableHead),
                media::Site::kGroupHead);
    }
  }
  ops.Fence(media::Site::kGroupFence);
}

}  // namespace braid::flush
