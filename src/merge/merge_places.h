// Purpose: finds the places in a list, the target of a merge, that a run of sorted entries goes to:
// for each key the last target entry before it, in the bottom layer and in those layers that a
// version of the key reaches. With a tree over the target the predecessors come from there, those
// of many keys side by side; else from a walk to the right that remembers where it was (a finger).
// Thread safety: one run at a time; readers of the target go on. Nothing is changed.
// Invariants:
//   1. Whatever the tree says, an entry is checked as one that a link leads to, and from it the
//      list itself is followed to the last entry before the key. An obsolete entry, which the tree
//      should not have, is not believed; then the finger finds the place.
//   2. Pred is set for each layer below Slice::layers, and no version of the slice's key is taller,
//      in the target or in the run.
// Persistence: none.
// Source: the scan phase of ListDB Algorithm 6; the tree and the order of its loads are braid's.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "index/entry_index.h"
#include "index/skiplist.h"
#include "merge/moved_runs.h"

namespace braid::merge {

/// Source entries [begin, end) of one key, newest first, and where they go; or a run of copies.
struct Slice {
  size_t begin;
  size_t end;
  uint32_t layers;          // that the key's versions reach, or the run's copies and originals
  bool is_run;              // the originals of all of them stand one behind the other in the target
  bool is_skipped = false;  // nothing of it goes into the target
};

class MergePlaces {
 public:
  /// `tree`: has the newest entry of each key of the target; null when there is none such.
  /// `left_border`: the offset of an entry as tall as can be behind which all places lie, in a list
  /// of one strand; 0: the list's head.
  MergePlaces(pool::PmemPool* pool, uint64_t target_head, const index::EntryIndex* tree,
              uint64_t left_border = 0);

  /// Cuts source[begin, end) into slices of one key and at most `most_versions` entries. `runs`, of
  /// the source's copies, make slices of several keys; they may be null.
  void Cut(const std::vector<uint64_t>& source, size_t begin, size_t end, size_t most_versions,
           const MovedRuns* runs);
  /// The slice has no place. Before Find.
  void Skip(size_t i) noexcept { slices_[i].is_skipped = true; }
  /// Finds the places of the slices. Until the next Find the target must not change at smaller keys
  /// than those of a slice that is still wanted. Corruption when a link or key of the target is
  /// damaged.
  Status Find();

  /// The tree is not to be asked any more.
  void ForgetTree() noexcept { tree_ = nullptr; }

  size_t size() const noexcept { return slices_.size(); }
  const Slice& slice(size_t i) const noexcept { return slices_[i]; }
  /// A key for each slice, in their order: the first one of a run.
  std::span<const std::string_view> keys() const noexcept { return keys_; }
  /// The tower of slice i's predecessor; the bottom layer's is strand 0's. Layers below `layers`.
  uint64_t* Pred(size_t i, uint32_t strand, uint32_t layer) const noexcept {
    BRAID_DCHECK(layer == 0 ? strand == 0 : layer < slices_[i].layers);  // invariant 2
    return places_[i * fingers_.size() + PredAt(strand, layer)];
  }
  /// What the bottom links behind slice i's place led to when it was found: checked entries, of
  /// those of its key and the next one the first ones. Once a batch was stored they are not checked
  /// any more.
  struct Behind {
    struct Step {
      uint64_t link;
      const format::EntryHeader* entry;  // null at the end
    };
    std::array<Step, 2> steps;
    uint32_t count = 0;
  };
  const Behind& behind(size_t i) const noexcept { return behind_[i]; }
  size_t memory_bytes() const noexcept {
    return slices_.capacity() * sizeof(Slice) + keys_.capacity() * sizeof(std::string_view) +
           neighbours_.capacity() * sizeof(Neighbours) + behind_.capacity() * sizeof(Behind) +
           places_.capacity() * sizeof(uint64_t*);
  }

 private:
  static size_t PredAt(uint32_t strand, uint32_t layer) noexcept {
    return strand * size_t{format::kMaxHeight} + layer;
  }
  /// Entries that the tree has before a slice's key, the nearest first.
  static constexpr size_t kNeighbours = 8;
  struct Neighbours {
    std::array<uint64_t, kNeighbours> refs;
    size_t count;
  };

  bool IsPlaced(size_t i) const noexcept { return i < slices_.size() && !slices_[i].is_skipped; }
  void AskTree(size_t i, index::EntryIndex::Finger* finger);
  void AskNext(size_t i);
  Status Place(size_t i);
  /// The tower of the last entry before the key, starting from what the tree said; null when that
  /// is not to be believed, or on damage.
  uint64_t* BottomByTree(size_t i, Behind::Step* next);
  bool UpperByTree(size_t i, uint64_t** preds);
  Status AdvanceFingers(std::string_view key);
  uint64_t* AdvanceUpper(std::string_view key);
  bool MustMove(uint32_t strand, uint32_t layer, std::string_view key);
  uint64_t* GoRight(uint64_t* tower, uint32_t layer, std::string_view key, int* free_hops,
                    Behind::Step* next = nullptr);
  Behind::Step Follow(const uint64_t* tower, uint32_t layer);
  const format::EntryHeader* Believed(uint64_t ref);
  /// The tower that all places of the strand lie behind.
  uint64_t* Begin(uint32_t strand) const {
    BRAID_DCHECK(border_ == nullptr || strand == 0);
    return border_ != nullptr ? border_->links()
                              : pool_->As<uint64_t>(pool_->StrandHead(target_head_, strand));
  }
  bool IsBehindBorder(const format::EntryHeader& entry) const {
    return border_ == nullptr || index::InOrder(*border_, entry);
  }
  Status Outcome() const {
    return damage_ ? index::DamageStatus(*pool_, damage_.at) : Status::OK();
  }

  pool::PmemPool* pool_;
  uint64_t target_head_;
  const index::EntryIndex* tree_;
  format::EntryHeader* border_;  // may be null
  index::SkipList target_;
  std::vector<Slice> slices_;
  std::vector<std::string_view> keys_;  // a slice
  std::vector<Neighbours> neighbours_;  // a slice
  std::vector<Behind> behind_;          // a slice
  std::vector<uint64_t*> places_;       // towers by slice, strand and layer
  std::vector<uint64_t*> fingers_;      // towers by strand and layer
  index::Damage damage_;
};

}  // namespace braid::merge
