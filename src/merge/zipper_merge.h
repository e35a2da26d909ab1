// Purpose: merges one list of entries into a larger one in place: only links change.
// Thread safety: one thread a merge; merges into one list side by side are kept apart by borders
// (borders.h). Readers of both lists go on at every store, without locks.
// Invariants:
//   1. Entries are merged from the tail of the source to its head. So a reader that follows the
//      source meets the entries that are not merged yet, and from the first merged one on the
//      target, which holds all the rest: nothing is missed, some may be seen twice.
//   2. An entry's own links are stored before the link that leads to it.
//   3. Entries that no view needs are unlinked and marked obsolete; the links they hold stay as
//      they are, for readers that stand on them, until their chunk is reclaimed.
//   4. In braided lists each strand's upper layers are merged for themselves, by predecessors of
//      their own; the versions of a key may lie in several regions.
//   5. An entry that a newer table has overwritten for every reader stays where it is, marked
//      obsolete, and counts as merged.
// Persistence: each batch of updates commits as redo_log.h says; its boundary tells recovery which
// part of the source is merged. The merge itself begins and ends with a commit of the manifest.
// With by_pointers a batch is one source entry, and commits as pointer_persistence.h says. A source
// that is adopted is one batch, which gives the target's head the links of the source's. A merge
// that only looks at keys of the target again (see MergeInput::revisited) has an empty source, and
// so no boundary. A run of copies whose originals stand one behind the other (moved_runs.h) is a
// part of a batch like any other: marks of the originals, links at its two ends; a merge that is
// resumed does without runs.
// Source: ListDB 6.5, Algorithm 6 (which is ZipperDB's Algorithm 3), with the stack as a redo log;
// versions, deletes and unlinking are braid's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "index/entry_tree.h"
#include "index/merge_epoch.h"
#include "index/newer_versions.h"
#include "index/retention.h"
#include "index/skiplist.h"
#include "merge/kept_versions.h"
#include "merge/merge_places.h"
#include "merge/pending_links.h"
#include "merge/pointer_persistence.h"
#include "merge/redo_log.h"

namespace braid::merge {

/// A structure over the target that the merge keeps up to date.
struct TargetTree {
  index::EntryIndex* tree = nullptr;  // may be null
  uint32_t min_height = 1;            // of the entries in it
  /// What is to take its place, and is not complete yet; may be null.
  index::EntryIndex* next = nullptr;
  uint32_t next_min_height = 1;
};

struct MergeInput {
  index::Tower source_head = nullptr;
  const index::EntryIndex* source_tree = nullptr;  // over the source, asked ahead; may be null
  uint64_t source_boundary = 0;  // first entry merged already (a resumed merge), 0: none
  /// Heads of the source's strands when all of it is to be kept as it is: it holds one put a key,
  /// and the target nothing. Else empty.
  std::vector<index::Tower> adopted_heads;
  uint64_t adopted_entries = 0;
  bool copies = false;  // the source holds copies of entries of the target (collection)
  /// All of the source's copies, in order, with their originals: runs of them are put into the
  /// target as a whole. Only for a merge that was not begun before; may be null.
  const std::vector<index::Replacement>* moved = nullptr;
  /// Of a merge of no entries: the newest entries of keys of the target, in list order, of whose
  /// versions those are to go that no view needs any more. May be null. By redo records only.
  const std::vector<uint64_t>* revisited = nullptr;
  /// The revisited keys go with all their versions, where a batch has room for these: the tier has
  /// what any view sees of them.
  bool takes_out = false;
  bool is_bottom = true;  // no level is below the target
  /// Whether there may be older versions below the bottom, which a delete hides; empty: there are
  /// none. Asked by the threads of merges side by side.
  std::function<bool(std::string_view key)> hides_below;
  /// The source holds borders, which are put into the target as they are (borders.h).
  bool brings_borders = false;
  /// Entries that are overwritten in newer tables do not go into the target. Not for copies, and
  /// not by pointers; may be null.
  index::NewerVersions* newer = nullptr;
  /// Concurrent merges own what is left and right of the target's borders, which stay.
  bool within_borders = false;
  uint64_t left_border = 0;           // offset; 0: none
  uint64_t target_head = 0;           // offset of the target's TableHead
  index::EntryIndex* tree = nullptr;  // over the target, kept up to date; may be null
  uint32_t tree_min_height = 1;
  bool tree_is_complete = false;           // as far as min_height says, the tree has all keys
  index::EntryIndex* next_tree = nullptr;  // kept up to date with it; may be null
  uint32_t next_tree_min_height = 1;
  const index::LiveViews* views = nullptr;
  format::MergeRecord merge{};  // as the manifest has it
  BatchProgress resumed;        // progress of the batches before a crash
  bool by_pointers = false;     // each entry's links are made durable in turn, without redo records
  uint32_t batch_entries = 1024;
  /// Asked after each batch, for the tree from there on; may be empty. For one of bounded size.
  std::function<TargetTree()> fit_tree;
  /// Tells lookups of changes to links, obsolete marks and the tree (index/merge_epoch.h); may be
  /// null.
  index::MergeEpoch* merge_epoch = nullptr;
  std::function<bool()> should_stop;  // asked between batches; may be empty
};

struct MergeResult {
  BatchProgress progress;
  bool adopted = false;            // the source has become the target as it was
  std::vector<uint64_t> obsolete;  // offsets of entries unlinked or left out
  /// Of MergeInput::moved: from where to where originals have given way to their copies. They are
  /// obsolete, too.
  std::vector<std::pair<size_t, size_t>> replaced;
  KeptCount kept;  // of keys that the source has a part in, or that were revisited
};

class ZipperMerge {
 public:
  ZipperMerge(pool::PmemPool* pool, const MergeInput& input);

  /// Before the steps. Corruption when the source is damaged.
  Status Start();
  /// Merges the next range of the source. False: everything is merged, up to the boundary. Aborted
  /// when should_stop said so: the merge can be resumed from result().progress. Corruption when a
  /// link or key of either list is damaged.
  Result<bool> Step();
  MergeResult& result() noexcept { return result_; }

 private:
  struct Version {
    format::EntryHeader* entry;
    bool from_source;
  };

  bool CanAdopt() const;
  bool ByRuns() const noexcept;
  Status Adopt();
  Status Collect();
  Status MergeRange(size_t begin, size_t end, const MovedRuns* runs);
  void FindOverwritten();
  bool IsOverwritten(const Slice& slice, uint64_t newer) const;
  /// Of the i-th slice of the range.
  Status MergeSlice(size_t i);
  void SkipSlice(const Slice& slice);
  Status GatherVersions(size_t i);
  void ChooseKept(const Slice& slice);
  void TakeOut();
  bool HidesBelow(const format::EntryHeader& entry) const;
  void CountKept();
  void Relink(size_t i);
  bool RelinkLayer(size_t i, uint32_t strand, uint32_t layer);
  /// Puts the run of copies that is slice i in the place of its originals. False, and nothing is
  /// noted, when the target's links are not as they should be: then it is to be merged key by key.
  bool RelinkRun(size_t i);
  bool FollowOriginals(size_t i);
  void Charge();
  uint64_t BoundaryAt(size_t i) const;
  Status CommitBatch(uint64_t boundary);
  void NoteTreeChange();
  std::string_view KeyOf(const index::Replacement& change) const;
  Status UpdateTrees();
  Status UpdateTree(index::EntryIndex* tree, uint32_t min_height);
  Status UpdateTree(index::EntryIndex* tree, uint32_t min_height,
                    std::span<const index::Replacement> changes);
  Status UpdateTree(index::EntryIndex* tree, uint32_t min_height, const index::Replacement& change);
  void SetLink(uint64_t* link, uint64_t value, UpdateStep step);
  uint64_t LinkNow(const uint64_t* link) const;
  format::EntryHeader* EntryOf(uint64_t link, const uint64_t* from, uint32_t layer);
  void MarkObsolete(const Version& version);
  Status Damaged(uint64_t at) const;

  pool::PmemPool* pool_;
  MergeInput input_;
  RedoLog redo_;
  PointerPersistence pointers_;
  index::SkipList target_;
  MergePlaces places_;
  bool is_as_found_ = false;  // nothing was stored since places_ were found
  MovedRuns runs_;
  size_t pred_links_;  // predecessors that a slice may have to change
  size_t max_versions_a_slice_;
  base::MemoryCharge charge_;     // for what follows
  std::vector<uint64_t> source_;  // offsets, in list order
  size_t left_ = 0;               // of them: not merged yet
  std::vector<format::RedoUpdate> updates_;
  std::vector<UpdateStep> steps_;  // one an update
  PendingLinks pending_;           // of this batch
  std::vector<uint64_t> batch_obsolete_;
  // Of this batch, from right to left, one a key: its newest entry before and now; 0: none.
  std::vector<index::Replacement> tree_changes_;
  std::vector<uint64_t> newer_;  // of the range: for each slice, the number of a newer version
  // Of the slice: its versions, newest first, what becomes of them, and their offsets, sorted.
  std::vector<Version> versions_;
  std::vector<Version> kept_;
  std::vector<Version> dropped_;
  std::vector<uint64_t> here_;
  // Of the run: the links that lead out of its originals, later what they lead to; by strand,
  // layer.
  std::array<uint64_t*, format::kMaxRegions * format::kMaxHeight> run_links_;
  std::array<uint64_t, format::kMaxRegions * format::kMaxHeight> run_after_;
  std::vector<std::pair<size_t, size_t>> batch_runs_;
  int64_t batch_delta_ = 0;
  uint64_t batch_merged_ = 0;
  index::Damage damage_;
  MergeResult result_;
};

}  // namespace braid::merge
