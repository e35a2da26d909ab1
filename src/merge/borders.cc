// Purpose: writing and finding borders.
// Thread safety, invariant, persistence: see borders.h.
#include "merge/borders.h"

#include <algorithm>

#include "base/check.h"
#include "level/copied_list.h"
#include "log/index_unified_log.h"

namespace braid::merge {

using format::EntryHeader;

Result<format::TableRecord> WriteBorders(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                         const std::vector<std::string>& keys, uint64_t table_id,
                                         uint32_t head) {
  BRAID_DCHECK(!keys.empty() && std::is_sorted(keys.begin(), keys.end()));
  log::IndexUnifiedLog log(pool, table_id, 1, format::ChunkKind::kCollected);
  level::CopiedList list(pool);
  const auto write = [&](const std::string& key) {
    log::PendingEntry pending;
    pending.op = format::EntryOp::kDelete;
    pending.key = key;
    pending.key_hash = base::Hash64(key);
    pending.wanted_height = format::kMaxHeight;
    Status s = log.Reserve(0, &pending, 1, 0, pool::AllocationClass::kBackground);
    if (!s.ok()) return s;
    BRAID_DCHECK(pending.height <= pending.wanted_height && pending.extent == 0);
    log.Commit(0);
    log.WritePayload(&pending);
    log.Publish(pending, format::kBorderSequence, format::kFirstOfUnit, 0);
    list.Append(pending.offset, pending.height);
    usage->Add(pool->ChunkOf(pending.offset),
               EntryHeader::EntryBytes(key.size(), 0, pending.height));
    return pending.height == pending.wanted_height ? Status::OK()
                                                   : Status::OutOfSpace("no room for its tower");
  };
  for (const std::string& key : keys) {
    if (Status s = write(key); !s.ok()) {
      for (const uint64_t chunk : log.chunks()) {
        usage->Set(chunk, 0);
        pool->FreeChunk(chunk);
      }
      return s;
    }
  }
  list.Close(pool->HeadOffset(head));
  return format::TableRecord{table_id, 0, format::kTableOfCopies, head, keys.size(), 0};
}

const EntryHeader* FindBorder(const index::SkipList& list, std::string_view key,
                              index::Damage* damage) {
  const EntryHeader* entry = list.FindGE(key, damage);
  while (entry != nullptr && entry->key() == key && !IsBorder(*entry)) {
    const EntryHeader* next = list.Next(entry, damage);
    if (next != nullptr && !index::InOrder(*entry, *next)) return nullptr;  // perhaps a circle
    entry = next;
  }
  return entry != nullptr && entry->key() == key ? entry : nullptr;
}

}  // namespace braid::merge
