// Purpose: reading values of entries.
// Thread safety, persistence: see stored_value.h.
#include "engine/stored_value.h"

#include <cstring>

#include "index/entry_tree.h"

namespace braid::engine {

Status ReadStoredValue(const pool::PmemPool& pool, uint64_t offset, bool verify,
                       std::string_view* value) {
  // Again, since an iterator may have stood here for long: its sizes must lie in its chunk.
  const format::EntryHeader* entry = pool.EntryAt(offset);
  if (entry == nullptr) return pool.CorruptionAt(offset, "entry", "it is no entry any more");
  const std::string_view stored = entry->value();
  if (verify && (!index::KeyIsIntact(pool, *entry, offset, base::Hash64(entry->key())) ||
                 format::ValueCheck(stored) != entry->value_check)) {
    return pool.CorruptionAt(offset, "entry", "its check does not match");
  }
  if (entry->has(format::kValueElsewhere)) {
    const uint64_t carrier = pool.CarrierOf(*entry);
    if (carrier == 0) {
      return pool.CorruptionAt(offset, "entry", "it does not lead to the entry with its value");
    }
    return ReadStoredValue(pool, carrier, verify, value);  // which refers to no other one
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
    return pool.CorruptionAt(offset, "entry", "it does not lead to an extent with its value");
  }
  *value = {pool.At(ref.offset + sizeof(format::ExtentHeader)), ref.bytes};
  if (verify && base::Hash64(*value) != ref.check) {
    return pool.CorruptionAt(ref.offset, "extent", "the value's check does not match");
  }
  return Status::OK();
}

size_t PlainValues(const pool::PmemPool& pool, std::span<const index::CursorItem> items,
                   bool verify) noexcept {
  // Neighbours mostly lie in one chunk.
  const uint64_t chunk_bytes = pool.chunk_bytes();
  uint64_t chunk = ~(chunk_bytes - 1);  // where no entry can be
  uint32_t generation = 0;
  size_t n = 0;
  for (; n < items.size(); ++n) {
    const auto& [entry, key, value] = items[n];
    constexpr uint64_t kKind = format::kOpMask | format::kValueInExtent | format::kValueElsewhere;
    const bool plain =
        (entry->sequence_and_op & kKind) == static_cast<uint64_t>(format::EntryOp::kPut) &&
        entry->state() != format::kStateObsolete;
    if (!plain) break;
    if (!verify) continue;
    const uint64_t offset = pool.OffsetOf(entry);
    if (offset - chunk >= chunk_bytes) [[unlikely]] {
      if (!pool.Holds(entry)) continue;  // its table has checked it
      chunk = offset & ~(chunk_bytes - 1);
      generation = pool.GenerationAt(offset);
    }
    if (format::KeyCheck(*entry, base::Hash64(key), offset, generation) != entry->key_check ||
        format::ValueCheck(value) != entry->value_check) {
      break;
    }
  }
  return n;
}

}  // namespace braid::engine
