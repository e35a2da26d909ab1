// Purpose: decides the next step of background work. A pure function from facts to a plan, tested
// without threads (picker_test.cc).
// Thread safety: pure.
// Persistence: none.
// Source: the compaction pickers of LevelDB and Pebble, whose plans are values as well.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "braid/options.h"
#include "braid/statistics.h"

namespace braid::compaction {

/// All that the background may do.
enum class Action : uint8_t {
  kNothing,
  kMerge,          ///< the plan's inputs
  kFinishCopies,   ///< the merge of copies that is open
  kMarkOriginals,  ///< a list that was copied, which is not marked obsolete yet
  kIndex,          ///< the next part of an index that lookups lack
  kRemakeIndex,    ///< the next part of a better one
  kFillLookups,    ///< the next part of the lookup cache
  kCount,          ///< live bytes of chunks that nobody has counted
  kDrop,           ///< a part of the versions that only views have kept
  kRecluster,      ///< a part of the last level, into the order of its keys
  kCollect,        ///< live entries out of some sparse chunks
  kMakeRoom,       ///< chunks that a large value needs, side by side
  kFillTier,       ///< what was written to the last level longest ago, into the tier
  kRewrite,        ///< lists of a level, and those of the next that they meet, into new ones
  kNextPhase,      ///< the phase of the round is over
};

/// What statistics call it.
BackgroundWork WorkOf(Action action) noexcept;

/// How inputs come into the level below.
enum class MergeMethod : uint8_t {
  kLink,         ///< entries stay where they are, and are linked
  kCopyAndLink,  ///< copies of them are linked, close together
  kFull,         ///< with all of the list below into a new list
};

struct Plan {
  Action action = Action::kNothing;
  // Of a merge:
  uint32_t from = 0;             // level of the inputs
  uint32_t to = 0;               // level of the list that takes them in
  std::vector<uint64_t> inputs;  // ids of tables, oldest last
  MergeMethod method = MergeMethod::kLink;
  bool is_bottom = false;   // no level is below `to`: deletes have nothing left to hide
  bool is_awaited = false;  // a step down of all there is, for those who wait

  /// As people read it: "merge 7 of L0 into L1, the bottom".
  std::string ToString() const;
};

class ActionSet {
 public:
  ActionSet() = default;
  ActionSet(std::initializer_list<Action> actions) {
    for (const Action action : actions) Add(action);
  }
  void Add(Action action) noexcept { bits_ |= Bit(action); }
  bool Has(Action action) const noexcept { return (bits_ & Bit(action)) != 0; }
  bool none() const noexcept { return bits_ == 0; }

 private:
  static uint32_t Bit(Action action) noexcept { return 1u << static_cast<uint32_t>(action); }
  static_assert(static_cast<uint32_t>(Action::kNextPhase) < 32);  // the last one has a bit
  uint32_t bits_ = 0;
};

/// What is done for those who wait for all work, once the tables they wait for are merged. In this
/// order.
enum class Phase : uint8_t {
  kMergeDown,
  kIndex,
  kDrop,
  kFillTier,
  kRecluster,
  kCollect,
  kMakeRoom,
  kDone
};

struct TableFacts {
  uint64_t id = 0;
  bool awaited = false;  // somebody waits for its merge
  uint64_t entries = 0;
  // Asked for where tables may be merged side by side:
  bool has_range = false;  // its keys are known, and it is worth a thread
  std::string_view first_key = {};
  std::string_view last_key = {};
};

/// A table is worth a thread of its own from so many batches on: putting borders in and taking them
/// out is two short merges.
inline constexpr uint64_t kBatchesWorthAThread = 16;

/// What the decision is made from.
struct StoreFacts {
  std::vector<std::vector<TableFacts>> levels;  // tables newest first
  // Where there are lists between L0 and the bottom:
  std::vector<uint64_t> level_entries;  // from which the list of a level is merged into the next
  uint32_t levels_per_group = 1;        // between which merges link
  uint32_t down_from = 1;               // lists above are merged down, for those who wait
  bool has_originals = false;           // that were copied, and are not marked obsolete
  bool rewrites = false;                // levels are of several lists
  bool l0_is_begun = false;             // a part of it is in L1 as well
  enum class OpenMerge : uint8_t { kNone, kOfTable, kOfCopies };
  OpenMerge open_merge = OpenMerge::kNone;  // in the manifest
  uint32_t open_from = 0;                   // level of the table that is merged
  uint64_t l0_found = 0;                    // tables, when the store was opened
  size_t most_merges = 1;                   // side by side
  bool lacks_index = false;     // a table that lookups go through may get the index it is to have
  bool has_tier = false;        // that entries may go to
  bool tier_presses = false;    // a step of its filling comes before merges
  bool tier_writes = false;     // a run is being written to it: to fill it is to wait for that
  bool merges_fully = false;    // all of L0 and L1 into a new L1, rather than by links
  bool awaits_flush = false;    // for which the table that is being flushed is waited for
  bool l0_waits = false;        // its oldest table is likely to be overwritten, and is let wait
  bool is_granted = false;      // concurrent reader processes keep tables as they are
  bool drain = false;           // somebody waits for all work to be done
  std::optional<Phase> phase;   // of the round for those who wait
  bool phase_is_over = false;   // it has had its steps
  bool phase_has_turn = false;  // rather than a merge that nobody waits for
  ActionSet tried;              // what has come to nothing, in this step
};

Plan Pick(const StoreFacts& facts, const CompactionOptions& options);
/// How far a list may grow beyond its level's size while tables of L0 wait: from there on it is
/// merged first.
inline constexpr double kMostOvergrown = 2.0;
/// How large the list of a level is, of what it may be; 0 for those that are never merged down.
double Overgrown(const StoreFacts& facts, size_t level) noexcept;
/// The merge that comes next, whatever else there is to do: the oldest that is open, else that of
/// the oldest tables of L0 whose ranges of keys lie apart, at most facts.most_merges of them.
Plan PickMerge(const StoreFacts& facts, const CompactionOptions& options);

/// What a decision to collect is made from.
struct SpaceFacts {
  uint64_t free_chunks = 0;
  uint64_t total_chunks = 0;
  uint64_t sparse_chunks = 0;  // merged chunks with a share of live bytes below the limit
  uint64_t used_bytes = 0;     // of chunks of tables
  uint64_t live_bytes = 0;     // in them
  uint64_t chunk_bytes = 0;
  bool may_grow = true;  // the pool is below its limit
  bool drain = false;    // somebody waits for all work to be done
};

/// Chunks may take so much more than what lives in them.
inline constexpr double kMostSpace = 1.35;
/// And so many chunks: the newest tables leave some half full, and copying them together again
/// after each flush would be for nothing.
inline constexpr uint64_t kSlackChunks = 16;
/// Where they take more, chunks with a smaller share of live bytes than this are sparse, whatever
/// the options say. There are such chunks then: 1 / kMostSpace is less.
inline constexpr double kSparseWhenOver = 0.75;
static_assert(1 / kMostSpace < kSparseWhenOver);

bool TakesTooMuch(const SpaceFacts& facts) noexcept;
/// Whether sparse chunks are collected now: when chunks take too much for what lives in them, when
/// a pool that can't grow runs low, or when all work is to be finished.
bool WantsCollection(const SpaceFacts& facts) noexcept;

}  // namespace braid::compaction
