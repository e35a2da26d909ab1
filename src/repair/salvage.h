// Purpose: finds what a damaged pool still holds: the newest intact version of each key, from the
// entries themselves, and from the tier below it, where there is one. Reads only; trusts no link,
// table or count.
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
//  - of the pool's newest and the tier's version the newer one decides; of equal ones, the intact.
//
// Invariants:
//   1. No byte is used before bounds and check.
//   2. What is salvaged was written with this value under this key.
//   3. Where a version may be missing there is a finding. Known limit: of two lives of a chunk the
//      newer counts; entries lost at the very end of a log that was never flushed leave no trace
//      when nothing but zeros is in their place.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/repair.h"
#include "format/manifest.h"
#include "media/pool_image.h"
#include "recovery/entry_scan.h"
#include "repair/chunk_map.h"
#include "repair/damaged_pool.h"
#include "repair/findings.h"
#include "repair/redo_updates.h"
#include "repair/value_reader.h"
#include "tier/store.h"

namespace braid::repair {

class Salvage {
 public:
  /// Reads the whole pool at `path` and decides for each key. `tier`: folder of its tier; empty: it
  /// is left out, and where there is one the report says so. Errors: those of PoolImage::Open and
  /// FindGeometry; of the tier: NotFound, NotSupported, Busy, Corruption (RocksDB can't open it),
  /// InvalidArgument (it is not the pool's).
  static Result<std::unique_ptr<Salvage>> Read(const std::string& path,
                                               const RepairOptions& options,
                                               const std::string& tier = "");
  /// The same of an image that is open; `boot_id`: of the machine as it runs now.
  static Result<std::unique_ptr<Salvage>> Read(std::unique_ptr<media::PoolImage> image,
                                               const RepairOptions& options,
                                               const std::string& boot_id,
                                               const std::string& tier = "");

  Salvage(const Salvage&) = delete;
  Salvage& operator=(const Salvage&) = delete;

  /// Calls `take` for each salvaged key, in key order, until it returns an error.
  Status ForEachRecord(
      const std::function<Status(std::string_view key, std::string_view value)>& take) const;
  uint64_t records() const noexcept { return count_; }
  /// Facts and findings, sorted by file and offset; records and bytes are the caller's to fill in.
  RepairReport TakeReport() { return std::move(report_); }
  uint64_t chunk_bytes() const noexcept { return pool_->chunk_bytes(); }
  /// Name of the order of its keys; null when no header is left that tells it.
  const char* key_order() const noexcept {
    const std::optional<format::PoolHeader>& header = pool_->geometry().header;
    return header ? header->comparator : nullptr;
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
    kCarrier = 64,      // it holds the value of another one; its links are of a list that is gone
  };
  struct Candidate {
    uint64_t offset = 0;
    uint16_t facts = 0;
    bool is(Fact fact) const noexcept { return (facts & fact) != 0; }
  };
  /// A chunk that holds entries, and what was found in it.
  struct ScannedChunk : EntryChunk {
    explicit ScannedChunk(const EntryChunk& chunk) : EntryChunk(chunk) {}
    uint64_t end_of_entries = 0;  // offset behind the last intact one
    size_t first_candidate = 0;
    size_t candidates = 0;
    std::vector<media::PoolImage::Range> gaps;  // that are not judged yet
  };
  /// What the pool says of a key.
  struct Decided {
    uint64_t offset = 0;  // of its newest version
    bool is_salvaged = false;
    bool was_replaced =
        false;  // an obsolete put, and no finding says yet that what was newer is lost
  };
  class ChunkVisitor;

  explicit Salvage(std::unique_ptr<DamagedPool> pool);
  void Run(const std::function<void(double)>& progress);

  // salvage_tier.cc: what the tier has
  std::optional<format::TierRecord> NamedTier() const;
  Status OpenTier(const std::string& path);
  void NoteTier();
  bool TierHas(const format::EntryHeader& entry) const;
  void DecideWithTier();
  Status MergeTier(const tier::Store::Take& take, const tier::Store::TellDamage& tell,
                   const std::function<void(const Decided&, std::string_view)>& older) const;

  // salvage_entries.cc: which entries there are, and which belong to whole writes
  void ReadEntries(const std::function<void(double)>& progress);
  /// Facts that the entry at `offset` and its value tell. `believes_marks`: obsolete marks count.
  uint16_t FactsOf(uint64_t offset, const format::EntryHeader& entry, bool believes_marks);
  void PlaceChunks();
  void JudgeLogs();
  void JudgeLog(std::vector<ScannedChunk*>* chunks);
  void NoteGaps(ScannedChunk* chunk);
  void JudgeGaps(const std::vector<ScannedChunk*>& chunks);
  void NoteEnds(const std::vector<ScannedChunk*>& chunks);
  /// Bytes of it that hold no entry may be what a power loss has taken before it was synced: of a
  /// log now, or of chunks that a rebuild has made tables of; or they are of another life. Once all
  /// of the chunk was read.
  bool MayHaveGaps(const ScannedChunk& chunk) const noexcept {
    return (pool_->lost_page_cache() && map_.IsOpenLog(chunk)) || map_.LostHeaderWithPower(chunk) ||
           chunk.generation < pool_->generation_floor() || MayBeOfAnExtent(chunk);
  }
  /// A chunk that was given back, which waits for all obsolete marks, and of whose next life, that
  /// of a large value, some sectors have reached the medium, the state has not.
  bool MayBeOfAnExtent(const ScannedChunk& chunk) const noexcept;
  bool WasLinked(const format::EntryHeader& entry) const;
  void Commit(uint64_t offset);
  Candidate* FindCandidate(uint64_t offset);

  // salvage_leaves.cc: pools of leaves
  void FollowLeaves();

  // salvage.cc: what counts
  void FollowLinks();
  void FollowTable(const format::TableRecord& table, std::vector<uint64_t>* lost);
  void FollowEntries(const ScannedChunk& chunk, std::vector<uint64_t>* lost);
  void FollowHead(uint64_t head, const format::TableRecord& table, uint32_t layer,
                  std::vector<uint64_t>* lost);
  void TakeLink(uint64_t raw, bool bottom, std::vector<uint64_t>* targets);
  void Decide();
  void DecideKey(const std::vector<const Candidate*>& versions);
  const format::EntryHeader* EntryOf(const Candidate& candidate) const {
    return pool_->EntryAt(candidate.offset);
  }
  recovery::EntryRegion RegionOf(const EntryChunk& chunk) const {
    return pool_->RegionOf(chunk.chunk, chunk.generation);
  }
  void NoteUnknownChunks();

  std::unique_ptr<DamagedPool> pool_;
  Findings findings_;
  ChunkMap map_;
  RedoUpdates redo_;
  ValueReader values_;
  std::vector<ScannedChunk> chunks_;  // ascending
  std::vector<Candidate> candidates_;
  /// In key order: the keys that were salvaged; with a tier, all that the pool has an entry of.
  std::vector<Decided> decided_;
  uint64_t count_ = 0;                 // records that were salvaged
  std::unique_ptr<tier::Store> tier_;  // null: there is none, or it is left out
  std::string tier_path_;
  std::vector<media::PoolImage::Range> gaps_;  // in chunks of a pool of leaves
  RepairReport report_;
};

}  // namespace braid::repair
