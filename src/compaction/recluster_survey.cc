// Purpose: surveys of the locality of L1.
// Thread safety, invariants, persistence: see recluster_survey.h.
#include "compaction/recluster_survey.h"

#include <array>

#include "base/check.h"
#include "merge/walk_ahead.h"

namespace braid::compaction {

using format::EntryHeader;

namespace {

/// How far behind the end of an entry one may begin to count as its neighbour: the hardware fetches
/// ahead within a page.
constexpr uint64_t kNear = 1024;
/// Sequences of neighbours that a scan follows side by side without waiting for memory: sorted runs
/// of so many flushes, merged by links, are read as fast as a single one (measured: decision 0032).
constexpr size_t kFollowed = 16;

/// Where the sequences that were met last have ended.
class Sequences {
 public:
  /// Whether an entry goes on with one of them; else it begins one.
  bool Follow(uint64_t offset, uint64_t bytes) {
    for (uint64_t& end : ends_) {
      if (offset < end || offset - end > kNear) continue;
      end = offset + bytes;
      return true;
    }
    ends_[oldest_] = offset + bytes;
    oldest_ = (oldest_ + 1) % kFollowed;
    return false;
  }

 private:
  std::array<uint64_t, kFollowed> ends_{};
  size_t oldest_ = 0;
};

bool IsMovable(const pool::PmemPool& pool, const EntryHeader& entry) {
  return entry.state() == format::kStateLive && !entry.has(format::kValueInExtent) &&
         entry.size() < pool.chunk_bytes() / 16;
}

}  // namespace

Result<PartOfL1> SurveyPart(const index::SkipList& list, const index::EntryIndex* tree,
                            const std::string& from, uint64_t max_bytes) {
  BRAID_DCHECK(max_bytes != 0);  // else the walk would not get on
  const pool::PmemPool& pool = list.pool();
  PartOfL1 part;
  Sequences sequences;
  uint64_t bytes = 0;
  index::Damage damage;
  merge::WalkAhead ahead(&pool, tree, from);
  const EntryHeader* previous = nullptr;
  const EntryHeader* entry = from.empty() ? list.First(&damage) : list.FindGE(from, &damage);
  for (; entry != nullptr; entry = list.Next(entry, &damage)) {
    const uint64_t offset = pool.OffsetOf(entry);
    if (previous != nullptr && !index::InOrder(*previous, *entry)) {
      damage.at = offset;  // perhaps a circle
      break;
    }
    if (bytes >= max_bytes && (previous == nullptr || previous->key() != entry->key())) break;
    previous = entry;
    ahead.Passed(offset);
    if (!IsMovable(pool, *entry)) continue;
    if (!sequences.Follow(offset, entry->size())) ++part.jumps;
    bytes += entry->size();
    part.movable.push_back({offset, 0});
  }
  if (damage) return index::DamageStatus(pool, damage.at);
  part.is_last = entry == nullptr;
  BRAID_DCHECK(part.is_last || bytes >= max_bytes);
  if (entry != nullptr) part.next_key.assign(entry->key());
  return part;
}

}  // namespace braid::compaction
