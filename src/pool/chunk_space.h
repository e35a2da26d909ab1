// Purpose: addresses and reads the chunks of a pool: addresses for offsets, the copy in DRAM of the
// chunks' states, their regions, and whether bytes of the medium can be an entry, an extent or a
// table head. Checks every offset that comes from the medium.
// Thread safety: what is public from any thread, without a lock, unless a call says otherwise; what
// is protected is called by one thread at a time.
// Invariants:
//   1. Addresses, sizes, regions and strands stay as they were set before others knew the space.
//   2. The number of chunks only grows: a reader that sees it sees their states and regions.
// Persistence: none; nothing is stored to the medium here.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "braid/status.h"
#include "format/entry.h"
#include "format/layout.h"
#include "format/manifest.h"
#include "media/media.h"
#include "media/sparse_table.h"
#include "media/thread_region.h"

namespace braid::pool {

class ChunkSpace {
 public:
  ChunkSpace(const ChunkSpace&) = delete;
  ChunkSpace& operator=(const ChunkSpace&) = delete;

  media::Media& media() noexcept { return *media_; }
  const media::Media& media() const noexcept { return *media_; }

  /// Parts of the pool, each a set of segments; one for each NUMA node.
  const media::RegionMap& region_map() const noexcept { return region_map_; }
  uint32_t regions() const noexcept { return regions_; }
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
  uint64_t chunks_of(uint32_t region) const noexcept {
    BRAID_DCHECK(region < regions_);
    return region_chunks_[region].load(std::memory_order_relaxed);
  }
  /// Chunks of large values, those among them that wait to be freed; exact when none is allocated
  /// or freed meanwhile.
  uint64_t extent_chunks() const noexcept { return extent_chunks_.load(std::memory_order_relaxed); }
  uint64_t pool_bytes() const noexcept { return chunks() << chunk_shift_; }
  /// Whole chunks that so many bytes are.
  uint64_t ChunksIn(uint64_t bytes) const noexcept { return bytes >> chunk_shift_; }

  /// The entry at `offset`, or null when no entry can be there: bounds, alignment and chunk kind
  /// are checked, and that the entry's own sizes stay within its chunk.
  format::EntryHeader* EntryAt(uint64_t offset) noexcept;
  const format::EntryHeader* EntryAt(uint64_t offset) const noexcept {
    return const_cast<ChunkSpace*>(this)->EntryAt(offset);
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
  /// The entry that holds the value of `node`, which refers to it: 0 when it refers to none, or
  /// when what it names is no entry of the same key and number. The checks of that one are the
  /// caller's.
  uint64_t CarrierOf(const format::EntryHeader& node) const noexcept;
  /// Chunks that a value of `bytes` takes with its header.
  uint64_t ExtentChunks(uint64_t bytes) const noexcept {
    return (bytes + sizeof(format::ExtentHeader) + chunk_bytes() - 1) >> chunk_shift_;
  }

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

 protected:
  explicit ChunkSpace(std::unique_ptr<media::Media> media);
  ~ChunkSpace() = default;

  /// Before anything else is asked; `chunk_bytes` is a power of two.
  void SetLayout(uint64_t chunk_bytes, uint32_t regions, bool braided) noexcept;
  /// Of states and regions, for all chunks that the medium may ever have. IOError.
  Status MakeTables();
  void SetRegionMap(const media::RegionMap& map) noexcept { region_map_ = map; }
  /// The chunks of a segment belong to this region. Known to others from PublishChunks on.
  void MapRegion(uint64_t base, uint64_t bytes, uint32_t region) noexcept;
  void SetStateOf(uint64_t chunk, format::ChunkState state) noexcept {
    // One thread at a time changes the state of a chunk.
    const bool was_extent = format::IsOfExtent(StateOf(chunk).kind());
    states_[chunk].store(state.raw, std::memory_order_relaxed);
    const bool is_extent = format::IsOfExtent(state.kind());
    if (is_extent && !was_extent) extent_chunks_.fetch_add(1, std::memory_order_relaxed);
    if (was_extent && !is_extent) extent_chunks_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// There are so many chunks, whose states and regions were set.
  void PublishChunks(uint64_t chunks) noexcept {
    BRAID_DCHECK(chunks >= chunks_.load(std::memory_order_relaxed));  // invariant 2
    // Release pairs with chunks(): a reader that sees the count sees the states.
    chunks_.store(chunks, std::memory_order_release);
  }

 private:
  static constexpr uint64_t kHeadPages = 2 * format::kPageBytes;
  // The heads of tables take all the room between what comes before them and the state table.
  static_assert(kHeadPages == format::kTableHeads * sizeof(format::TableHead));
  static_assert(format::kTableHeadsOffset + kHeadPages == format::StateTableOffset(0));
  static_assert(format::kRegionHeadsOffset + kHeadPages == format::StateTableOffset(1, 2));
  // Chunk states are read without a lock, and on the medium they are words that can't tear.
  static_assert(std::atomic<uint64_t>::is_always_lock_free);

  const std::unique_ptr<media::Media> media_;
  const std::atomic<uint64_t>& fault_;
  char* const base_;
  const uint64_t reserved_bytes_;  // from there on
  uint32_t chunk_shift_ = 0;
  uint32_t regions_ = 1;
  uint32_t strands_ = 1;
  std::atomic<uint64_t> chunks_{0};
  std::atomic<uint64_t> extent_chunks_{0};
  std::atomic<uint64_t> extension_{0};                  // offset
  media::SparseTable<std::atomic<uint64_t>> states_;    // DRAM copy of the state words
  media::SparseTable<std::atomic<uint8_t>> region_of_;  // of chunks; with several regions only
  std::array<uint64_t, format::kMaxRegions> region_heads_{format::kTableHeadsOffset};
  std::array<std::atomic<uint64_t>, format::kMaxRegions> region_chunks_{};
  media::RegionMap region_map_;
};

}  // namespace braid::pool
