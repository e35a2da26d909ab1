// Purpose: the zipper merge. Thread safety, invariants, persistence: see zipper_merge.h.
// Steps of Run:
//  1. Collect: walk the source's bottom layer, up to the boundary, into an array.
//  2. From the tail of the array, range by range:
//  3.   FindPlaces: walk the target forwards, keeping the predecessors of every layer (the stack).
//  4.   MergeSlice, last slice first: decide what is kept, and note the link updates.
//  5.   CommitBatch, whenever a redo record is full and at the end of a range.
#include "compaction/zipper_merge.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "base/prefetch.h"

namespace braid::compaction {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;
using format::kMaxHeight;

ZipperMerge::ZipperMerge(pmem::PmemPool* pool, const MergeInput& input)
    : pool_(pool),
      input_(input),
      redo_(pool, input.merge_id),
      pointers_(pool),
      target_(pool, pool->As<uint64_t>(input.target_head)),
      pred_links_(1 + (kMaxHeight - 1) * size_t{pool->strands()}),
      max_versions_a_slice_(
          input.by_pointers ? 1 : (redo_.capacity() / 2 - pred_links_) / (kMaxHeight + 1)),
      charge_(&pool->memory_users()) {
  result_.progress = input.resumed;
}

Status ZipperMerge::Run() {
  if (Status s = Collect(); !s.ok()) return s;
  size_t end = source_.size();
  while (end > 0) {
    if (input_.should_stop && input_.should_stop()) {
      return Status::Aborted("the merge goes on when the pool is opened again");
    }
    size_t begin = end > input_.batch_entries ? end - input_.batch_entries : 0;
    if (Status s = MergeRange(begin, end); !s.ok()) return s;
    end = begin;
  }
  return Status::OK();
}

/// The lists that grow with the source or with a batch; a node of the map takes about six words.
void ZipperMerge::Charge() {
  const size_t words = source_.capacity() + places_.capacity() + batch_dead_.capacity() +
                       here_.capacity() + result_.dead.capacity() + pending_.bucket_count() +
                       6 * pending_.size();
  charge_.Set(words * sizeof(uint64_t) + steps_.capacity() * sizeof(UpdateStep) +
              updates_.capacity() * sizeof(format::RedoUpdate) +
              tree_changes_.capacity() * sizeof(TreeChange));
}

Status ZipperMerge::Damaged(uint64_t at) const { return index::DamageStatus(*pool_, at); }

Status ZipperMerge::Collect() {
  const index::SkipList source(pool_, input_.source_head);
  const EntryHeader* previous = nullptr;
  bool found_boundary = input_.source_boundary == 0;
  for (const EntryHeader* entry = source.First(&damage_); entry != nullptr;
       entry = source.Next(entry, &damage_)) {
    const uint64_t offset = pool_->OffsetOf(entry);
    if (offset == input_.source_boundary) {
      found_boundary = true;
      break;
    }
    // Without order the walk may be a circle, and the offsets fill all memory.
    if (previous != nullptr && !index::InOrder(*previous, *entry)) return Damaged(offset);
    source_.push_back(offset);
    previous = entry;
  }
  if (damage_) return Damaged(damage_.at);
  Charge();
  // Behind the boundary the source leads on in the target, which can't be merged with itself.
  return found_boundary ? Status::OK() : Damaged(input_.source_boundary);
}

Status ZipperMerge::MergeRange(size_t begin, size_t end) {
  std::vector<Slice> slices;
  if (Status s = FindPlaces(begin, end, &slices); !s.ok()) return s;
  for (size_t i = slices.size(); i-- > 0;) {
    const size_t versions = slices[i].end - slices[i].begin;
    const size_t worst = pred_links_ + (kMaxHeight + 1) * versions + redo_.capacity() / 4;
    if (!updates_.empty() && updates_.size() + worst > redo_.capacity()) {
      if (Status s = CommitBatch(source_[slices[i].end]); !s.ok()) return s;
    }
    if (Status s = MergeSlice(slices[i]); !s.ok()) return s;
    if (!input_.by_pointers) continue;
    if (Status s = CommitBatch(source_[slices[i].begin]); !s.ok()) return s;
  }
  return input_.by_pointers ? Status::OK() : CommitBatch(source_[begin]);
}

/// Cuts the range into slices of one key and finds their predecessors, in one walk to the right.
Status ZipperMerge::FindPlaces(size_t begin, size_t end, std::vector<Slice>* slices) {
  Preds preds(PredAt(pool_->strands(), 0));
  for (size_t i = 0; i < preds.size(); ++i) {
    const auto strand = static_cast<uint32_t>(i / kMaxHeight);
    preds[i] = pool_->As<uint64_t>(pool_->StrandHead(input_.target_head, strand));
  }
  places_.clear();
  for (size_t i = begin; i < end;) {
    const std::string_view key = pool_->KeyAt(source_[i]);
    size_t next = i + 1;
    while (next < end && next - i < max_versions_a_slice_ && pool_->KeyAt(source_[next]) == key) {
      ++next;
    }
    if (next + 8 < end) base::Prefetch(pool_->At(source_[next + 8]));
    if (Status s = AdvancePreds(&preds, key); !s.ok()) return s;
    slices->push_back({i, next, places_.size()});
    places_.insert(places_.end(), preds.begin(), preds.end());
    i = next;
  }
  return Status::OK();
}

/// The last entry before `key` in a layer, from `tower` on.
uint64_t* ZipperMerge::GoRight(uint64_t* tower, uint32_t layer, std::string_view key,
                               int* free_hops) {
  for (;;) {
    const EntryHeader* next = target_.Follow(tower, layer, &damage_);
    if (next == nullptr || next->key() >= key) return tower;
    if (--*free_hops < 0 && !pool_->IsHead(pool_->OffsetOf(tower)) &&
        !index::InOrder(*(reinterpret_cast<const EntryHeader*>(tower) - 1), *next)) {
      damage_.at = pool_->OffsetOf(next);
      return tower;
    }
    tower = const_cast<EntryHeader*>(next)->links();
  }
}

/// Moves the predecessors of each strand and layer to the last entry before `key`. A strand climbs
/// until a layer need not move, since then none above it does, and goes down again to the right;
/// where nothing moves at the bottom, nothing does anywhere. The bottom layer goes on from the
/// strand that came furthest.
Status ZipperMerge::AdvancePreds(Preds* preds, std::string_view key) {
  const auto must_move = [&](uint32_t strand, uint32_t layer) {
    const EntryHeader* next = target_.Follow((*preds)[PredAt(strand, layer)], layer, &damage_);
    return next != nullptr && next->key() < key;
  };
  if (!must_move(0, 0)) return damage_ ? Damaged(damage_.at) : Status::OK();
  uint64_t* furthest = nullptr;
  const auto key_of = [](const uint64_t* tower) {
    return (reinterpret_cast<const EntryHeader*>(tower) - 1)->key();
  };
  int free_hops = index::kFreeHops;
  for (uint32_t strand = 0; strand < pool_->strands() && !damage_; ++strand) {
    uint32_t top = 1;
    while (top < kMaxHeight && must_move(strand, top)) ++top;
    if (top == 1) continue;
    uint64_t* tower = (*preds)[PredAt(strand, top - 1)];
    for (uint32_t layer = top; layer-- > 1;) {
      tower = GoRight(tower, layer, key, &free_hops);
      (*preds)[PredAt(strand, layer)] = tower;
    }
    if (damage_) break;
    if (furthest == nullptr || key_of(tower) > key_of(furthest)) furthest = tower;
  }
  uint64_t*& bottom = (*preds)[0];
  if (!damage_) bottom = GoRight(furthest != nullptr ? furthest : bottom, 0, key, &free_hops);
  return damage_ ? Damaged(damage_.at) : Status::OK();
}

uint64_t ZipperMerge::LinkNow(const uint64_t* link) const {
  const auto pending = pending_.find(pool_->OffsetOf(link));
  if (pending != pending_.end()) return pending->second;
  return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_relaxed);
}

EntryHeader* ZipperMerge::EntryOf(uint64_t link, const uint64_t* from, uint32_t layer) {
  return const_cast<EntryHeader*>(target_.Resolve(EntryPtr{link}, from, layer, &damage_));
}

void ZipperMerge::SetLink(uint64_t* link, uint64_t value, UpdateStep step) {
  if (LinkNow(link) == value) return;
  const uint64_t offset = pool_->OffsetOf(link);
  pending_[offset] = value;
  updates_.push_back({offset + TargetBias(*pool_), value});
  steps_.push_back(step);
}

void ZipperMerge::MarkDead(const Version& version) {
  const uint64_t offset = pool_->OffsetOf(version.entry);
  // A source entry that is marked dead counts as merged.
  const bool ends = version.from_source && !BRAID_MUTANT(kPointerSourceMarkedFirst);
  steps_.push_back(ends ? UpdateStep::kLast : UpdateStep::kPrepare);
  updates_.push_back({(offset + TargetBias(*pool_)) | format::kRedoMarkDead, 0});
  batch_dead_.push_back(offset);
}

Status ZipperMerge::MergeSlice(const Slice& slice) {
  std::vector<Version> versions;
  if (Status s = GatherVersions(slice, &versions); !s.ok()) return s;
  std::vector<Version> kept;
  ChooseKept(slice, versions, &kept);
  Relink(slice, versions, kept);
  if (damage_) return Damaged(damage_.at);
  batch_merged_ += slice.end - slice.begin;
  if (input_.tree != nullptr) {
    tree_changes_.push_back(
        {kept.empty() ? 0 : pool_->OffsetOf(kept[0].entry), source_[slice.begin]});
  }
  return Status::OK();
}

/// All versions of the slice's key, source and target, newest first; a source version comes before
/// the target's version with the same number.
Status ZipperMerge::GatherVersions(const Slice& slice, std::vector<Version>* versions) {
  const std::string_view key = pool_->KeyAt(source_[slice.begin]);
  size_t next_source = slice.begin;
  const uint64_t* link = places_[slice.preds];
  uint64_t sequence = index::kLatest;
  for (;;) {
    EntryHeader* target = EntryOf(LinkNow(link), link, 0);
    if (damage_) return Damaged(damage_.at);
    if (target != nullptr && target->key() != key) target = nullptr;
    if (target != nullptr && target->sequence() >= sequence) {
      return Damaged(pool_->OffsetOf(target));
    }
    while (next_source < slice.end) {
      // Checked again: in a pool made by hand an earlier batch may have stored links into it.
      auto* entry = pool_->EntryAt(source_[next_source]);
      if (entry == nullptr || entry->key() != key) return Damaged(source_[next_source]);
      if (target != nullptr && entry->sequence() < target->sequence()) break;
      versions->push_back({entry, true});
      ++next_source;
    }
    if (target == nullptr) return Status::OK();
    versions->push_back({target, false});
    sequence = target->sequence();
    link = target->links();
  }
}

void ZipperMerge::ChooseKept(const Slice& slice, const std::vector<Version>& versions,
                             std::vector<Version>* kept) {
  // Versions of the key that wait further left in the source are newer than all here. Copies are
  // not: their originals, and versions in between, are in the target already.
  uint64_t newer = index::kLatest;
  if (slice.begin > 0 && !input_.copies) {
    const uint64_t left = source_[slice.begin - 1];
    if (pool_->KeyAt(left) == versions[0].entry->key()) {
      newer = pool_->As<EntryHeader>(left)->sequence();
    }
  }
  // So that a batch stays within its record; what exceeds the budget is dropped at a later merge.
  size_t budget = redo_.capacity() / 4 / (kMaxHeight + 1);
  std::vector<Version> dropped;
  for (size_t i = 0; i < versions.size(); ++i) {
    const Version& version = versions[i];
    const uint64_t sequence = version.entry->sequence();
    const bool has_twin = i + 1 < versions.size() && version.from_source &&
                          versions[i + 1].entry->sequence() == sequence;
    const bool is_twin = i > 0 && !version.from_source && sequence == newer;
    bool keep = index::IsVersionNeeded(
        BRAID_MUTANT(kMergeIgnoresViews) ? index::LiveViews{} : *input_.views, sequence, newer);
    if (input_.copies && version.from_source) keep = has_twin;
    if (is_twin) keep = BRAID_MUTANT(kTwinKept);
    if (!keep && !version.from_source && !is_twin) {
      if (budget == 0) {
        keep = true;
      } else {
        --budget;
      }
    }
    (keep ? *kept : dropped).push_back(version);
    if (!(input_.copies && version.from_source && !has_twin)) newer = sequence;
  }
  if (BRAID_MUTANT(kMergeDropsDeleteEarly) && !kept->empty() &&
      kept->front().entry->op() == EntryOp::kDelete) {
    dropped.push_back(kept->front());
    kept->erase(kept->begin());
  }
  // At the bottom a delete hides nothing once it is the oldest version.
  while (!kept->empty() && kept->back().entry->op() == EntryOp::kDelete) {
    dropped.push_back(kept->back());
    kept->pop_back();
  }
  for (const Version& version : dropped) {
    if (!version.from_source) --batch_delta_;
    if (!BRAID_MUTANT(kMergeDeadMarkSkipped)) MarkDead(version);
  }
  for (const Version& version : *kept) {
    if (version.from_source) ++batch_delta_;
  }
}

/// Notes the updates that make the target's layers lead through `kept` and past the rest. Layers
/// bottom up; within a layer from right to left, so that an entry's link is stored before the one
/// to it.
void ZipperMerge::Relink(const Slice& slice, const std::vector<Version>& versions,
                         const std::vector<Version>& kept) {
  std::array<uint32_t, format::kMaxRegions> layers{};
  here_.clear();
  for (const Version& version : versions) {
    const uint64_t offset = pool_->OffsetOf(version.entry);
    here_.push_back(offset);
    uint32_t& of_strand = layers[pool_->StrandOf(offset)];
    of_strand = std::max(of_strand, version.entry->height());
    if (BRAID_MUTANT(kMergeBottomOnly)) of_strand = 1;
  }
  std::sort(here_.begin(), here_.end());
  if (!RelinkLayer(slice, kept, 0, 0)) return;
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    if (BRAID_MUTANT(kMergeOneStrand) && !kept.empty() &&
        strand != pool_->StrandOf(pool_->OffsetOf(kept[0].entry))) {
      continue;
    }
    for (uint32_t layer = 1; layer < layers[strand]; ++layer) {
      if (!RelinkLayer(slice, kept, strand, layer)) return;
    }
  }
}

/// False when damage was met, which damage_ names.
bool ZipperMerge::RelinkLayer(const Slice& slice, const std::vector<Version>& kept, uint32_t strand,
                              uint32_t layer) {
  const auto is_here = [&](uint64_t link) {
    return std::binary_search(here_.begin(), here_.end(), EntryPtr{link}.offset());
  };
  uint64_t* pred = places_[slice.preds + PredAt(strand, layer)] + layer;
  uint64_t after = LinkNow(pred);
  UpdateStep step = layer == 0 ? UpdateStep::kUnlink : UpdateStep::kLast;  // of links to `after`
  const uint64_t* from = pred;
  for (size_t hops = 0; is_here(after); ++hops) {
    EntryHeader* entry = EntryOf(after, from, layer);
    if (entry == nullptr) return false;
    if (hops > here_.size()) {  // a circle
      damage_.at = pool_->OffsetOf(entry);
      return false;
    }
    from = entry->links() + layer;
    after = LinkNow(from);
  }
  for (size_t i = kept.size(); i-- > 0;) {
    EntryHeader* entry = kept[i].entry;
    const uint64_t offset = pool_->OffsetOf(entry);
    if (entry->height() <= layer || (layer > 0 && pool_->StrandOf(offset) != strand)) continue;
    SetLink(entry->links() + layer, after, kept[i].from_source ? UpdateStep::kPrepare : step);
    if (layer == 0) step = kept[i].from_source ? UpdateStep::kLast : UpdateStep::kUnlink;
    after = pool_->LinkTo(offset).raw;
  }
  SetLink(pred, after, step);
  return true;
}

Status ZipperMerge::CommitBatch(uint64_t boundary) {
  // Made from what was read: it must not be zeros that stand for lost data.
  if (pool_->failed()) return pool_->FaultStatus();
  BatchProgress progress = result_.progress;
  ++progress.batch;
  progress.boundary = boundary;
  progress.entries_delta += batch_delta_;
  progress.merged_entries += batch_merged_;
  // All the memory that is needed before the record is written, all that may fail but the tree.
  const size_t dead = result_.dead.size() + batch_dead_.size();
  if (dead > result_.dead.capacity()) result_.dead.reserve(2 * dead);
  Charge();
  // Acquire and release on both sides of the changes: see LsmEngine::Find.
  if (input_.relinks != nullptr) input_.relinks->fetch_add(1, std::memory_order_acq_rel);
  Status outcome =
      input_.by_pointers ? pointers_.Commit(updates_, steps_) : redo_.Commit(updates_, progress);
  const bool committed = outcome.ok() && !pool_->failed();
  if (committed) outcome = UpdateTree();
  if (input_.relinks != nullptr) input_.relinks->fetch_add(1, std::memory_order_acq_rel);
  if (!committed) return outcome.ok() ? pool_->FaultStatus() : outcome;
  result_.progress = progress;
  result_.dead.insert(result_.dead.end(), batch_dead_.begin(), batch_dead_.end());
  updates_.clear();
  steps_.clear();
  pending_.clear();
  batch_dead_.clear();
  tree_changes_.clear();
  batch_delta_ = 0;
  batch_merged_ = 0;
  if (input_.fit_tree) {
    const TargetTree now = input_.fit_tree();
    input_.tree = now.tree;
    input_.tree_min_height = now.min_height;
  }
  return outcome;
}

/// Only after the links: a lookup that comes through the tree relies on the entry's links in the
/// target. A key that finds no room is left out; then the merge must not end, since its source must
/// go on hiding what the tree does not know.
Status ZipperMerge::UpdateTree() {
  Status outcome;
  if (BRAID_MUTANT(kTreeNotUpdatedByMerge)) return outcome;
  for (const TreeChange& change : tree_changes_) {
    const std::string_view key = pool_->KeyAt(change.key_from);
    const EntryHeader* newest = change.newest == 0 ? nullptr : pool_->EntryAt(change.newest);
    const bool indexed = newest != nullptr && newest->height() >= input_.tree_min_height;
    Status s = base::NoThrow([&] {
      if (indexed) {
        input_.tree->Upsert(key, [&](uint64_t) { return change.newest; });
      } else if (!BRAID_MUTANT(kTreeEraseSkipped) &&
                 !(BRAID_MUTANT(kSparseTreeNotErased) && newest != nullptr)) {
        input_.tree->EraseIf(key, [](uint64_t) { return true; });
      }
      return Status::OK();
    });
    if (!s.ok()) outcome = s;
  }
  return outcome;
}

}  // namespace braid::compaction
