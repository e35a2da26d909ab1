// Purpose: compares the allocator's state with the states on the medium.
// Thread safety, invariants, persistence: see pool.h.
#include <algorithm>

#include "base/check.h"
#include "pool/pool.h"

namespace braid::pool {

using format::ChunkKind;

std::vector<std::string> PmemPool::CheckAllocator(uint64_t redo_chunks) {
  const base::MutexLock lock(grow_mutex_);
  std::vector<std::string> problems;
  const auto problem = [&](uint64_t chunk, const std::string& what) {
    problems.emplace_back(CorruptionAt(ChunkOffset(chunk), "chunk", what).message());
  };
  const auto all = [&](const std::string& object, const std::string& what) {
    problems.emplace_back(CorruptionAt(format::kFirstStateTableOffset, object, what).message());
  };
  uint64_t free_states = 0;
  uint64_t meta_states = 0;
  uint64_t redo_states = 0;
  uint64_t extent_states = 0;
  for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
    const format::ChunkState state = StateOf(chunk);
    if (segments_.StateOnMedium(chunk).raw != state.raw) {
      problem(chunk, "its state on the medium differs");
    }
    free_states += state.kind() == ChunkKind::kFree ? 1 : 0;
    meta_states += state.kind() == ChunkKind::kMeta ? 1 : 0;
    redo_states += state.kind() == ChunkKind::kRedo ? 1 : 0;
    extent_states += format::IsOfExtent(state.kind()) ? 1 : 0;
  }
  if (extent_states != extent_chunks()) {
    all("chunk states", std::to_string(extent_states) + " chunks hold large values, " +
                            std::to_string(extent_chunks()) + " are counted");
  }
  std::vector<uint64_t> sorted;
  for (uint32_t region = 0; region < regions(); ++region) {
    const std::vector<uint64_t> list = free_.ListOf(region);
    BRAID_DCHECK(list.size() <= chunks_of(region));
    for (const uint64_t chunk : list) {
      if (RegionOfChunk(chunk) != region) problem(chunk, "it is free in another region");
      sorted.push_back(chunk);
    }
  }
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i] == sorted[i - 1]) problem(sorted[i], "it is free twice");
    if (StateOf(sorted[i]).kind() != ChunkKind::kFree) problem(sorted[i], "it is free and in use");
  }
  if (free_states > sorted.size()) {
    all("chunk states", std::to_string(free_states) + " chunks are free, only " +
                            std::to_string(sorted.size()) + " can be allocated");
  }
  // Segments lie side by side from the first chunk to the last.
  const std::vector<Segment> segments = segments_.All();
  BRAID_DCHECK(ChunkOffset(chunks()) == segments.back().base + segments.back().bytes);
  uint64_t meta = 0;
  for (const Segment& segment : segments) meta += segment.meta_chunks;
  if (meta_states != meta || redo_states != redo_chunks) {
    all("chunk states", std::to_string(meta_states) + " chunks hold headers and " +
                            std::to_string(redo_states) + " redo records, " + std::to_string(meta) +
                            " and " + std::to_string(redo_chunks) + " should");
  }
  return problems;
}

}  // namespace braid::pool
