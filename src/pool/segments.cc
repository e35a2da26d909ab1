// Purpose: headers and state tables of segments.
// Thread safety, invariants, persistence: see segments.h.
#include "pool/segments.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "base/check.h"

namespace braid::pool {

using format::ChunkKind;
using format::ChunkState;
using format::MetaChunks;
using format::SegmentHeader;
using format::StateTableOffset;

// Regions are counted in a byte of the headers, and in the four bits that a link has for them.
static_assert(format::kMaxRegions <= 16);

/// Ends all heads of tables in the first segment of a region: there is no table yet.
void Segments::InitRegionHeads(uint64_t base) {
  const std::vector<uint64_t> ends(format::kTableHeads * format::kMaxHeight,
                                   format::EntryPtr::End().raw);
  char* heads = space_.At(base + format::kRegionHeadsOffset);
  ops_.Copy(heads, ends.data(), ends.size() * sizeof(uint64_t));
  ops_.Flush(heads, ends.size() * sizeof(uint64_t), media::Site::kRegionHeads);
}

Segment Segments::Init(const format::PoolHeader& pool, uint32_t index, uint32_t region,
                       uint64_t base, uint64_t bytes) {
  const uint64_t chunk_bytes = space_.chunk_bytes();
  const uint32_t regions = space_.regions();
  BRAID_DCHECK(base == space_.pool_bytes() && bytes % chunk_bytes == 0);    // invariant 1
  BRAID_DCHECK(region < regions && (index >= regions || region == index));  // invariant 2
  SegmentHeader header{};
  header.magic = format::kSegmentMagic;
  header.version = format::kFormatVersionNumber;
  header.endian = format::kEndianMark;
  std::memcpy(header.pool_uuid, pool.uuid, sizeof header.pool_uuid);
  header.index = index;
  header.region = static_cast<uint8_t>(region);
  header.regions = static_cast<uint8_t>(regions > 1 ? regions : 0);
  header.base_offset = base;
  header.segment_bytes = bytes;
  header.chunk_bytes = chunk_bytes;
  header.meta_chunks = MetaChunks(index, bytes, chunk_bytes, regions);
  header.check = format::StructCheck(header, base);
  const uint64_t count = space_.ChunksIn(bytes);
  BRAID_DCHECK(header.meta_chunks < count);  // it is made to be allocated from
  ops_.Copy(space_.At(base), &header, sizeof header);
  ops_.Flush(space_.At(base), sizeof header, media::Site::kSegmentHeader);

  if (format::HasRegionHeads(index, regions)) InitRegionHeads(base);

  const Segment segment{base,
                        bytes,
                        base + StateTableOffset(index, regions),
                        space_.ChunkOf(base),
                        header.meta_chunks,
                        region};
  std::vector<uint64_t> words(count);
  for (uint64_t i = 0; i < count; ++i) {
    const ChunkKind kind = i < segment.meta_chunks ? ChunkKind::kMeta : ChunkKind::kFree;
    words[i] = ChunkState::Make(kind, 0, segment.first_chunk + i).raw;
  }
  ops_.Copy(space_.At(segment.state_table), words.data(), count * sizeof(uint64_t));
  ops_.Flush(space_.At(segment.state_table), count * sizeof(uint64_t), media::Site::kStateTable);
  ops_.Fence(media::Site::kSegmentFence);
  return segment;
}

Result<Segment> Segments::Read(const format::PoolHeader& pool, uint32_t index, uint64_t base,
                               uint64_t bytes) const {
  const uint64_t chunk_bytes = space_.chunk_bytes();
  const uint32_t regions = space_.regions();
  SegmentHeader header;
  std::memcpy(&header, space_.At(base), sizeof header);
  if (header.magic != format::kSegmentMagic || header.check != format::StructCheck(header, base)) {
    return space_.CorruptionAt(base, "segment header", "its check does not match");
  }
  if (std::memcmp(header.pool_uuid, pool.uuid, sizeof pool.uuid) != 0 || header.index != index ||
      header.base_offset != base) {
    return space_.CorruptionAt(base, "segment header",
                               "the segment belongs to another pool or place");
  }
  if (header.region >= regions || header.regions != pool.regions ||
      (index < regions && header.region != index)) {
    return space_.CorruptionAt(base, "segment header",
                               "it says region " + std::to_string(header.region) + " of " +
                                   std::to_string(header.regions) + ", which can't be");
  }
  if (header.segment_bytes != bytes || header.chunk_bytes != chunk_bytes ||
      bytes % chunk_bytes != 0 ||
      header.meta_chunks != MetaChunks(index, bytes, chunk_bytes, regions) ||
      header.meta_chunks > bytes / chunk_bytes) {
    return space_.CorruptionAt(
        base, "segment",
        "the file has " + std::to_string(bytes) + " bytes, its header says " +
            std::to_string(header.segment_bytes) + "; truncated or extended");
  }
  return Segment{base,
                 bytes,
                 base + StateTableOffset(index, regions),
                 space_.ChunkOf(base),
                 header.meta_chunks,
                 header.region};
}

Result<std::vector<ChunkState>> Segments::ReadStates(const Segment& segment) const {
  const uint64_t count = space_.ChunksIn(segment.bytes);
  const auto* words = reinterpret_cast<const uint64_t*>(space_.At(segment.state_table));
  std::vector<ChunkState> states(count);
  for (uint64_t i = count; i-- > 0;) {
    const uint64_t chunk = segment.first_chunk + i;
    // Relaxed, and once: another process may be changing the state of a chunk that this one does
    // not look into.
    const ChunkState state{
        std::atomic_ref<const uint64_t>(words[i]).load(std::memory_order_relaxed)};
    if (!state.IsValid(chunk) || state.generation() >= format::kMaxGeneration ||
        (state.kind() == ChunkKind::kMeta) != (i < segment.meta_chunks)) {
      return space_.CorruptionAt(segment.state_table + i * sizeof(uint64_t), "chunk state",
                                 "the state of chunk " + std::to_string(chunk) + " is damaged");
    }
    states[i] = state;
  }
  return states;
}

void Segments::Add(const Segment& segment) {
  const base::MutexLock lock(mutex_);
  BRAID_DCHECK(segment.base == (segments_.empty() ? 0
                                                  : segments_.back().base +  // invariant 1
                                                        segments_.back().bytes));
  segments_.push_back(segment);
}

void Segments::Reserve(uint32_t segments) {
  const base::MutexLock lock(mutex_);
  segments_.reserve(segments);
}

uint32_t Segments::count() const {
  const base::MutexLock lock(mutex_);
  return static_cast<uint32_t>(segments_.size());
}

std::vector<Segment> Segments::All() const {
  const base::MutexLock lock(mutex_);
  return segments_;
}

uint64_t Segments::PlaceOf(uint64_t chunk) const {
  const base::MutexLock lock(mutex_);  // segments_ may grow
  for (size_t i = segments_.size(); i-- > 0;) {
    const Segment& segment = segments_[i];
    if (chunk >= segment.first_chunk) {
      // Behind it lies what is no state.
      BRAID_DCHECK(chunk - segment.first_chunk < space_.ChunksIn(segment.bytes));
      return segment.state_table + (chunk - segment.first_chunk) * sizeof(uint64_t);
    }
  }
  BRAID_CHECK(false);
}

ChunkState Segments::StateOnMedium(uint64_t chunk) const {
  return {*space_.As<uint64_t>(PlaceOf(chunk))};
}

namespace {

media::Site SiteOf(ChunkKind kind) noexcept {
  switch (kind) {
    case ChunkKind::kFree:
      return media::Site::kFreeState;
    case ChunkKind::kRedo:
      return media::Site::kRedoState;
    case ChunkKind::kExtentHead:
    case ChunkKind::kExtentBody:
      return media::Site::kExtentState;
    default:
      return media::Site::kChunkState;
  }
}

}  // namespace

void Segments::StoreState(uint64_t chunk, ChunkState state) {
  BRAID_DCHECK(state.IsValid(chunk));  // or the next open would find damage (invariant 3)
  auto* word = space_.As<uint64_t>(PlaceOf(chunk));
  ops_.StoreU64(word, state.raw);
  ops_.Flush(word, sizeof *word, SiteOf(state.kind()));
}

/// The process that died may have stored headers, states, table heads and redo records without
/// flushing them: they lie in the caches, where this process finds them. What recovery does follows
/// from them, so they must not be lost with the power after that. (Links and marks are made again
/// from redo records and logs; the last writes of logs are flushed when the logs are read.)
void Segments::FlushInherited(bool clean) {
  const std::vector<Segment> segments = All();
  // Headers in any case: the very mark that the pool is clean may lie in the caches.
  ops_.Flush(space_.At(0), format::kFirstStateTableOffset, media::Site::kInheritedHeaders);
  const uint32_t regions = space_.regions();
  for (uint32_t i = 1; i < std::min<uint64_t>(regions, segments.size()); ++i) {
    ops_.Flush(space_.At(segments[i].base), StateTableOffset(i, regions),
               media::Site::kInheritedHeaders);
  }
  if (!clean) {
    for (const Segment& segment : segments) {
      ops_.Flush(space_.At(segment.state_table), space_.ChunksIn(segment.bytes) * sizeof(uint64_t),
                 media::Site::kInheritedStates);
    }
    for (uint64_t chunk = 0; chunk < space_.chunks(); ++chunk) {
      const ChunkKind kind = space_.StateOf(chunk).kind();
      if (kind == ChunkKind::kRedo || kind == ChunkKind::kManifest) {
        ops_.Flush(space_.At(space_.ChunkOffset(chunk)), space_.chunk_bytes(),
                   media::Site::kInheritedRecords);
      }
    }
  }
  ops_.Fence(media::Site::kInheritedFence);
}

}  // namespace braid::pool
