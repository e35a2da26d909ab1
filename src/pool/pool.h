// Purpose: a pool of persistent memory: headers, segments, and the allocator of chunks. Hands out
// addresses for offsets, and checks every offset that comes from the medium.
// Thread safety: all calls from any thread unless a call says otherwise. Chunk states are read
// without a lock.
// Invariants:
//   1. A chunk whose durable state is not free is reachable from a table, a log that recovery
//      replays, a merge in progress, or is freed by the sweep at open.
//   2. A chunk's generation grows with each allocation, so that entries of an earlier life never
//      verify.
//   3. The content of a new chunk's header is durable before the state that announces it.
//   4. An open pool of several regions has a segment of each; segment r is region r's first,
//      whatever came later. The number of regions never changes.
// Persistence: allocation and release commit by one 8-byte state word each; the pool header by the
// newer of two copies; a segment by its publication (media.h).
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
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
#include "media/sparse_table.h"
#include "media/thread_region.h"

namespace braid::pool {

/// What an allocation is for: it decides whether the last free chunks may be used.
enum class AllocationClass : uint8_t {
  kWrite,       ///< puts and batches: leave the reserve alone
  kDelete,      ///< deletes: may use the reserve, so that space can be freed in a full pool
  kBackground,  ///< merges and collection: may use everything
};

/// The class of one write.
constexpr AllocationClass ClassOf(format::EntryOp op) noexcept {
  return op == format::EntryOp::kDelete ? AllocationClass::kDelete : AllocationClass::kWrite;
}

/// A chunk in one of its lives.
struct ChunkId {
  uint64_t chunk;
  uint32_t generation;
  bool operator==(const ChunkId&) const = default;
};

class PmemPool {
 public:
  /// Opens the pool on `media`, or creates it there when no segment is published. `init` writes the
  /// first content of a new pool, which is durable before the pool exists.
  static Result<std::unique_ptr<PmemPool>> Open(std::unique_ptr<media::Media> media,
                                                const Options& options,
                                                const std::function<Status(PmemPool*)>& init);

  PmemPool(const PmemPool&) = delete;
  PmemPool& operator=(const PmemPool&) = delete;

  media::PersistOps& ops() noexcept { return ops_; }
  media::Media& media() noexcept { return *media_; }
  const media::Media& media() const noexcept { return *media_; }
  const format::PoolHeader& header() const noexcept { return header_; }

  /// Parts of the pool, each a set of segments; one for each NUMA node.
  const media::RegionMap& region_map() const noexcept { return region_map_; }
  uint32_t regions() const noexcept { return regions_; }
  /// How lists lead through the regions; with one region there is no difference.
  ListKind list_kind() const noexcept {
    return regions_ == 1 ? ListKind::kOblivious : static_cast<ListKind>(header_.list_kind);
  }
  /// A list has upper layers of its own for each strand: one in all, or, in braided lists, one a
  /// region. Entries of a strand lie in its region.
  uint32_t strands() const noexcept { return strands_; }
  uint32_t StrandOf(uint64_t offset) const noexcept { return strands_ == 1 ? 0 : RegionOf(offset); }
  /// The strand that is near the calling thread.
  uint32_t StrandOfThread() const noexcept { return strands_ == 1 ? 0 : region_map_.OfThread(); }
  /// Where the table whose head is at `head` has the head of a strand. That of strand 0 holds the
  /// bottom layer, of which there is one.
  uint64_t StrandHead(uint64_t head, uint32_t strand) const noexcept {
    BRAID_DCHECK(strand < strands_);
    if (strand == 0) return head;
    const uint64_t within = head - format::kTableHeadsOffset;
    return within < kHeadPages ? within + region_heads_[strand]
                               : head + strand * sizeof(format::TableHead);
  }
  /// Whether a head of a table, of any strand, may lie at `offset`.
  bool IsHead(uint64_t offset) const noexcept {
    for (uint32_t region = 0; region < regions_; ++region) {
      if (offset - region_heads_[region] < kHeadPages) return true;
    }
    const uint64_t more = extension_.load(std::memory_order_relaxed);
    return more != 0 && offset - more - chunk_bytes() / 2 < chunk_bytes() / 2;
  }
  /// Of the head with this index, strand 0.
  uint64_t HeadOffset(uint32_t head) const noexcept {
    // Relaxed: a caller that knows a head there learnt it after the extension was published.
    return format::HeadOffset(head, extension_.load(std::memory_order_relaxed), chunk_bytes(),
                              strands_);
  }
  /// The chunk that the manifest names as its extension; 0: none.
  void SetExtension(uint64_t chunk) noexcept {
    BRAID_DCHECK(chunk != 0 && StateOf(chunk).kind() == format::ChunkKind::kManifest);
    extension_.store(ChunkOffset(chunk), std::memory_order_relaxed);
  }
  uint32_t RegionOfChunk(uint64_t chunk) const noexcept {
    // Relaxed: a caller that knows the chunk learnt it after its segment was published.
    return regions_ == 1 ? 0 : region_of_[chunk].load(std::memory_order_relaxed);
  }
  uint32_t RegionOf(uint64_t offset) const noexcept { return RegionOfChunk(ChunkOf(offset)); }
  /// The link that leads to the entry at `offset`.
  format::EntryPtr LinkTo(uint64_t offset) const noexcept {
    return format::EntryPtr::To(offset, RegionOf(offset));
  }

  char* At(uint64_t offset) noexcept { return base_ + offset; }
  const char* At(uint64_t offset) const noexcept { return base_ + offset; }
  template <class T>
  T* As(uint64_t offset) noexcept {
    return reinterpret_cast<T*>(base_ + offset);
  }
  /// Whether the address is one of the pool's, as that of an entry is that a table in it has.
  bool Holds(const void* address) const noexcept { return OffsetOf(address) < reserved_bytes_; }
  uint64_t OffsetOf(const void* address) const noexcept {
    return static_cast<uint64_t>(static_cast<const char*>(address) - base_);
  }
  uint64_t ChunkOf(uint64_t offset) const noexcept { return offset >> chunk_shift_; }
  uint64_t ChunkOffset(uint64_t chunk) const noexcept { return chunk << chunk_shift_; }
  uint64_t chunk_bytes() const noexcept { return 1ull << chunk_shift_; }
  /// Generation of the chunk that holds `offset`.
  uint32_t GenerationAt(uint64_t offset) const noexcept {
    return StateOf(ChunkOf(offset)).generation();
  }
  format::ChunkState StateOf(uint64_t chunk) const noexcept {
    // Relaxed: a caller that knows the offset learnt it after the state was stored.
    return {states_[chunk].load(std::memory_order_relaxed)};
  }
  uint64_t chunks() const noexcept { return chunks_.load(std::memory_order_acquire); }

  /// The entry at `offset`, or null when no entry can be there: bounds, alignment and chunk kind
  /// are checked, and that the entry's own sizes stay within its chunk.
  format::EntryHeader* EntryAt(uint64_t offset) noexcept;
  const format::EntryHeader* EntryAt(uint64_t offset) const noexcept {
    return const_cast<PmemPool*>(this)->EntryAt(offset);
  }
  /// The same for a place in a chunk that is known to hold entries.
  const format::EntryHeader* EntryInChunk(uint64_t offset) const noexcept {
    const uint64_t in_chunk = offset & (chunk_bytes() - 1);
    const uint64_t room = chunk_bytes() - in_chunk;
    if ((offset & 7) != 0 || in_chunk < sizeof(format::LogChunkHeader) ||
        room < sizeof(format::EntryHeader)) {
      return nullptr;
    }
    format::EntryView view{};
    return format::EntryWithin(At(offset), room, &view) ? view.entry : nullptr;
  }
  /// Re-validates an entry that EntryAt() returned earlier; false if it has been overwritten.
  bool View(const format::EntryHeader* entry, format::EntryView* view) const noexcept {
    const uint64_t room = chunk_bytes() - (OffsetOf(entry) & (chunk_bytes() - 1));
    return format::EntryWithin(reinterpret_cast<const char*>(entry), room, view);
  }

  /// Whether [offset, offset + bytes) lies where one chunk has its entries.
  bool IsEntryRoom(uint64_t offset, uint64_t bytes) const noexcept {
    const uint64_t chunk = ChunkOf(offset);
    if (chunk >= chunks()) return false;
    const format::ChunkKind kind = StateOf(chunk).kind();
    const uint64_t in_chunk = offset & (chunk_bytes() - 1);
    return format::HoldsEntries(kind) && in_chunk >= sizeof(format::LogChunkHeader) &&
           bytes <= chunk_bytes() - in_chunk;
  }
  /// The key of the entry at `offset`, which was found by EntryAt before. A hostile pool may have
  /// entries in the bytes of others, whose sizes change when a merge stores a link: so the key is
  /// cut where the chunk ends.
  std::string_view KeyAt(uint64_t offset) const noexcept {
    return format::KeyWithin(base_ + offset, chunk_bytes() - (offset & (chunk_bytes() - 1)));
  }
  /// The extent at `offset`, or null when none can be there: place, kinds of all its chunks, header
  /// and sizes are checked.
  const format::ExtentHeader* ExtentAt(uint64_t offset) const noexcept;
  /// The extent that holds the value of the entry at `entry`: 0 when the value is inline, or when
  /// what the entry names is not an extent that names it in turn.
  uint64_t ExtentOf(uint64_t entry) const noexcept;

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
  /// Keeps the free chunks of a run, and those that become free there, for an extent of up to
  /// `count` chunks that a write asks for; one run at a time, the last one. So the rest of it can
  /// be emptied without other allocations filling it again.
  void KeepRun(uint64_t first, uint64_t count);
  /// Anybody may have the chunks of the run that was kept.
  void LetRunGo();
  /// Whether a write could have a run of `count` chunks now, without growth.
  bool HasRun(uint64_t count);
  /// Chunks that a value of `bytes` takes with its header.
  uint64_t ExtentChunks(uint64_t bytes) const noexcept {
    return (bytes + sizeof(format::ExtentHeader) + chunk_bytes() - 1) >> chunk_shift_;
  }
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
  Status AnnounceFormatVersion();

  uint64_t free_chunks() const;
  /// Free chunks except those that writes must leave alone; below zero when too few are left.
  int64_t spare_chunks() const;
  /// Chunks that hold something, headers among them.
  uint64_t used_chunks() const;
  /// Chunks of the kind kWriteAhead; exact when none is allocated or freed meanwhile.
  uint64_t write_ahead_chunks() const noexcept {
    return write_ahead_chunks_.load(std::memory_order_relaxed);
  }
  uint64_t free_chunks_of(uint32_t region) const;
  uint64_t chunks_of(uint32_t region) const noexcept {
    BRAID_DCHECK(region < regions_);
    return region_chunks_[region].load(std::memory_order_relaxed);
  }
  /// Allocations that another region than theirs has served.
  uint64_t region_fallbacks() const noexcept {
    return region_fallbacks_.load(std::memory_order_relaxed);
  }
  uint64_t pool_bytes() const noexcept { return chunks() << chunk_shift_; }
  uint64_t max_bytes() const noexcept { return max_bytes_; }
  /// Compares the free list and the states in DRAM with the states on the medium; what differs, as
  /// text. `redo_chunks`: how many the manifest names. The caller keeps others from allocating and
  /// freeing.
  std::vector<std::string> CheckAllocator(uint64_t redo_chunks);
  /// Grows a region that has few free chunks, fewer than its share of `demand` or than is usual,
  /// and touches the new pages. By one thread. True when a region has grown.
  bool GrowAhead(uint64_t demand);
  /// Chunks that were taken since the open.
  uint64_t chunks_taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
  /// Adds a segment to a region. One thread at a time does the work, others wait for it. Errors:
  /// OutOfSpace, IOError.
  Status Grow(uint32_t region, uint64_t chunks_in_a_run = 1);

  /// Records that readers must know `incompat`; before a pool is published.
  Status RequireFeature(uint64_t incompat);
  /// Records in the header that writes follow / that the pool was closed in order.
  /// `incompat`: features that this session may use.
  Status MarkDirty(uint64_t incompat = 0);
  /// After a power loss on page-cache media: no chunk will have a generation again that it may have
  /// had in a life whose state was lost while some of its pages were not. Durable on return.
  Status RaiseGenerations();
  /// Notes durably that features are in use that a reader must know. Two fences, the first time.
  Status AnnounceIncompat(uint64_t features);
  Status MarkClean();
  /// Of a pool that is opened for reading: as what it is for its other readers, nothing of it
  /// changes; what recovery stores is in copies of pages, of this process.
  bool read_only() const noexcept { return media_->read_only(); }
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
    return chunks() * (sizeof(uint64_t) + sizeof(uint64_t) + (regions_ > 1 ? 1 : 0));
  }
  /// The operating system was restarted since the last writer: caches are lost.
  bool boot_changed() const noexcept { return boot_changed_; }

  /// True when the medium failed under a load or store (media.h): nothing that was read since can
  /// be relied on, nothing that was stored may be acknowledged. Cost: one load of a line that is
  /// hardly ever written. Asked after the accesses that it is to judge.
  bool failed() const noexcept {
    // Keeps the compiler from asking before the accesses; the processor keeps loads in order, and
    // the flag is set by the thread that failed, or before the zeros that this one read.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return fault_.load(std::memory_order_acquire) != 0;
  }
  /// What failed() means, in words; ok when it is false.
  Status FaultStatus() const;

  /// Corruption at `offset` of what `object` names, in the words all such messages use.
  Status CorruptionAt(uint64_t offset, const std::string& object, const std::string& detail) const;

 private:
  static constexpr uint64_t kHeadPages = 2 * format::kPageBytes;
  // The heads of tables take all the room between what comes before them and the state table.
  static_assert(kHeadPages == format::kTableHeads * sizeof(format::TableHead));
  static_assert(format::kTableHeadsOffset + kHeadPages == format::StateTableOffset(0));
  static_assert(format::kRegionHeadsOffset + kHeadPages == format::StateTableOffset(1, 2));
  // Chunk states are read without a lock, and on the medium they are words that can't tear.
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  struct Segment {
    uint64_t base = 0;
    uint64_t bytes = 0;
    uint64_t state_table = 0;  // offset in the pool
    uint64_t first_chunk = 0;
    uint64_t meta_chunks = 0;
    uint32_t region = 0;
  };

  PmemPool(std::unique_ptr<media::Media> media, const Options& options);
  // Before others know the pool, and without locks:
  Status Create(const Options& options,
                const std::function<Status(PmemPool*)>& init) BRAID_NO_THREAD_CHECK;
  Status Load(const Options& options) BRAID_NO_THREAD_CHECK;
  Status LoadSegment(uint32_t index, uint64_t base, uint64_t bytes) BRAID_NO_THREAD_CHECK;
  Status CheckRegions(const Options& options) const;
  bool CountsSegments(uint64_t found) const noexcept;
  /// Gives each region that has none its first segment: a new pool, or one whose creation a crash
  /// has interrupted.
  Status CompleteRegions() BRAID_NO_THREAD_CHECK;
  void MapRegion(const Segment& segment);
  void InitRegionHeads(uint64_t base);
  uint64_t LeastBytes(uint32_t index, uint64_t chunks) const noexcept;
  Segment InitSegment(uint32_t index, uint32_t region, uint64_t base, uint64_t bytes);
  void AddSegment(const Segment& segment, std::vector<uint64_t>* fresh);
  uint64_t GrowthBytes(uint32_t region, uint64_t chunks_in_a_run) const BRAID_REQUIRES(grow_mutex_);
  uint64_t ShareBytes() const noexcept;
  Status GrowLocked(uint32_t region, uint64_t chunks_in_a_run) BRAID_REQUIRES(grow_mutex_);
  Status TakeBackSegment(Status reason) BRAID_REQUIRES(grow_mutex_);
  uint32_t segment_count() const;
  Status LoadStates(const Segment& segment) BRAID_NO_THREAD_CHECK;
  Status WriteHeader();
  /// After a crash of the process only: writes back what it had stored and not flushed.
  void FlushInherited() BRAID_NO_THREAD_CHECK;
  /// Of the chunk's next life.
  uint32_t NextGeneration(uint64_t chunk) const noexcept;
  uint64_t* StateWord(uint64_t chunk) noexcept BRAID_REQUIRES(mutex_);
  void MakeFree(uint64_t chunk);
  void SetState(uint64_t chunk, format::ChunkKind kind, uint32_t generation);
  /// First of `count` neighbouring chunks.
  Result<uint64_t> Take(uint64_t count, uint32_t region, AllocationClass allocation);
  std::optional<uint64_t> TakeFree(uint64_t count, uint32_t region, AllocationClass allocation);
  uint64_t TakeOne(std::vector<uint64_t>* free) BRAID_REQUIRES(mutex_);
  std::optional<size_t> FindRun(uint64_t count, uint32_t region, bool kept_too)
      BRAID_REQUIRES(mutex_);
  bool IsKept(uint64_t chunk) const noexcept BRAID_REQUIRES(mutex_) {
    return chunk - kept_.first < kept_.count;
  }
  uint64_t FreeCount() const noexcept BRAID_REQUIRES(mutex_);
  uint64_t ReserveFor(AllocationClass allocation) const;
  Status FullError() const;

  mutable base::MemoryUsers memory_users_;
  base::MemoryCharge copies_{&memory_users_};  // pages, of a pool opened for reading
  std::unique_ptr<media::Media> media_;
  const std::atomic<uint64_t>& fault_;
  media::PersistOps ops_;
  char* base_;
  uint64_t reserved_bytes_;  // from there on
  uint32_t chunk_shift_ = 0;
  uint64_t max_bytes_ = 0;
  uint64_t initial_bytes_ = 0;
  const uint64_t memory_budget_;
  format::PoolHeader header_{};
  int newest_header_ = 0;  // copy that is known to be intact
  bool was_clean_ = false;
  bool created_ = false;
  bool boot_changed_ = false;
  uint64_t redo_chunks_[2] = {0, 0};
  std::atomic<uint64_t> extension_{0};  // offset

  base::Mutex header_mutex_;
  base::Mutex grow_mutex_;
  std::atomic<uint64_t> taken_{0};                     // chunks, since the open
  Status growth_error_ BRAID_GUARDED_BY(grow_mutex_);  // a segment could not be taken back
  mutable base::Mutex mutex_;
  // A region: chunk numbers, taken from the back; has room for all there are.
  std::array<std::vector<uint64_t>, format::kMaxRegions> free_ BRAID_GUARDED_BY(mutex_);
  std::vector<Segment> segments_ BRAID_GUARDED_BY(mutex_);  // appended by Grow
  // The run that is kept, and how many of its chunks are free; no chunks: there is none.
  struct {
    uint64_t first = 0;
    uint64_t count = 0;
    uint64_t free = 0;
  } kept_ BRAID_GUARDED_BY(mutex_);
  uint64_t unlisted_ BRAID_GUARDED_BY(mutex_) =
      0;  // free chunks of a segment that is just being added
  /// Whose entries are to be copied; as many chunks are kept free for that, twice over.
  std::atomic<uint64_t> write_ahead_chunks_{0};
  std::atomic<uint64_t> chunks_{0};
  std::array<std::atomic<uint64_t>, format::kMaxRegions> region_chunks_{};
  std::atomic<uint64_t> region_fallbacks_{0};
  uint32_t regions_ = 1;
  uint32_t strands_ = 1;
  std::array<uint64_t, format::kMaxRegions> region_heads_{format::kTableHeadsOffset};
  media::RegionMap region_map_;

  media::SparseTable<std::atomic<uint64_t>> states_;    // DRAM copy of the state words
  media::SparseTable<std::atomic<uint8_t>> region_of_;  // of chunks; with several regions only
};

}  // namespace braid::pool
