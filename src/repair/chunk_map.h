// Purpose: determines the content of each chunk of a damaged pool, from its state, its header, and
// the manifest.
// Thread safety: one thread until Classify has returned, reads from any thread afterwards.
// Invariants:
//   1. A chunk that holds any bytes, or has a state, is in a list, unless its state is damaged and
//      it begins with the header of an extent.
//   2. Lists are ascending, with each chunk no more than once.
//   3. A chunk of entries is in one life, and entries of no other are looked for.
// Persistence: none.
// Source: docs/internals/repair.md, "Which entries count".
#pragma once

#include <utility>
#include <vector>

#include "format/layout.h"
#include "repair/damaged_pool.h"
#include "repair/findings.h"

namespace braid::repair {

/// A chunk that holds entries.
struct EntryChunk {
  uint64_t chunk = 0;  // its number
  uint32_t generation = 0;
  bool has_header = false;
  bool collected = false;
  bool is_log = false;              // its state, or else its header, says so
  format::LogChunkHeader header{};  // when has_header

  void SetKind(format::ChunkKind kind) noexcept {
    collected = kind == format::ChunkKind::kCollected || kind == format::ChunkKind::kCopied;
    is_log = format::IsLogKind(kind);
  }
};

class ChunkMap {
 public:
  /// Both outlive it.
  ChunkMap(const DamagedPool& pool, Findings* findings) : pool_(pool), findings_(findings) {}

  /// Looks at all chunks; once, and before anything else is asked.
  void Classify();

  /// Chunks that hold entries; the map has them no longer.
  std::vector<EntryChunk> TakeEntryChunks() { return std::move(entry_chunks_); }
  /// Offsets of those that may hold redo records.
  const std::vector<uint64_t>& redo_chunks() const noexcept { return redo_chunks_; }
  /// Offsets of those whose state and header are both damaged.
  const std::vector<uint64_t>& unknown_chunks() const noexcept { return unknown_chunks_; }
  /// Whether chunk number `chunk` is free, or holds nothing that counts.
  bool IsIdle(uint64_t chunk) const noexcept;
  /// The pool is one of leaves.
  bool has_leaves() const noexcept { return has_leaves_; }
  /// Whether all obsolete marks had become durable, in a pool of leaves.
  bool WasClosed() const noexcept;

  bool IsFlushed(const EntryChunk& chunk) const noexcept;
  /// A log whose table is known not to be flushed.
  bool IsOpenLog(const EntryChunk& chunk) const noexcept {
    return pool_.has_manifest() && chunk.has_header && chunk.is_log && !has_leaves_ &&
           !IsFlushed(chunk);
  }
  /// Not of a log whose table is known not to be flushed: recovery sets its links again. There they
  /// lead to older versions, are of a flush that was not committed, or, since no check covers them,
  /// of the chunk's earlier life, where a crash took the store of a link out of a last write.
  bool LinksAreOfTable(const EntryChunk& chunk) const noexcept {
    return !pool_.has_manifest() || !chunk.has_header || IsFlushed(chunk);
  }
  /// Nothing in it had been synced, or the header was damaged since: then only whole writes count.
  bool LostHeaderWithPower(const EntryChunk& chunk) const noexcept {
    return pool_.lost_page_cache() && !chunk.has_header && !has_leaves_;
  }
  /// The entry is of a table that was not committed, and the power took the header that would tell:
  /// numbers of tables end with the last. Without a power loss the header is damaged, and what
  /// stands behind it counts.
  bool IsOfNoTable(const EntryChunk& chunk, const format::EntryHeader& entry) const noexcept {
    return pool_.lost_page_cache() && chunk.collected && !chunk.has_header &&
           pool_.has_manifest() && entry.sequence() > pool_.manifest().last_sequence;
  }

 private:
  std::vector<uint64_t> ChunksToLookAt(const SegmentPlace& segment) const;
  void ClassifyChunk(const SegmentPlace& segment, uint64_t chunk);
  void ClassifyByHeader(EntryChunk found, bool is_extent, uint64_t word);
  bool BeganLaterLife(const EntryChunk& found, uint64_t word);
  bool IsLeftOut(const EntryChunk& chunk, format::ChunkKind kind) const noexcept;

  const DamagedPool& pool_;
  Findings* findings_;
  std::vector<EntryChunk> entry_chunks_;
  std::vector<uint64_t> idle_chunks_;  // numbers
  std::vector<uint64_t> redo_chunks_;
  std::vector<uint64_t> unknown_chunks_;
  bool has_leaves_ = false;
  bool has_leaf_index_ = false;
};

}  // namespace braid::repair
