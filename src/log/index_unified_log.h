// Purpose: the log of one memtable. Its entries are written in the shape of skip-list nodes, so
// that flushing the memtable links them instead of copying them. One log has several shards, each a
// list of chunks, so that writers on different shards share nothing.
// Thread safety: calls on one shard are serialised by the caller (its shard lock); calls on
// different shards run side by side. chunks() only after the writers have left.
// Invariants:
//   1. Within a shard, entries lie in the order of their writes; a chunk is left only when the next
//      one's header records how much of it is used.
//   2. Every line of an entry is flushed once, and Fence comes before the entry is shown to anybody
//      (durable linearizability).
// Persistence: an entry commits when its lines are durable: one flush, one fence, since a torn
// entry fails its checks. A batch commits as its last entry does: an entry marked kMoreOfUnit
// counts only if the whole chain up to one without the mark is intact (log_reader.h).
// Source: ListDB 6.3, Algorithm 4; checks in place of a committed length, shards and batches are
// braid's.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "braid/status.h"
#include "format/entry.h"
#include "pool/pool.h"

namespace braid::log {

/// An update on its way into the log.
struct PendingEntry {
  format::EntryOp op = format::EntryOp::kPut;
  std::string_view key;
  std::string_view value;
  uint64_t key_hash = 0;
  /// A reserved extent that has the value already, as extent_ref says; 0: Reserve takes one for a
  /// large value, and WritePayload copies it.
  uint64_t reserved = 0;
  uint32_t wanted_height = 0;  ///< 0: Reserve draws one
  bool refers = false;         ///< `value` is an EntryRef
  // Filled in by Reserve:
  uint64_t offset = 0;
  uint64_t extent = 0;  // of a large value, else 0
  uint32_t height = 0;
  uint32_t value_check = 0;
  format::ExtentRef extent_ref{};

  std::string_view stored_value() const noexcept {
    return extent == 0
               ? value
               : std::string_view(reinterpret_cast<const char*>(&extent_ref), sizeof extent_ref);
  }
};

class IndexUnifiedLog {
 public:
  IndexUnifiedLog(pool::PmemPool* pool, uint64_t table_id, uint32_t shards,
                  format::ChunkKind kind = format::ChunkKind::kLog);
  /// The kind is that of the entry for which the first chunk is taken: write-ahead up to so many
  /// bytes.
  struct ByFirstEntry {
    uint64_t largest_copied;
  };
  IndexUnifiedLog(pool::PmemPool* pool, uint64_t table_id, uint32_t shards, ByFirstEntry rule);

  /// Finds room for `count` entries and chooses their heights; allocates chunks and extents as
  /// needed. On error nothing is held. `random` is any well-mixed word. Commit or Rollback comes
  /// before the next Reserve of the shard, unless no chunk and no extent was taken: then this room
  /// is used again.
  Status Reserve(uint32_t shard, PendingEntry* entries, size_t count, uint64_t random,
                 pool::AllocationClass allocation);
  /// Writes key and value of a placed pending entry; the lines that the header does not touch are
  /// flushed.
  void WritePayload(PendingEntry* pending);
  /// The part of WritePayload that an entry which is not written here needs, too: a large value
  /// goes to its extent, flushed; the pending entry learns its check.
  void WriteExtent(PendingEntry* pending);
  /// Header and links of a placed pending entry, as they will lie in the pool. Returns their bytes.
  struct HeaderImage {
    format::EntryHeader header;
    uint64_t links[format::kMaxHeight];
  };
  static_assert(sizeof(HeaderImage) == sizeof(format::EntryHeader) + 8 * format::kMaxHeight);
  size_t MakeHeader(const PendingEntry& pending, uint64_t sequence, uint8_t flags, uint64_t older,
                    HeaderImage* image) const;
  /// Writes the header with its place in the order and flushes the rest. The entry is committed by
  /// the caller's next Fence. `older`: the version it replaces in the memtable, or 0.
  void Publish(const PendingEntry& pending, uint64_t sequence, uint8_t flags, uint64_t older);
  /// The same for an entry of a list that is linked in place; `links` has its height.
  void PublishLinked(const PendingEntry& pending, uint64_t sequence, uint8_t flags,
                     const uint64_t* links);
  /// Moves the shard's tail behind what was placed.
  void Commit(uint32_t shard);
  /// Gives back what Reserve took, reserved extents too, after a failure elsewhere.
  void Rollback(uint32_t shard, PendingEntry* entries, size_t count);

  uint64_t table_id() const noexcept { return table_id_; }
  /// Of its chunks; none before the first one, where that is to decide.
  std::optional<format::ChunkKind> kind() const noexcept {
    // Relaxed: shown once the writers have left, or to those who have taken a chunk.
    const format::ChunkKind kind = kind_.load(std::memory_order_relaxed);
    return kind == kUndecided ? std::nullopt : std::optional(kind);
  }
  /// Whether a value was given an extent. Once the writers have left.
  bool has_extents() const noexcept { return has_extents_.load(std::memory_order_relaxed); }
  /// Bytes left in the chunk that the shard's next entry goes to.
  uint64_t room(uint32_t shard) const noexcept {
    BRAID_DCHECK(shard < shards_.size());
    const Position& at = shards_[shard].accepted;
    return at.chunk == 0 ? 0 : pool_->ChunkOffset(at.chunk) + pool_->chunk_bytes() - at.tail;
  }
  /// All chunks, for accounting and collection.
  std::vector<uint64_t> chunks() const;
  /// The bytes of entries in each of them, and nothing was given back in between.
  struct ChunkUse {
    uint64_t chunk;
    uint64_t bytes;
  };
  std::vector<ChunkUse> UsedBytes() const;

 private:
  struct Position {
    uint64_t chunk = 0;  // 0: none yet (chunk 0 holds headers)
    uint64_t tail = 0;   // offset in the pool of the next entry
    uint32_t next_ordinal = 0;
  };
  struct alignas(64) Shard {
    Position accepted;
    Position placed;
    std::vector<uint64_t> chunks;
    std::vector<uint64_t> new_chunks;  // by the last Reserve
  };

  uint64_t EntrySize(PendingEntry* pending) const;
  Status AdvanceChunk(uint32_t shard_index, uint64_t entry_bytes, bool within_unit,
                      pool::AllocationClass allocation);
  format::ChunkKind DecideKind(uint64_t entry_bytes) noexcept;
  Status PlaceExtent(PendingEntry* pending, pool::AllocationClass allocation);
  void WriteHeader(const PendingEntry& pending, const HeaderImage& image, size_t bytes);

  static constexpr format::ChunkKind kUndecided = format::ChunkKind::kFree;

  pool::PmemPool* pool_;
  uint64_t table_id_;
  uint64_t largest_copied_ = 0;  // where the kind is to be decided
  std::atomic<format::ChunkKind> kind_;
  std::atomic<bool> has_extents_{false};
  std::vector<Shard> shards_;
};

/// Writes `value` to a reserved extent, flushed.
void WriteToExtent(pool::PmemPool* pool, uint64_t extent, std::string_view value);

/// Values of more bytes than this go to extents of their own.
inline uint64_t LargestInlineValue(const pool::PmemPool& pool) noexcept {
  return pool.chunk_bytes() / 2;
}

}  // namespace braid::log
