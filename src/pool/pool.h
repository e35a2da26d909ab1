// Purpose: a pool of persistent memory: opens, creates and grows it, and allocates its chunks. How
// chunks are addressed and read is in chunk_space.h; the parts of a pool are its header
// (header_copies.h), its segments (segments.h) and the lists of what is free (free_chunks.h).
// Thread safety: all calls from any thread unless a call says otherwise.
// Invariants:
//   1. A chunk whose durable state is not free is reachable from a table, a log that recovery
//      replays, a merge in progress, or is freed by the sweep at open.
//   2. A chunk's generation grows with each allocation, so that entries of an earlier life never
//      verify.
//   3. The content of a new chunk's header is durable before the state that announces it.
//   4. An open pool of several regions has a segment of each; segment r is region r's first,
//      whatever came later. The number of regions never changes.
// Locks: that of growth before those of the header, the segments and the free chunks, of which none
// is taken under another.
// Persistence: allocation and release commit by one 8-byte state word each; the pool header by the
// newer of two copies; a segment by its publication (media.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/memory_users.h"
#include "base/mutex.h"
#include "braid/options.h"
#include "braid/status.h"
#include "format/manifest.h"
#include "media/media.h"
#include "media/persist.h"
#include "pool/chunk_space.h"
#include "pool/free_chunks.h"
#include "pool/header_copies.h"
#include "pool/holes.h"
#include "pool/segments.h"

namespace braid::pool {

/// A chunk in one of its lives.
struct ChunkId {
  uint64_t chunk;
  uint32_t generation;
  bool operator==(const ChunkId&) const = default;
};

class PmemPool : public ChunkSpace {
 public:
  /// Opens the pool on `media`, or creates it there when no segment is published. `init` writes the
  /// first content of a new pool, which is durable before the pool exists.
  static Result<std::unique_ptr<PmemPool>> Open(std::unique_ptr<media::Media> media,
                                                const Options& options,
                                                const std::function<Status(PmemPool*)>& init);

  media::PersistOps& ops() noexcept { return ops_; }
  const format::PoolHeader& header() const noexcept { return header_.get(); }
  /// How lists lead through the regions; with one region there is no difference.
  ListKind list_kind() const noexcept {
    return regions() == 1 ? ListKind::kOblivious : static_cast<ListKind>(header().list_kind);
  }

  /// A chunk for entries, its header durable, in the region that the header's shard belongs to
  /// (shard modulo regions). Another region gives it when that one is full and can't grow. Errors:
  /// OutOfSpace, IOError.
  Result<uint64_t> AllocateLogChunk(const format::LogChunkHeader& header, format::ChunkKind kind,
                                    AllocationClass allocation);
  /// Contiguous chunks for a value of `bytes`, in `region` (but see above). They are an extent's
  /// bodies without a head, which an open sweeps, until BindExtent. Returns the offset of the
  /// ExtentHeader to come; the value goes behind it. Flushed, not fenced.
  Result<uint64_t> ReserveExtent(uint64_t bytes, uint32_t region, AllocationClass allocation);
  /// Makes what was reserved for a value of `bytes` the extent of the entry at offset `owner`:
  /// header and states are durable.
  void BindExtent(uint64_t extent, uint64_t bytes, uint64_t owner);
  /// Gives back what was reserved for a value of `bytes` and never bound.
  void CancelExtent(uint64_t extent, uint64_t bytes);
  /// ReserveExtent in the owner's region, and BindExtent; the value is not yet written.
  Result<uint64_t> AllocateExtent(uint64_t bytes, uint64_t owner, AllocationClass allocation);
  // Runs that are kept for large values: see free_chunks.h.
  void KeepRun(uint64_t first, uint64_t count);
  void LetRunGo() { free_.LetRunGo(); }
  bool HasRun(uint64_t count) { return free_.HasRun(count); }
  /// Makes the chunk free again. Nothing durable may lead to it any more. Leaves alone what is free
  /// already or never was allocated, so that no chunk is given out twice.
  void FreeChunk(uint64_t chunk);
  /// A chunk of the kind kWriteAhead becomes one of the kind kLog: its entries stay where they are.
  /// Flushed, not fenced.
  void KeepWriteAhead(uint64_t chunk);
  /// The same for all chunks of an extent. Leaves alone what is none.
  void FreeExtent(uint64_t extent);
  /// A chunk for redo records or for the extension of the manifest, which says what is in it. An
  /// open frees what the manifest does not name. OutOfSpace.
  Result<uint64_t> AllocatePlainChunk(format::ChunkKind kind);
  /// Makes such a chunk free again; FreeChunk leaves them alone, as this does all others.
  void FreePlainChunk(uint64_t chunk);
  /// Of a pool that has just been made, or of format version 1: its two chunks for redo records.
  uint64_t first_redo_chunk(uint32_t which) const noexcept {
    BRAID_DCHECK(which < std::size(redo_chunks_));
    return redo_chunks_[which];
  }
  /// Before anything is stored that programs of an older format version would not understand.
  Status AnnounceFormatVersion() { return header_.AnnounceFormatVersion(); }

  /// Pages of free chunks that are given back to the file system.
  Holes& holes() noexcept { return holes_; }
  const Holes& holes() const noexcept { return holes_; }
  /// Free chunks that have their pages. / All that may have none.
  uint64_t resident_chunks_of(uint32_t region) const { return free_.resident_of(region); }
  uint64_t hole_chunks() const { return free_.holes(); }
  /// Free chunks that GrowAhead sees to have pages, beyond those that writes must leave alone.
  static constexpr uint64_t kLeastReady = 2;
  /// Touches pages ahead of their use (media.h), except those of holes.
  void Prefault(uint64_t offset, uint64_t bytes);

  /// Holes among them.
  uint64_t free_chunks() const { return free_.free(); }
  uint64_t free_chunks_of(uint32_t region) const {
    BRAID_DCHECK(region < regions());
    return free_.free_of(region);
  }
  /// Free chunks except those that writes must leave alone; below zero when too few are left.
  int64_t spare_chunks() const { return free_.spare(); }
  /// OutOfSpace, with what to do.
  Status FullError() const;
  uint64_t reserve_chunks() const { return free_.reserve_at_rest(); }
  /// As FreeChunks::KeepForRewrites; before anybody writes.
  void KeepForRewrites(uint64_t most_lists) noexcept { free_.KeepForRewrites(most_lists); }
  /// Chunks that hold something, headers among them.
  uint64_t used_chunks() const { return free_.used(); }
  /// Chunks of the kind kWriteAhead; exact when none is allocated or freed meanwhile.
  uint64_t write_ahead_chunks() const noexcept { return free_.write_ahead(); }
  /// Chunks that were taken since the open, except for copies; EndCopies as in FreeChunks.
  uint64_t chunks_taken() const noexcept { return free_.taken(); }
  void EndCopies(uint64_t copied) noexcept { free_.EndCopies(copied); }
  /// Allocations that another region than theirs has served.
  uint64_t region_fallbacks() const noexcept {
    return region_fallbacks_.load(std::memory_order_relaxed);
  }
  uint64_t max_bytes() const noexcept { return max_bytes_; }
  /// Whether it is below its limit; the device may be full all the same.
  bool may_grow() const { return max_bytes_ == 0 || pool_bytes() < max_bytes_; }
  /// Compares the free list and the states in DRAM with the states on the medium; what differs, as
  /// text. `redo_chunks`: how many the manifest names. The caller keeps others from allocating and
  /// freeing.
  std::vector<std::string> CheckAllocator(uint64_t redo_chunks);
  /// Grows a region that has few free chunks, fewer than its share of `demand` or than is usual,
  /// and touches the new pages. Of a demand beyond what is used now, that much counts. By one
  /// thread. True when a region has grown.
  bool GrowAhead(uint64_t demand);
  /// Adds a segment to a region. One thread at a time does the work, others wait for it. Errors:
  /// OutOfSpace, IOError.
  Status Grow(uint32_t region, uint64_t chunks_in_a_run = 1);
  void KeepForCopies(bool may_grow) noexcept;

  /// Records that readers must know `incompat`; before a pool is published.
  Status RequireFeature(uint64_t incompat);
  /// Records in the header that writes follow / that the pool was closed in order.
  /// `incompat`: features that this session may use.
  Status MarkDirty(uint64_t incompat = 0);
  Status MarkClean();
  /// The tier below the pool: see HeaderCopies.
  Result<std::optional<format::TierRecord>> tier() const { return header_.tier(); }
  void SetTier(const format::TierRecord& record) { header_.SetTier(record); }
  /// After a power loss on page-cache media: no chunk will have a generation again that it may have
  /// had in a life whose state was lost while some of its pages were not. Durable on return.
  Status RaiseGenerations();
  /// Notes durably that features are in use that a reader must know. Two fences, the first time.
  Status AnnounceIncompat(uint64_t features);
  /// Of a pool that is opened for reading: as what it is for its other readers, nothing of it
  /// changes; what recovery stores is in copies of pages, of this process.
  bool read_only() const noexcept { return media().read_only(); }
  /// Recovery is about to store to so many more pages. Of a pool that is opened for reading they
  /// become copies in DRAM: NotSupported when these would exceed the memory budget.
  Status WillCopy(uint64_t pages);
  /// State of the last session, as found at open.
  bool was_clean() const noexcept { return was_clean_; }
  bool created() const noexcept { return created_; }

  /// What takes DRAM because of the data in this pool.
  base::MemoryUsers& memory_users() const noexcept { return memory_users_; }
  /// Bytes of DRAM that the pool takes itself: some words a chunk.
  uint64_t memory_bytes() const noexcept {
    // The state, and places in three lists of what is free.
    return chunks() * (4 * sizeof(uint64_t) + (regions() > 1 ? 1 : 0));
  }
  /// It was not closed in order, and its memory was shut down dirty since: what was acknowledged
  /// may be missing, and everything is to be verified before it is used.
  bool media_loss_possible() const noexcept { return media_loss_possible_; }
  /// Why that is, for an operator.
  std::string MediaLossText() const;
  /// The operating system was restarted since the last writer: caches are lost.
  bool boot_changed() const noexcept { return boot_changed_; }

 private:
  PmemPool(std::unique_ptr<media::Media> media, const Options& options);
  // Before others know the pool:
  Status Create(const Options& options, const std::function<Status(PmemPool*)>& init);
  Status Load(const Options& options);
  Status LoadSegment(uint32_t index, uint64_t base, uint64_t bytes);
  /// Gives each region that has none its first segment: a new pool, or one whose creation a crash
  /// has interrupted.
  Status CompleteRegions();
  uint64_t LeastBytes(uint32_t index, uint64_t chunks) const noexcept;
  void AddSegment(const Segment& segment, std::vector<uint64_t>* fresh);
  uint64_t GrowthBytes(uint32_t region, uint64_t chunks_in_a_run) const BRAID_REQUIRES(grow_mutex_);
  uint64_t ShareBytes() const noexcept;
  Status GrowLocked(uint32_t region, uint64_t chunks_in_a_run) BRAID_REQUIRES(grow_mutex_);
  Status TakeBackSegment(Status reason) BRAID_REQUIRES(grow_mutex_);
  /// Of the chunk's next life.
  uint32_t NextGeneration(uint64_t chunk) const noexcept;
  void MakeFree(uint64_t chunk);
  void SetState(uint64_t chunk, format::ChunkKind kind, uint32_t generation);
  /// First of `count` neighbouring chunks.
  Result<uint64_t> Take(uint64_t count, uint32_t region, AllocationClass allocation);
  Result<uint64_t> TakeWithHoles(uint64_t count, uint32_t region, AllocationClass allocation);
  bool FillAhead(uint64_t demand);

  mutable base::MemoryUsers memory_users_;
  base::MemoryCharge copies_{&memory_users_};  // pages, of a pool opened for reading
  media::PersistOps ops_;
  const uint64_t max_bytes_;
  const uint64_t initial_bytes_;
  const uint64_t copied_bytes_;  // by a flush, except towers
  const uint64_t memory_budget_;
  bool was_clean_ = false;
  bool created_ = false;
  bool boot_changed_ = false;
  bool media_loss_possible_ = false;
  std::optional<uint64_t> dirty_shutdowns_;  // now
  uint64_t redo_chunks_[2] = {0, 0};
  HeaderCopies header_{this, &ops_};
  Segments segments_{this, &ops_};
  FreeChunks free_;
  Holes holes_;
  std::atomic<uint64_t> region_fallbacks_{0};

  base::Mutex grow_mutex_;
  Status growth_error_ BRAID_GUARDED_BY(grow_mutex_);  // a segment could not be taken back
};

}  // namespace braid::pool
