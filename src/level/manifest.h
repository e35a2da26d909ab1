// Purpose: the durable description of the store: its tables, its open merges, how far logs are
// flushed; and which table has which head, which merge which chunks for redo records.
// Thread safety: the caller serialises (the engine's structure lock).
// Invariants:
//   1. Both copies are written for every change, one after the other; nothing that the change
//      allows (freeing, reusing) is done before both are durable. So either copy is a state from
//      which recovery is right, and damage to one loses nothing.
//   2. A head belongs to one table, or to one that is in the making; a place for redo records to
//      one merge.
//   3. Chunks that the manifest does not name hold none of its content: an open frees them.
//   4. Below level 0 each level has one list that takes entries in. Another one may be on its way
//      into the next level: the oldest of its level, and the source of an open merge. Or the level
//      is a run: one list or more, all of them with the flag kTableOfRun.
// Persistence: Commit's first flush and fence is the commit point. Before it: everything the record
// names must be durable. After a crash between the two copies the newer one counts. A pool of
// format version 1 has copies of that version until it is opened to write: its header says version
// 2 before the first copy does.
// Source: the MANIFEST of ListDB 6.2.1 and of LevelDB.
#pragma once

#include <memory>
#include <unordered_set>
#include <vector>

#include "braid/status.h"
#include "format/manifest.h"
#include "pool/pool.h"

namespace braid::level {

class Manifest {
 public:
  explicit Manifest(pool::PmemPool* pool) : pool_(pool) {}

  /// Writes the first record of a new pool: below level 0 an empty list a level, with the ids and
  /// heads from kL1Id and 0 on, whose links it ends.
  Status Create(uint32_t levels = 2);
  /// Loads the newest intact copy, checks it, and makes the other one equal to it. `levels`: how
  /// many there are to be; 0: as many as there are. Corruption when neither is intact;
  /// InvalidArgument when it has more or fewer levels.
  Status Load(uint32_t levels = 2);

  format::ManifestState& record() noexcept { return state_; }
  const format::ManifestState& record() const noexcept { return state_; }
  /// Makes record() durable: two fences, on page-cache media two syncs of a page. What the record
  /// names must be durable before. After an error nobody knows which record counts: the caller
  /// stops writing.
  Status Commit();

  /// A head no table uses, kept for the caller until AddTable or ReturnHead. The first ones lie in
  /// the pool's first pages; more of them take a chunk. OutOfSpace when there is no room for it, or
  /// it is full. Throws std::bad_alloc.
  Result<uint32_t> TakeHead();
  void ReturnHead(uint32_t head) noexcept;
  /// Whether a run may have another list: the other half of the heads is for tables to come.
  bool HasRoomForLists() const noexcept;
  /// How many lists runs may have.
  uint64_t MostLists() const noexcept;
  /// Whether a flush may take one where lists are rewritten, which takes some before it gives
  /// others back.
  bool HasHeadForFlush() const noexcept { return HeadsLeft() > format::kMaxLevels; }
  /// Inserts a record as the newest of its level; the caller commits. Its head was taken, so that
  /// there is memory for it.
  void AddTable(const format::TableRecord& table) noexcept;
  void RemoveTable(uint64_t id) noexcept;
  /// The head of a list that is about to be removed is no table's until ReturnHead: readers may
  /// look at it for a while yet. Throws std::bad_alloc.
  void KeepHead(uint32_t head);
  format::TableRecord* FindTable(uint64_t id) noexcept { return state_.Find(id); }

  /// Notes that the merge of a table begins, with a number of its own and a place for its redo
  /// records; the caller commits. OutOfSpace: there is no chunk for that place. Precondition: fewer
  /// than kMaxMerges are open.
  Result<format::MergeRecord*> BeginMerge(uint64_t source_id, uint64_t target_id);
  /// Whether one more can be open.
  bool HasRoomForMerge() const noexcept;
  /// Notes that it has ended; the caller commits.
  void EndMerge(uint64_t source_id) noexcept;

  static constexpr uint64_t kL1Id = format::kL1Id;

 private:
  Status WriteCopy(int copy);
  /// What is wrong with state_, or null.
  const char* FindFault() const;
  const char* FindFaultOfTables() const;
  const char* FindFaultOfLists() const;
  const char* FindFaultOfMerges() const;
  const char* FindFaultOfSources(std::unordered_set<uint64_t> sources) const;
  uint32_t FirstFreeHead() const;
  uint64_t AllHeads() const noexcept;
  uint64_t HeadsLeft() const noexcept;
  Status ExtendHeads();
  Status Convert();

  pool::PmemPool* pool_;
  format::ManifestState state_;
  std::unique_ptr<format::ManifestRecord> image_;  // of what is written
  std::vector<uint32_t> taken_heads_;              // of tables in the making
};

}  // namespace braid::level
