// Purpose: holes in the files of a pool.
// Thread safety, invariants, persistence: see holes.h.
#include "pool/holes.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/no_throw.h"

namespace braid::pool {

namespace {

/// Calls `call(first, count)` for each run of neighbours of sorted chunks, until one fails. A run
/// does not cross segments: each begins with chunks that are never free. Throws nothing: the chunks
/// are to be put back.
template <class Call>
Status ForEachRun(const FreeChunks::Aside& chunks, Call&& call) {
  return base::CatchToStatus([&] {
    for (size_t begin = 0; begin < chunks.size();) {
      size_t end = begin + 1;
      while (end < chunks.size() && chunks[end] == chunks[end - 1] + 1) ++end;
      if (Status s = call(chunks[begin], end - begin); !s.ok()) return s;
      begin = end;
    }
    return Status::OK();
  });
}

}  // namespace

bool Holes::MayBeThere() const {
  if ((header_.get().compat & format::kCompatHoles) != 0) return true;
  const std::optional<uint64_t> allocated = space_.media().allocated_bytes();
  uint64_t bytes = 0;
  for (const uint64_t segment : space_.media().segment_bytes()) bytes += segment;
  return allocated && *allocated < bytes;
}

const char* Holes::WhyNot() const noexcept {
  if (space_.media().read_only()) return "the pool is open read-only";
  return space_.media().WhyNoHoles();
}

/// Invariant 1. Where caches are flushed line by line, each state was durable before its chunk came
/// into the list.
Status Holes::MakeDurable(uint64_t first, uint64_t count) {
  const uint64_t begin = segments_.PlaceOf(first);
  const uint64_t end = segments_.PlaceOf(first + count - 1) + sizeof(uint64_t);
  BRAID_DCHECK(end - begin == count * sizeof(uint64_t));  // they lie in one segment
  return space_.media().SyncRange(begin, end - begin, media::Site::kFreeStateSync);
}

Result<uint64_t> Holes::GiveBack(uint32_t region, uint64_t most, uint64_t keep) {
  if (WhyNot() != nullptr || space_.failed()) return uint64_t{0};
  // Invariant 3.
  if (Status s = header_.AnnounceCompat(format::kCompatHoles); !s.ok()) return s;
  const FreeChunks::Aside chunks = free_.SetColdAside(region, most, keep);
  Status s = ForEachRun(chunks, [&](uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      BRAID_DCHECK(space_.StateOf(first + i).kind() == format::ChunkKind::kFree);  // invariant 1
    }
    return MakeDurable(first, count);
  });
  if (!s.ok() || space_.failed()) {
    free_.PutBack(chunks, region, false);
    return s.ok() ? Result<uint64_t>(space_.FaultStatus()) : Result<uint64_t>(s);
  }
  s = ForEachRun(chunks, [&](uint64_t first, uint64_t count) {
    return space_.media().PunchHole(space_.ChunkOffset(first), count * space_.chunk_bytes());
  });
  // Where it failed some may be holes, and all are taken for them.
  free_.PutBack(chunks, region, true);
  if (!s.ok()) return s;
  given_back_.fetch_add(chunks.size(), std::memory_order_relaxed);
  return chunks.size();
}

Status Holes::Fill(const FreeChunks::Aside& chunks, uint32_t region, bool touch) {
  if (chunks.empty()) return Status::OK();  // nothing was asked, so nothing was granted
  Status s = ForEachRun(chunks, [&](uint64_t first, uint64_t count) {
    const uint64_t offset = space_.ChunkOffset(first);
    const uint64_t bytes = count * space_.chunk_bytes();
    if (Status filled = space_.media().FillHole(offset, bytes); !filled.ok()) return filled;
    if (touch) space_.media().Prefault(offset, bytes);
    return Status::OK();
  });
  free_.NoteFill(s.ok());  // before they are in a list: a thread that finds them there finds this
  // Where it failed some may have their pages, and all are taken for holes.
  free_.PutBack(chunks, region, !s.ok());
  if (s.ok()) filled_.fetch_add(chunks.size(), std::memory_order_relaxed);
  return s;
}

Result<bool> Holes::FillFor(uint64_t count, uint32_t region, AllocationClass allocation) {
  if (free_.holes() == 0) return false;
  const FreeChunks::Missing missing = free_.SetMissingAside(count, region, allocation);
  if (missing.chunks.empty()) return false;
  if (Status s = Fill(missing.chunks, missing.region, false); !s.ok()) return s;
  return true;
}

Result<bool> Holes::FillAhead(uint32_t region, uint64_t most) {
  const FreeChunks::Aside chunks = free_.SetHolesAside(region, most);
  if (chunks.empty()) return false;
  if (Status s = Fill(chunks, region, true); !s.ok()) return s;
  return true;
}

Status Holes::FillRun(uint64_t first, uint64_t count, uint32_t region) {
  return Fill(free_.SetHolesOfRunAside(first, count, region), region, false);
}

}  // namespace braid::pool
