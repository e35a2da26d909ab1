// Purpose: finding entries by their checks.
// Thread safety, invariants, persistence: entry_scan.h.
#include "recovery/entry_scan.h"

#include "base/check.h"
#include "base/checksum.h"

namespace braid::recovery {

using format::EntryHeader;
using format::EntryOp;

// Entries lie side by side from behind the header on, so steps of 8 bytes meet each of them.
static_assert(sizeof(format::LogChunkHeader) % 8 == 0 && sizeof(EntryHeader) % 8 == 0);
static_assert(EntryHeader::EntryBytes(1, 0, 1) % 8 == 0);
// No entry is what another one of these states says.
static_assert(format::kStateLive != format::kStateObsolete &&
              format::kStateObsolete != format::kStateVoid &&
              format::kStateVoid != format::kStateLive);

const EntryHeader* EntryIn(const EntryRegion& region, uint64_t offset) noexcept {
  if (offset % 8 != 0 || offset < region.begin + sizeof(format::LogChunkHeader) ||
      offset >= region.end || region.end - offset < sizeof(EntryHeader)) {
    return nullptr;
  }
  const auto* entry = reinterpret_cast<const EntryHeader*>(region.base + offset);
  const uint32_t height = entry->height();
  if (height == 0 || height > format::kMaxHeight || entry->size() > region.end - offset ||
      (entry->op() != EntryOp::kPut && entry->op() != EntryOp::kDelete)) {
    return nullptr;
  }
  const uint32_t check =
      format::KeyCheck(*entry, base::Hash64(entry->key()), offset, region.generation);
  return check == entry->key_check ? entry : nullptr;
}

uint64_t ScanEntries(const EntryRegion& region, EntryVisitor* visitor) {
  BRAID_DCHECK(region.base != nullptr && region.begin < region.end);
  uint64_t last_end = region.begin + sizeof(format::LogChunkHeader);
  for (uint64_t at = last_end; at + sizeof(EntryHeader) <= region.end;) {
    const EntryHeader* entry = EntryIn(region, at);
    if (entry == nullptr) {
      at += 8;
      continue;
    }
    if (at != last_end) visitor->Gap(last_end, at);
    const uint64_t size = entry->size();
    visitor->Entry(at, *entry);
    at += size;
    last_end = at;
  }
  return last_end;
}

void UnitCollector::Take(uint64_t offset, const EntryHeader& entry, bool intact) {
  BRAID_DCHECK(offset >= sizeof(format::LogChunkHeader) && offset % 8 == 0);
  // The numbers of a write follow each other: a hole is an entry that is lost.
  if (entry.sequence() != next_sequence_) Break();
  next_sequence_ = entry.sequence() + 1;
  if (entry.has(format::kFirstOfUnit)) {
    broken_.insert(broken_.end(), unit_.begin(), unit_.end());
    unit_.clear();
    whole_ = true;
  } else if (unit_.empty()) {
    whole_ = false;  // its beginning is lost
  }
  unit_.push_back(offset);
  if (!intact) whole_ = false;
  if (!whole_ || entry.has(format::kMoreOfUnit)) return;
  committed_.insert(committed_.end(), unit_.begin(), unit_.end());
  unit_.clear();
}

}  // namespace braid::recovery
