// Purpose: the flush of a persistent memtable.
// Thread safety, invariant, persistence: see in_place_flush.h.
#include "flush/in_place_flush.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace braid::flush {

namespace {

Status FillLookups(const memtable::PmemMemTable& memtable, const pool::PmemPool& pool,
                   cache::LookupCache* lookup) {
  const index::SkipList list = memtable.list();
  index::Damage damage;
  const format::EntryHeader* before = nullptr;
  for (const format::EntryHeader* entry = list.First(&damage); entry != nullptr && !damage;
       entry = list.Next(entry, &damage)) {
    if (before != nullptr && !index::InOrder(*before, *entry)) {
      damage.at = pool.OffsetOf(entry);
      break;
    }
    if (before == nullptr || before->key() != entry->key()) {
      lookup->Fill(base::Hash64(entry->key()), pool.OffsetOf(entry));
    }
    before = entry;
  }
  return damage ? index::DamageStatus(pool, damage.at) : Status::OK();
}

}  // namespace

Result<FlushResult> KeepInPlace(pool::PmemPool* pool, pool::ChunkUsage* usage,
                                cache::LookupCache* lookup, const memtable::PmemMemTable& memtable,
                                uint64_t head_offset) {
  BRAID_DCHECK(pool->IsHead(head_offset) && memtable.is_frozen());
  const std::vector<log::IndexUnifiedLog::ChunkUse> used = memtable.UsedBytes();
  if (lookup != nullptr) {
    if (Status s = FillLookups(memtable, *pool, lookup); !s.ok()) return s;
  }
  FlushResult result;
  result.entries = memtable.entries();
  result.max_sequence = memtable.max_sequence();
  media::PersistOps& ops = pool->ops();
  constexpr size_t kHeadBytes = sizeof(uint64_t) * format::kMaxHeight;
  for (uint32_t strand = 0; strand < pool->strands(); ++strand) {
    const index::Tower links = memtable.head(strand);
    // A link that is zero would be damage to a reader that follows it.
    BRAID_DCHECK(std::count(links, links + format::kMaxHeight, 0u) == 0);
    char* head = pool->At(pool->StrandHead(head_offset, strand));
    ops.Copy(head, links, kHeadBytes);
    ops.Flush(head, kHeadBytes,
              strand == 0 ? media::Site::kFlushHead : media::Site::kFlushStrandHead);
  }
  ops.Fence(media::Site::kFlushFence);
  for (const auto& [chunk, bytes] : used) usage->Add(chunk, bytes);
  return result;
}

}  // namespace braid::flush
