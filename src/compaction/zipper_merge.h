// Purpose: merges one list of entries into a larger one in place: only links change.
// Thread safety: one merge at a time; readers of both lists go on at every store, without locks.
// Invariant 1: entries are merged from the tail of the source to its head. So a reader that follows
// the source meets the entries that are not merged yet, and from the first merged one on the
// target, which holds all the rest: nothing is missed, some may be seen twice. Invariant 2: an
// entry's own links are stored before the link that leads to it. Invariant 3: entries that no view
// needs are unlinked and marked dead; the links they hold stay as they are, for readers that stand
// on them, until their chunk is reclaimed. Invariant 4: in braided
// lists each strand's upper layers are merged for themselves, by predecessors of their own; the
// versions of a key may lie in several regions. Persistence: each batch of updates commits as
// redo_log.h says; its boundary tells recovery which part of the source is merged. The merge itself
// begins and ends with a commit of the manifest. With by_pointers a batch is one source entry, and
// commits as pointer_persistence.h says. Source: ListDB 6.5, Algorithm 6 (which is
// ZipperDB's Algorithm 3), with the stack as a redo log; versions, deletes and unlinking are
// braid's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compaction/pointer_persistence.h"
#include "compaction/redo_log.h"
#include "index/entry_tree.h"
#include "index/retention.h"
#include "index/skiplist.h"

namespace braid::compaction {

/// A structure over the target that the merge keeps up to date.
struct TargetTree {
  index::EntryIndex* tree = nullptr;  // may be null
  uint32_t min_height = 1;            // of the entries in it
};

struct MergeInput {
  index::Tower source_head = nullptr;
  uint64_t source_boundary = 0;  // first entry merged already (a resumed merge), 0: none
  bool copies = false;           // the source holds copies of entries of the target (collection)
  uint64_t target_head = 0;      // offset of the target's TableHead
  index::EntryIndex* tree = nullptr;  // over the target, kept up to date; may be null
  uint32_t tree_min_height = 1;
  const index::LiveViews* views = nullptr;
  uint64_t merge_id = 0;
  BatchProgress resumed;     // progress of the batches before a crash
  bool by_pointers = false;  // each entry's links are made durable in turn, without redo records
  uint32_t batch_entries = 4096;
  /// Asked after each batch, for the tree from there on; may be empty. For one of bounded size.
  std::function<TargetTree()> fit_tree;
  /// Odd while links, marks of death and the tree change; may be null. A lookup that finds a dead
  /// entry while this stays even and the same has met damage, not a merge.
  std::atomic<uint64_t>* relinks = nullptr;
  std::function<bool()> should_stop;  // asked between batches; may be empty
};

struct MergeResult {
  BatchProgress progress;
  std::vector<uint64_t> dead;  // offsets of entries unlinked or left out
};

class ZipperMerge {
 public:
  ZipperMerge(pmem::PmemPool* pool, const MergeInput& input);

  /// Merges everything up to the boundary. Aborted when should_stop said so: the merge can be
  /// resumed from result().progress. Corruption when a link or key of either list is damaged.
  Status Run();
  MergeResult& result() noexcept { return result_; }

 private:
  /// Towers by strand and layer; the bottom layer's is strand 0's.
  using Preds = std::vector<uint64_t*>;
  /// Source entries [begin, end) of one key, with the place in the target they go to.
  struct Slice {
    size_t begin;
    size_t end;
    size_t preds;  // where its predecessors begin in places_
  };
  struct Version {
    format::EntryHeader* entry;
    bool from_source;
  };
  struct TreeChange {
    uint64_t newest;    // entry that now is the key's newest; 0: the key is gone
    uint64_t key_from;  // an entry with the key
  };

  Status Collect();
  Status MergeRange(size_t begin, size_t end);
  Status FindPlaces(size_t begin, size_t end, std::vector<Slice>* slices);
  Status AdvancePreds(Preds* preds, std::string_view key);
  uint64_t* GoRight(uint64_t* tower, uint32_t layer, std::string_view key, int* free_hops);
  Status MergeSlice(const Slice& slice);
  Status GatherVersions(const Slice& slice, std::vector<Version>* versions);
  void ChooseKept(const Slice& slice, const std::vector<Version>& versions,
                  std::vector<Version>* kept);
  void Relink(const Slice& slice, const std::vector<Version>& versions,
              const std::vector<Version>& kept);
  bool RelinkLayer(const Slice& slice, const std::vector<Version>& kept, uint32_t strand,
                   uint32_t layer);
  static size_t PredAt(uint32_t strand, uint32_t layer) noexcept {
    return strand * size_t{format::kMaxHeight} + layer;
  }
  void Charge();
  Status CommitBatch(uint64_t boundary);
  Status UpdateTree();
  void SetLink(uint64_t* link, uint64_t value, UpdateStep step);
  uint64_t LinkNow(const uint64_t* link) const;
  format::EntryHeader* EntryOf(uint64_t link, const uint64_t* from, uint32_t layer);
  void MarkDead(const Version& version);
  Status Damaged(uint64_t at) const;

  pmem::PmemPool* pool_;
  MergeInput input_;
  RedoLog redo_;
  PointerPersistence pointers_;
  index::SkipList target_;
  size_t pred_links_;  // predecessors that a slice may have to change
  size_t max_versions_a_slice_;
  base::MemoryCharge charge_;     // for what follows
  std::vector<uint64_t> source_;  // offsets, in list order
  Preds places_;                  // of a range's slices, one after the other
  std::vector<format::RedoUpdate> updates_;
  std::vector<UpdateStep> steps_;                   // one an update
  std::unordered_map<uint64_t, uint64_t> pending_;  // link offset to value, of this batch
  std::vector<uint64_t> batch_dead_;
  std::vector<TreeChange> tree_changes_;
  std::vector<uint64_t> here_;  // of the slice: offsets of its versions, sorted
  int64_t batch_delta_ = 0;
  uint64_t batch_merged_ = 0;
  index::Damage damage_;
  MergeResult result_;
};

}  // namespace braid::compaction
