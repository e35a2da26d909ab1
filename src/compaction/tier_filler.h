// Purpose: moves entries of the last level to the tier when tables take more than the pool is to
// hold: what lives in some chunks at a time, deletes included, in the order in which the chunks
// were written, so that they are free afterwards and what was written lately stays; and, for those
// who wait for all work to be done, the deletes that have only something in the tier left to hide.
// Where levels are of several lists, these go, in turn, from the lowest level that has any.
// Thread safety: the compaction thread; runs of chunks are written by side tasks of it.
// Invariants:
//   1. A key goes with all its versions, and only if no view is older than the newest of them: so
//      that one version of a key is enough for the tier.
//   2. What leaves the pool is durable in the tier before the merge that takes it out begins. A
//      crash in between leaves it in both; the pool's version is as new, and wins.
//   3. Merges go on while runs of chunks are written. What they put in the place of an entry stays,
//      and the tier has an older version than the pool then; deletes that are to hide that one
//      stay, since the tier may hold it (tier::Tier::SetComing). The chunks are not reused
//      meanwhile.
//   4. On page-cache media the pool is synced first: the tier never has what the pool may lose, and
//      what deletes of earlier runs have hidden is marked obsolete on the medium. These may go
//      then.
// Persistence: tier/store.h; entries are taken out by a merge of a table of copies that is empty
// (MergeInput::takes_out), and so survive a crash as those of any other merge do; or by the commit
// that puts what stays of a list in its place.
// Source: the tiering of TLSM IV-D.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/memory_users.h"
#include "compaction/list_rewriter.h"
#include "compaction/merger.h"
#include "compaction/pass_over_l1.h"
#include "compaction/side_tasks.h"
#include "level/view_registry.h"
#include "tier/tier.h"

namespace braid::compaction {

class TierFiller {
 public:
  /// What is moved, and outlives the filler.
  struct Store {
    pool::PmemPool* pool;
    level::VersionSet* versions;
    level::ViewRegistry* views;
    const pool::ChunkUsage* usage;
    SpaceAccounts* accounts;
    Merger* merger;
    ListRewriter* rewriter;  // null: each level is one list
    tier::Tier* tier;        // may be null
  };

  TierFiller(const Options& options, const Store& store) noexcept;

  /// Whether entries may ever go.
  bool is_wanted() const noexcept { return most_bytes_ != 0; }
  /// Whether runs are written while merges go on: of chunks they are, of lists they are not.
  bool writes_aside() const noexcept { return is_wanted() && store_.rewriter == nullptr; }
  /// Who writes runs. Before any step; else the thread of the steps does.
  void SetSideTasks(SideTasks* side) noexcept {
    BRAID_DCHECK(side != nullptr && going_.empty());
    side_ = side;
  }
  /// Moves the next part: begins to write a run of chunks, or takes one that was written out of the
  /// pool. False when there is nothing to do, or nothing that may go now. Errors end writes. Throws
  /// std::bad_alloc. Cost: reads a run of entries; in a round it may wait for a run to be written.
  Result<bool> Step(const Occasion& occasion);
  /// Runs are being written, and a step would wait for one, or come to nothing.
  bool IsWriting() const { return !going_.empty() && !IsWritten() && !WantsRun(); }
  /// A run is to be taken out of the pool, or one is to go that writes of a full pool wait for.
  bool Presses() const;
  /// Until no run is being written. The caller keeps steps out.
  void AwaitRuns() const {
    if (!going_.empty()) side_->Await(going_.back()->number);
  }
  /// A write finds no room, and nothing is left to do: what is not collected yet, logs and what is
  /// kept free may take all that does not live, the more so the smaller the pool. So half as much
  /// may stay, until that is reached. False: nothing would come of it, or nothing has gone since it
  /// was asked last. Where Step may be called.
  bool GiveMore() noexcept;
  /// Entries of other lists have come into the last level: what could not go since they were not
  /// there may now.
  void ForgetStuck() noexcept { stuck_.clear(); }
  /// Bytes above which entries go; 0: never.
  uint64_t most_bytes() const noexcept { return most_bytes_; }
  /// How many passes for deletes have begun.
  uint64_t passes() const noexcept { return deletes_.begun(); }

 private:
  struct Part {
    std::vector<tier::RunEntry> run;  // what the tier is to have
    std::vector<uint64_t> keys;       // newest entries of keys that go, in the order of a list
    uint64_t bytes = 0;               // of the run
    bool has_extents = false;
    // Where it is a walk over L1:
    bool is_last = false;
    std::string next_key;
  };
  /// A chunk of which nothing may go while it has so many live bytes and there is no other view.
  struct Stuck {
    uint32_t generation = 0;
    int64_t live = 0;
    uint64_t oldest_view = 0;
    bool operator==(const Stuck&) const = default;
  };
  /// A run on its way to the tier. What it refers to is not reused meanwhile.
  struct Going {
    Going(Part of, std::vector<uint64_t> held, base::MemoryUsers* users);
    Part part;
    std::vector<uint64_t> chunks;     // that it is of
    level::ViewRegistry::Handle pin;  // of extents
    base::MemoryCharge charge;
    uint64_t number = 0;  // of its task; 0: there was no memory for one
    // When the task has ended:
    Result<bool> taken = false;  // by the tier
    uint64_t run = 0;            // its number there
  };
  class Keys;
  using List = std::shared_ptr<level::PmemTable>;

  uint64_t Excess(uint64_t most_bytes) const;
  uint64_t MostToStay() const noexcept { return gives_more_ ? most_bytes_ / 2 : most_bytes_; }
  /// Entries after which a part ends, or no other chunk is begun.
  static constexpr uint64_t kPartEntries = 64 * 1024;

  Result<bool> MoveDeletes(const Occasion& occasion);
  Status SurveyDeletes(const std::string& from, Part* part) const;
  // Of chunks:
  Result<bool> MoveOldest();
  /// Of runs on their way the oldest.
  bool IsWritten() const { return !going_.empty() && side_->HasEnded(going_.front()->number); }
  bool WantsRun() const;
  bool IsGoing(uint64_t chunk) const;
  void Send(std::unique_ptr<Going> going);
  Result<bool> TakeOut();
  void EndRun();
  void ShowComing() noexcept;
  std::vector<uint64_t> OldestChunks() const;
  Status SurveyOldest(Part* part, std::vector<uint64_t>* looked_at);
  std::optional<uint64_t> BytesInRun(const format::EntryHeader& entry, uint64_t offset,
                                     const index::LiveViews& views) const;
  Stuck StateOf(uint64_t chunk, const index::LiveViews& views) const;
  bool IsInLastLevel(const format::EntryHeader& entry, uint64_t offset) const;
  Result<bool> Move(const Part& part);
  Result<bool> Leave(const Part& part, uint64_t run, const Merger::CopySlot* slot);
  Result<bool> TakeIn(const Part& part, uint64_t settled);
  void CountMove(const Part& part, uint64_t run);
  // Where levels are of several lists:
  std::vector<List> LowestLists() const;
  Result<bool> MoveList(uint64_t excess);
  Result<bool> MoveDeletesOfLists(const Occasion& occasion);
  Status SurveyList(const List& list, bool deletes_only, uint64_t bytes, Part* part) const;
  Result<bool> MoveOut(const List& list, const Part& part, bool must_gain, bool* refused);

  const Store store_;
  uint64_t most_bytes_ = 0;
  uint64_t run_bytes_ = 0;  // about the size of a run
  SideTasks at_once_;
  SideTasks* side_ = &at_once_;
  std::vector<std::unique_ptr<Going>> going_;  // the one that was begun first in front
  std::string from_;                           // where the next list begins
  std::unordered_map<uint64_t, Stuck> stuck_;  // by chunk
  PassOverL1 deletes_;
  bool gives_more_ = false;
  uint64_t moves_ = 0;
  uint64_t moves_when_asked_ = ~0ull;
  uint64_t runs_begun_ = 0;  // of chunks
  uint64_t run_when_asked_ = 0;
  uint64_t gone_ = 0;  // the last run all of which has left the pool
};

}  // namespace braid::compaction
