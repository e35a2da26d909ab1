// Purpose: reading values of entries. Thread safety, persistence: see stored_value.h.
#include "engine/stored_value.h"

#include <cstring>

#include "index/entry_tree.h"

namespace braid::engine {

Status ReadStoredValue(const pmem::PmemPool& pool, uint64_t offset, bool verify,
                       std::string_view* value) {
  // Again, since an iterator may have stood here for long: its sizes must lie in its chunk.
  const format::EntryHeader* entry = pool.EntryAt(offset);
  if (entry == nullptr) return pool.CorruptionAt(offset, "entry", "it is no entry any more");
  const std::string_view stored = entry->value();
  if (verify && (!index::KeyIsIntact(pool, *entry, offset, base::Hash64(entry->key())) ||
                 format::ValueCheck(stored) != entry->value_check)) {
    return pool.CorruptionAt(offset, "entry", "its check does not match");
  }
  if (!entry->has(format::kValueInExtent)) {
    *value = stored;
    return Status::OK();
  }
  format::ExtentRef ref;
  if (stored.size() != sizeof ref) {
    return pool.CorruptionAt(offset, "entry", "it does not hold a reference to its value");
  }
  std::memcpy(&ref, stored.data(), sizeof ref);
  const format::ExtentHeader* extent = pool.ExtentAt(ref.offset);
  if (extent == nullptr || extent->value_bytes != ref.bytes) {
    return pool.CorruptionAt(offset, "entry", "what it names as its value is no such extent");
  }
  *value = {pool.At(ref.offset + sizeof(format::ExtentHeader)), ref.bytes};
  if (verify && base::Hash64(*value) != ref.check) {
    return pool.CorruptionAt(ref.offset, "extent", "the value's check does not match");
  }
  return Status::OK();
}

size_t ReadPlainValues(const pmem::PmemPool& pool, std::span<const index::CursorItem> items,
                       bool verify, std::string_view* values) noexcept {
  size_t n = 0;
  for (const index::CursorItem& item : items) {
    const format::EntryHeader* entry = item.entry;
    const uint64_t offset = pool.OffsetOf(entry);
    // Neighbours mostly lie in one chunk, and the state of a chunk comes from a line that is there.
    // The sizes are those of now: see PmemPool::KeyAt. Places, kinds and heights do not change.
    const uint64_t room = pool.chunk_bytes() - (offset & (pool.chunk_bytes() - 1));
    const uint32_t value_bytes = entry->value_bytes;
    const char* value = item.key.data() + item.key.size();
    const uint64_t end = static_cast<uint64_t>(value - pool.At(offset)) + value_bytes;
    const bool plain = entry->op() != format::EntryOp::kDelete &&
                       entry->state() != format::kStateDead &&
                       !entry->has(format::kValueInExtent) && end <= room;
    if (!plain) break;
    values[n] = {value, value_bytes};
    if (verify && (!index::KeyIsIntact(pool, *entry, offset, base::Hash64(item.key)) ||
                   format::ValueCheck(values[n]) != entry->value_check)) {
      break;
    }
    ++n;
  }
  return n;
}

}  // namespace braid::engine
