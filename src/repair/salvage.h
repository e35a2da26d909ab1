// Purpose: finds what a damaged pool still holds: the newest intact version of each key, from the
// entries themselves. Reads only; trusts no link, table or count.
// Thread safety: one thread.
// Persistence: none; the pool is not changed.
//
// Of all entries of a key that count, the newest by sequence number decides. Which entries count,
// and why, is in docs/internals/repair.md; in short:
//  - a live put: its value is salvaged.
//  - a delete, live or obsolete: the key is gone.
//  - an obsolete put: what superseded it is lost, and so is the key.
//  - a live put with a damaged value: the key is lost, and listed by name.
//  - entries with a damaged header or key are not recognised; the damaged range is listed.
//  - torn writes, and marks or links of a flush that did not commit, do not count.
//
// Invariants:
//   1. No byte is used before bounds and check.
//   2. What is salvaged was written with this value under this key.
//   3. Where a version may be missing there is a finding. Known limit: of two lives of a chunk the
//      newer counts; entries lost at the very end of a log that was never flushed leave no trace
//      when nothing but zeros is in their place.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "braid/repair.h"
#include "format/manifest.h"
#include "media/pool_image.h"
#include "recovery/entry_scan.h"
#include "repair/geometry.h"

namespace braid::repair {

class Salvage {
 public:
  /// Reads the whole pool at `path` and decides for each key. Errors: those of PoolImage::Open and
  /// FindGeometry.
  static Result<std::unique_ptr<Salvage>> Read(const std::string& path,
                                               const RepairOptions& options);
  /// The same of an image that is open; `boot_id`: of the machine as it runs now.
  static Result<std::unique_ptr<Salvage>> Read(std::unique_ptr<media::PoolImage> image,
                                               const RepairOptions& options,
                                               const std::string& boot_id);
  ~Salvage();

  /// Calls `take` for each salvaged key, in key order, until it returns an error.
  Status ForEachRecord(
      const std::function<Status(std::string_view key, std::string_view value)>& take) const;
  uint64_t records() const noexcept { return records_.size(); }
  /// Facts and findings, sorted by file and offset; records and bytes are the caller's to fill in.
  RepairReport TakeReport() { return std::move(report_); }
  uint64_t chunk_bytes() const noexcept { return geometry_.chunk_bytes; }
  /// Name of the order of its keys; null when no header is left that tells it.
  const char* key_order() const noexcept {
    return geometry_.header ? geometry_.header->comparator : nullptr;
  }

 private:
  /// What is known of an entry besides its bytes.
  enum Fact : uint16_t {
    kValueIntact = 1,
    kLive = 2,
    kStateDamaged = 4,  // neither live nor obsolete
    kCommitted = 8,     // its write was whole
    kFlushed = 16,      // it belongs to a table
    kLinked = 32,       // a bottom link, or a leaf, leads to it
  };
  struct Candidate {
    uint64_t offset = 0;
    uint16_t facts = 0;
    bool is(Fact fact) const noexcept { return (facts & fact) != 0; }
  };
  /// A chunk that holds entries.
  struct EntryChunk {
    uint64_t chunk = 0;
    uint32_t generation = 0;
    bool has_header = false;
    bool collected = false;
    bool is_log = false;              // its state says so
    format::LogChunkHeader header{};  // when has_header
    uint64_t end_of_entries = 0;      // offset behind the last intact one
    size_t first_candidate = 0;
    size_t candidates = 0;
    std::vector<media::PoolImage::Range> gaps;  // that are not judged yet
  };
  class ChunkVisitor;

  Salvage() = default;

  // salvage_chunks.cc: what lies where
  void LoadManifest();
  void ReadRedo();
  void TakeUpdates(uint64_t place);
  void ClassifyChunks();
  void ClassifyChunk(const SegmentPlace& segment, uint64_t chunk);
  void ReadEntries(const std::function<void(double)>& progress);
  void ReadChunk(EntryChunk* chunk);
  void JudgeLogs();
  void JudgeLog(std::vector<EntryChunk*>* chunks);
  void NoteGaps(EntryChunk* chunk);
  void JudgeGaps(const std::vector<EntryChunk*>& chunks);
  void NoteEnds(const std::vector<EntryChunk*>& chunks);
  bool IsFlushed(const EntryChunk& chunk) const noexcept;
  /// A log whose table is known not to be flushed.
  bool IsOpenLog(const EntryChunk& chunk) const noexcept {
    return has_manifest_ && chunk.has_header && chunk.is_log && !has_leaves_ && !IsFlushed(chunk);
  }
  /// Not of a log whose table is known not to be flushed: recovery sets its links again. There they
  /// lead to older versions, are of a flush that was not committed, or, since no check covers them,
  /// of the chunk's earlier life, where a crash took the store of a link out of a last write.
  bool LinksAreOfTable(const EntryChunk& chunk) const noexcept {
    return !has_manifest_ || !chunk.has_header || IsFlushed(chunk);
  }
  /// Nothing in it had been synced, or the header was damaged since: then only whole writes count.
  bool LostHeaderWithPower(const EntryChunk& chunk) const noexcept {
    return !links_mean_something_ && !chunk.has_header && !has_leaves_;
  }
  /// Bytes of it that hold no entry may be what a power loss has taken before it was synced: of a
  /// log now, or of chunks that a rebuild has made tables of; or they are of another life. Once all
  /// of the chunk was read.
  bool MayHaveGaps(const EntryChunk& chunk) const noexcept {
    return (!links_mean_something_ && IsOpenLog(chunk)) || LostHeaderWithPower(chunk) ||
           chunk.generation < GenerationFloor() || MayBeOfAnExtent(chunk);
  }
  /// A chunk that was given back, which waits for all obsolete marks, and of whose next life, that
  /// of a large value, some sectors have reached the medium, the state has not.
  bool MayBeOfAnExtent(const EntryChunk& chunk) const noexcept;
  uint32_t GenerationFloor() const noexcept {
    const uint64_t floor = geometry_.header ? geometry_.header->generation_floor : 0;
    return static_cast<uint32_t>(std::min<uint64_t>(floor, ~uint32_t{0}));
  }
  bool IsLeftOut(const EntryChunk& chunk, format::ChunkKind kind) const noexcept;
  /// The same where the power took the header that would tell: numbers of tables end with the last.
  /// Without a power loss the header is damaged, and what stands behind it counts.
  bool IsOfNoTable(const EntryChunk& chunk, const format::EntryHeader& entry) const noexcept {
    return !links_mean_something_ && chunk.collected && !chunk.has_header && has_manifest_ &&
           entry.sequence() > manifest_.last_sequence;
  }
  std::vector<uint64_t> ChunksToLookAt(const SegmentPlace& segment) const;
  bool WasLinked(const format::EntryHeader& entry) const;
  void Commit(uint64_t offset);
  Candidate* FindCandidate(uint64_t offset);

  // salvage_leaves.cc: pools of leaves
  void FollowLeaves();
  bool ReadLeaves(std::vector<uint64_t>* named);
  bool ReadLeaf(uint64_t offset, std::vector<uint64_t>* named);
  bool WasClosed() const noexcept;

  // salvage.cc: what counts
  void FollowLinks();
  void FollowTable(const format::TableRecord& table, std::vector<uint64_t>* lost);
  void FollowEntries(const EntryChunk& chunk, std::vector<uint64_t>* lost);
  void FollowHead(uint64_t head, const format::TableRecord& table, uint32_t layer,
                  std::vector<uint64_t>* lost);
  void TakeLink(uint64_t raw, bool bottom, std::vector<uint64_t>* targets);
  void Decide();
  void DecideKey(const std::vector<const Candidate*>& versions);
  bool ValueIsIntact(const format::EntryHeader& entry, bool live);
  bool ExtentIsIntact(const format::ExtentRef& ref);
  std::string_view ValueOf(const format::EntryHeader& entry) const;
  const format::EntryHeader* EntryOf(const Candidate& candidate) const {
    return reinterpret_cast<const format::EntryHeader*>(image_->base() + candidate.offset);
  }
  recovery::EntryRegion RegionOf(const EntryChunk& chunk) const;

  void Note(uint64_t offset, uint64_t bytes, const std::string& object, const std::string& problem,
            bool lost, const format::EntryHeader* entry = nullptr);
  void NoteUnreadable();
  void NoteUnknownChunks();

  std::unique_ptr<media::PoolImage> image_;
  Geometry geometry_;
  bool has_manifest_ = false;
  bool links_mean_something_ = true;  // false after a power loss on page-cache media
  format::ManifestState manifest_;
  bool has_leaves_ = false;
  bool has_leaf_index_ = false;
  std::vector<EntryChunk> chunks_;  // ascending
  std::vector<Candidate> candidates_;
  std::vector<uint64_t> records_;  // offsets of the entries that were salvaged, in key order
  std::unordered_set<uint64_t> redo_obsolete_;
  std::vector<uint64_t> redo_links_;                  // link words that a merge was about to store
  std::vector<uint64_t> redo_chunks_;                 // offsets
  std::vector<uint64_t> idle_chunks_;                 // numbers: free, or left out; ascending
  std::vector<uint64_t> unknown_chunks_;              // offsets: neither state nor header is intact
  std::vector<media::PoolImage::Range> gaps_;         // in chunks of a pool of leaves
  std::vector<media::PoolImage::Range> lost_ranges_;  // what findings cover already
  /// Bytes of extents that are intact, by their begin: no two of a pool share any. So all of them
  /// are read once, whatever entries name.
  struct IntactExtent {
    uint64_t end = 0;
    uint64_t check = 0;
  };
  std::map<uint64_t, IntactExtent> extents_;
  uint64_t extent_bytes_left_ = 0;  // that may still be read for that
  RepairReport report_;
};

}  // namespace braid::repair
