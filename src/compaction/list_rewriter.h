// Purpose: levels of several lists: rewrites some of them into the next level, or into their own
// where chunks are to be emptied or versions are no longer needed.
// Thread safety: the compaction thread.
// Invariants:
//   1. Nothing that a reader may stand on changes, except for the states of entries, after a commit
//      that has put copies of all that is needed in their place.
//   2. While originals are named by the manifest nothing else is rewritten: what is to become of
//      each is read from the level that it has gone to.
//   3. An entry lies in two levels only while it is in a table of L0 that is begun; such tables are
//      rewritten before lists of L1 are. They are the oldest of L0. Up to one key they are in L1,
//      of which no list has keys on both sides of it: the next step reads from there on, and
//      replaces what it reads.
//   4. In a pool that is full a step leaves what deletes need, or more becomes free by it than it
//      takes: so deletes find room, and what they hide can be let go.
// Persistence: new lists are durable before the one commit that names them, with their inputs as
// tables of originals. After a crash before it there are chunks that an open frees; behind it
// marking begins again.
// Source: TLSM IV; LevelDB's levels. docs/internals/designs/tlsm.md says where it differs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "compaction/collector.h"
#include "compaction/entry_owners.h"
#include "compaction/merger.h"
#include "compaction/replaced_lists.h"
#include "merge/list_rewrite.h"

namespace braid::compaction {

class ListRewriter {
 public:
  /// What is rewritten, and outlives this.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    pool::ChunkUsage* usage;
    level::VersionSet* versions;
    level::ViewRegistry* views;
    space::Reclaimer* reclaimer;
    SpaceAccounts* accounts;
    Collector* collector;
    const engine::WriteErrors* errors;
    engine::BackgroundLimit* limit;
    const tier::Tier* tier;  // may be null
    const std::atomic<bool>* stop;
  };
  /// Keys that leave a list, for the tier.
  struct Leaving {
    /// Asked once for each key, in their order, with its newest version.
    std::function<bool(const format::EntryHeader& newest)> has;
    /// When all else is written; false: nothing comes of it. Errors end writes.
    std::function<Result<bool>()> before_commit;
    bool must_gain = true;  ///< more chunks, or bytes, than what stays is written to
  };

  explicit ListRewriter(const Store& store) noexcept
      : store_(store),
        pool_(*store.pool),
        replaced_({.verify_checksums = store.options->verify_checksums,
                   .pool = store.pool,
                   .versions = store.versions,
                   .accounts = store.accounts}) {}

  /// Rewrites a part of L0, or the next list of a level, into the level below. `whole`: all that
  /// the level has now. False when there is nothing, no room, or it was stopped. `merged` adds up.
  /// Errors end writes. Throws std::bad_alloc.
  Result<bool> Step(uint32_t from, bool whole, Merger::Merged* merged);
  /// Takes out of the way what a step has replaced. False when there is nothing. Errors end writes.
  Result<bool> DropOriginals() { return replaced_.Drop(); }
  /// Rewrites a list with versions that views have kept, if they may go now. False when there is
  /// none. Errors end writes.
  Result<bool> DropKept(const Occasion& occasion);
  /// Empties sparse chunks. False when there is nothing worth doing. Errors end writes.
  Result<bool> Collect(const Occasion& occasion);
  /// Lets go of lists of which levels above hide everything, for which it takes no chunk; or writes
  /// some once more of which they hide more than that takes: so a pool without room gets some.
  /// False when there is none. Cost: reads levels until some are found, each beside those
  /// above it; not again until something was flushed or committed. Errors end writes.
  Result<bool> DropHidden();
  /// Writes a list without keys that leave it. It is of the lowest level that has entries. False
  /// when it comes to nothing. Errors end writes.
  Result<bool> LetGo(const std::shared_ptr<level::PmemTable>& list, const Leaving& leaving);
  /// Puts copies of `entries`, which verify, and of values whose extents or owners lie in the
  /// chunks `emptied`, in the place of the originals. False when an entry is in no list, or there
  /// is no room. Errors end writes.
  Result<bool> MoveAway(const std::vector<uint64_t>& entries,
                        const std::unordered_set<uint64_t>& emptied);

 private:
  using List = std::shared_ptr<level::PmemTable>;
  using Lists = std::vector<List>;

  /// What a step has made, and what it replaces.
  struct Change {
    uint64_t slot = 0;  // id of the chunks
    std::vector<std::pair<format::TableRecord, index::LiveViews>> fresh;
    std::vector<std::pair<List, uint32_t>> replaced;  // and the level that holds what is needed
    Lists begun;                                      // tables of L0 of which a part is replaced
  };
  /// Of free chunks, which a step takes.
  enum class Room : uint8_t {
    kSpare,  ///< those that deletes leave, too
    kAll,    ///< all, if more become free by it
  };
  /// What lists are rewritten for within their levels.
  struct InPlace {
    const std::unordered_set<uint64_t>* emptied = nullptr;  ///< chunks that nothing is to be in
    bool must_gain = false;                                 ///< more chunks than it takes
    const HiddenEntries* hidden = nullptr;  ///< what this says goes; more bytes than it takes
    bool joins = false;  ///< neighbours become fewer lists, where there is room to spare
    const Leaving* leaving = nullptr;
  };
  /// The levels as they are to be, and what the manifest has to do with that.
  struct Edit {
    std::vector<level::Level> levels;
    Lists forgotten;
    std::vector<format::TableRecord> added;
  };
  /// Of lists in the making.
  class Heads {
   public:
    explicit Heads(level::VersionSet* versions) : versions_(*versions) {}
    Result<uint32_t> Take(bool needed);
    void GiveBack();

   private:
    level::VersionSet& versions_;
    std::vector<uint32_t> heads_;
  };

  Result<bool> StepOfL0(Merger::Merged* merged);
  Result<bool> RewriteL0(const Lists& inputs, const merge::RewriteInput& input, Room room,
                         Merger::Merged* merged, std::optional<std::string>* stop);
  Result<bool> StepOfList(uint32_t from, Merger::Merged* merged);
  Result<bool> RewriteDown(const Lists& upper, const Lists& lower, uint32_t to, Room room,
                           Merger::Merged* merged);
  bool MovesDown(const List& list, const Lists& below, const level::Version& version) const;
  Result<bool> MoveDown(const Lists& lists, uint32_t from);
  Result<bool> MakeRoom();
  Status CheckRanges() const;
  Lists ListsOfL0(const level::VersionSet::Locked& versions) const;
  Lists InputsOfL0();
  Lists NewerThan(const Lists& inputs) const;
  size_t JoinNext(const Lists& lists, size_t at, const Lists& below, Lists* lower) const;
  Lists MetBy(const Lists& upper, const Lists& lower) const;
  /// The record of a list that was written.
  format::TableRecord Fresh(const merge::RewrittenList& list, uint32_t level);
  /// Rewrites lists within their levels. False when it comes to nothing.
  Result<bool> RewriteInPlace(const Lists& lists, const InPlace& what);
  Result<bool> JoinSmall();
  uint64_t ListBytes() const;
  merge::RewriteOptions OptionsFor(uint32_t to, Room room, Heads* heads);
  /// False: nothing came of it, and `status` was no error.
  Result<bool> GiveUp(const Status& status, merge::ListRewrite* rewrite, Heads* heads);
  /// False: it came to nothing, and was given back.
  Result<bool> Commit(Change change, merge::ListRewrite* rewrite, Heads* heads);
  static void PutIn(List list, Edit* edit);
  bool CloseGaps(const level::VersionSet::Locked& versions, Edit* edit);
  Status CommitEdit(const level::VersionSet::Locked& versions, Edit edit);

  const Store store_;
  pool::PmemPool& pool_;
  ReplacedLists replaced_;
  std::vector<uint64_t> begun_;         // ids of the tables of L0 that are being rewritten
  std::string next_key_;                // of these, up to which they are in L1
  std::vector<std::string> next_list_;  // a level: behind the list that went down last
  std::unordered_map<uint64_t, index::LiveViews> kept_for_;  // lists that keep versions
  // When nothing hidden was found: commits of the manifest, and views.
  std::optional<std::pair<uint64_t, index::LiveViews>> none_hidden_;
  std::optional<uint64_t> none_joined_;  // the same of neighbours: commits
};

}  // namespace braid::compaction
