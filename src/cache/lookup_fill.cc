// Purpose: finds the entries of L1 that fill the lookup cache.
// Thread safety, invariants, persistence: see lookup_fill.h.
#include "cache/lookup_fill.h"

#include "base/checksum.h"
#include "index/entry_tree.h"

namespace braid::cache {

Status LookupFill::Find(const index::SkipList& list, uint64_t count) {
  found_.clear();
  return walk_.Slice(list, count, [this](const format::EntryHeader& entry) {
    const uint64_t offset = pool_->OffsetOf(&entry);
    const uint64_t hash = base::Hash64(entry.key());
    if (index::KeyIsIntact(*pool_, entry, offset, hash)) {
      found_.push_back({hash, offset});
    } else {
      sound_ = false;
    }
  });
}

}  // namespace braid::cache
