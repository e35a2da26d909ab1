// Purpose: the zipper merge.
// Thread safety, invariants, persistence: see zipper_merge.h. Steps:
//  1. Start, Collect: walk the source's bottom layer, up to the boundary, into an array.
//  2. Step, from the tail of the array, range by range:
//  3.   MergePlaces: find the predecessors of each key in the target (the stack).
//  4.   MergeSlice, last slice first: decide what is kept, and note the link updates.
//  5.   CommitBatch, whenever a redo record is full and at the end of a range.
#include "merge/zipper_merge.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/no_throw.h"
#include "merge/borders.h"
#include "merge/walk_ahead.h"

namespace braid::merge {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;
using format::kMaxHeight;

ZipperMerge::ZipperMerge(pool::PmemPool* pool, const MergeInput& input)
    : pool_(pool),
      input_(input),
      redo_(pool, input.merge),
      pointers_(pool),
      target_(pool, pool->As<uint64_t>(input.target_head)),
      places_(pool, input.target_head,
              input.tree_is_complete && input.tree_min_height == 1 ? input.tree : nullptr,
              input.left_border),
      runs_(pool, input.moved),
      pred_links_(1 + (kMaxHeight - 1) * size_t{pool->strands()}),
      max_versions_a_slice_(
          input.by_pointers ? 1 : (redo_.capacity() / 2 - pred_links_) / (kMaxHeight + 1)),
      charge_(&pool->memory_users()) {
  // A version and all its predecessors fit a batch, however small the chunks are.
  BRAID_CHECK(redo_.capacity() / 2 > pred_links_ && max_versions_a_slice_ > 0);
  BRAID_DCHECK(input.views != nullptr && input.batch_entries > 0);
  BRAID_DCHECK(input.next_tree == nullptr || input.tree != nullptr);
  BRAID_DCHECK(input.tree_min_height >= 1 && input.next_tree_min_height >= 1);
  BRAID_DCHECK(input.adopted_heads.empty() || input.adopted_heads.size() == pool->strands());
  BRAID_DCHECK(input.left_border == 0 || input.within_borders);
  BRAID_DCHECK(input.moved == nullptr || (input.copies && input.revisited == nullptr));
  BRAID_DCHECK(input.revisited == nullptr || (input.copies && input.source_boundary == 0));
  // Copies are as old as their originals, and a batch of one entry has its order by its links.
  BRAID_DCHECK(input.newer == nullptr || (!input.copies && !input.by_pointers));
  result_.progress = input.resumed;
}

/// Where each entry's links are durable in turn a run is nothing to gain.
bool ZipperMerge::ByRuns() const noexcept {
  return input_.moved != nullptr && input_.copies && !input_.by_pointers &&
         input_.source_boundary == 0;
}

Status ZipperMerge::Start() {
  BRAID_DCHECK(source_.empty() && left_ == 0);
  if (CanAdopt()) return Adopt();
  if (input_.revisited != nullptr) {
    source_ = *input_.revisited;
    Charge();
  } else if (ByRuns()) {
    source_.reserve(input_.moved->size());
    for (const index::Replacement& moved : *input_.moved) source_.push_back(moved.to);
    Charge();
  } else {
    if (Status s = Collect(); !s.ok()) return s;
  }
  left_ = source_.size();
  return Status::OK();
}

Result<bool> ZipperMerge::Step() {
  if (left_ == 0) return false;
  if (input_.should_stop && input_.should_stop()) {
    return Status::Aborted("the merge resumes when the pool is reopened");
  }
  const size_t begin = left_ > input_.batch_entries ? left_ - input_.batch_entries : 0;
  if (Status s = MergeRange(begin, left_, ByRuns() ? &runs_ : nullptr); !s.ok()) return s;
  left_ = begin;
  // A merge that stops here finds all of it in the progress, and nothing that waits for a batch.
  BRAID_DCHECK(updates_.empty() && tree_changes_.empty() && batch_runs_.empty());
  BRAID_DCHECK(input_.revisited != nullptr ||
               result_.progress.merged_entries ==
                   input_.resumed.merged_entries + (source_.size() - left_));
  return left_ > 0;
}

/// Whether the target is as empty as the manifest says.
bool ZipperMerge::CanAdopt() const {
  if (input_.adopted_heads.empty()) return false;
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    const auto* links = pool_->As<uint64_t>(pool_->StrandHead(input_.target_head, strand));
    for (uint32_t layer = 0; layer < kMaxHeight; ++layer) {
      if (!EntryPtr{LinkNow(links + layer)}.IsEnd()) return false;
    }
  }
  return true;
}

/// The source becomes the target.
Status ZipperMerge::Adopt() {
  const EntryHeader* first = index::SkipList(pool_, input_.source_head).First(&damage_);
  if (damage_ || first == nullptr) return Damaged(damage_.at);
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    auto* links = pool_->As<uint64_t>(pool_->StrandHead(input_.target_head, strand));
    for (uint32_t layer = 0; layer < kMaxHeight; ++layer) {
      SetLink(links + layer, input_.adopted_heads[strand][layer], UpdateStep::kLast);
    }
  }
  batch_delta_ = static_cast<int64_t>(input_.adopted_entries);
  batch_merged_ = input_.adopted_entries;
  const Status s = CommitBatch(pool_->OffsetOf(first));
  result_.adopted = s.ok();
  return s;
}

/// The lists that grow with the source or with a batch.
void ZipperMerge::Charge() {
  const size_t words = source_.capacity() + batch_obsolete_.capacity() + here_.capacity() +
                       result_.obsolete.capacity() + newer_.capacity();
  charge_.Set(words * sizeof(uint64_t) + places_.memory_bytes() + pending_.memory_bytes() +
              steps_.capacity() * sizeof(UpdateStep) +
              updates_.capacity() * sizeof(format::RedoUpdate) +
              tree_changes_.capacity() * sizeof(index::Replacement));
}

Status ZipperMerge::Damaged(uint64_t at) const { return index::DamageStatus(*pool_, at); }

Status ZipperMerge::Collect() {
  const index::SkipList source(pool_, input_.source_head);
  // At once: to copy what was collected, to twice the room, is a step of milliseconds.
  if (input_.source_tree != nullptr) source_.reserve(input_.source_tree->size());
  const EntryHeader* previous = nullptr;
  bool found_boundary = input_.source_boundary == 0;
  WalkAhead ahead(pool_, input_.source_tree);
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
    ahead.Passed(offset);
  }
  if (damage_) return Damaged(damage_.at);
  Charge();
  // Behind the boundary the source leads on in the target, which can't be merged with itself.
  return found_boundary ? Status::OK() : Damaged(input_.source_boundary);
}

Status ZipperMerge::MergeRange(size_t begin, size_t end, const MovedRuns* runs) {
  BRAID_DCHECK(begin < end && end <= source_.size() && updates_.empty());
  places_.Cut(source_, begin, end, max_versions_a_slice_, runs);
  if (input_.newer != nullptr) FindOverwritten();
  if (Status s = places_.Find(); !s.ok()) return s;
  is_as_found_ = true;
  for (size_t i = places_.size(); i-- > 0;) {
    const Slice slice = places_.slice(i);
    const size_t versions = slice.end - slice.begin;
    const size_t worst = pred_links_ + (kMaxHeight + 1) * versions + redo_.capacity() / 4;
    if (!updates_.empty() && updates_.size() + worst > redo_.capacity()) {
      if (Status s = CommitBatch(BoundaryAt(slice.end)); !s.ok()) return s;
    }
    if (slice.is_skipped) {
      SkipSlice(slice);
      continue;
    }
    if (slice.is_run && RelinkRun(i)) continue;
    if (slice.is_run) {
      if (!updates_.empty()) {
        BRAID_DCHECK(slice.end < end);  // what waits is of slices further right
        if (Status s = CommitBatch(source_[slice.end]); !s.ok()) return s;
      }
      return MergeRange(begin, slice.end, nullptr);
    }
    if (Status s = MergeSlice(i); !s.ok()) return s;
    if (!input_.by_pointers) continue;
    if (Status s = CommitBatch(source_[slice.begin]); !s.ok()) return s;
  }
  return input_.by_pointers ? Status::OK() : CommitBatch(BoundaryAt(begin));
}

/// What is merged when the batches up to source_[i] are; none of the source's, when that is empty.
uint64_t ZipperMerge::BoundaryAt(size_t i) const {
  BRAID_DCHECK(i < source_.size());
  return input_.revisited == nullptr ? source_[i] : 0;
}

uint64_t ZipperMerge::LinkNow(const uint64_t* link) const {
  BRAID_DCHECK(pool_->Holds(link));
  if (const uint64_t* pending = pending_.Find(pool_->OffsetOf(link))) return *pending;
  return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_relaxed);
}

EntryHeader* ZipperMerge::EntryOf(uint64_t link, const uint64_t* from, uint32_t layer) {
  return const_cast<EntryHeader*>(target_.Resolve(EntryPtr{link}, from, layer, &damage_));
}

void ZipperMerge::SetLink(uint64_t* link, uint64_t value, UpdateStep step) {
  if (LinkNow(link) == value) return;
  const uint64_t offset = pool_->OffsetOf(link);
  pending_.Set(offset, value);
  updates_.push_back({offset, value});
  steps_.push_back(step);
  BRAID_DCHECK(steps_.size() == updates_.size());
}

void ZipperMerge::MarkObsolete(const Version& version) {
  BRAID_DCHECK(!version.from_source || input_.revisited == nullptr);
  const uint64_t offset = pool_->OffsetOf(version.entry);
  // A source entry that is marked obsolete counts as merged.
  const bool ends = version.from_source;
  steps_.push_back(ends ? UpdateStep::kLast : UpdateStep::kPrepare);
  updates_.push_back({offset | format::kRedoMarkObsolete, 0});
  batch_obsolete_.push_back(offset);
}

/// Those of which neither a read to come nor a view sees a version get no place.
void ZipperMerge::FindOverwritten() {
  input_.newer->Find(places_.keys(), &newer_);
  BRAID_DCHECK(newer_.size() == places_.size());
  for (size_t i = 0; i < newer_.size(); ++i) {
    if (newer_[i] != index::kLatest && IsOverwritten(places_.slice(i), newer_[i])) places_.Skip(i);
  }
}

/// `newer`: the number of a version in a newer table. False also for damage, which the merge of the
/// slice reports.
bool ZipperMerge::IsOverwritten(const Slice& slice, uint64_t newer) const {
  BRAID_DCHECK(!slice.is_run);
  const std::string_view key = pool_->KeyAt(source_[slice.begin]);
  // Of versions further left in the source the last one is nearer.
  if (slice.begin > 0 && pool_->KeyAt(source_[slice.begin - 1]) == key) {
    newer = std::min(newer, pool_->As<EntryHeader>(source_[slice.begin - 1])->sequence());
  }
  for (size_t n = slice.begin; n < slice.end; ++n) {
    const EntryHeader* entry = pool_->EntryAt(source_[n]);
    if (entry == nullptr || entry->key() != key || IsBorder(*entry)) return false;
    const uint64_t sequence = entry->sequence();
    if (sequence >= newer || input_.newer->IsNeeded(sequence, newer)) return false;
    newer = sequence;
  }
  return true;
}

void ZipperMerge::SkipSlice(const Slice& slice) {
  for (size_t n = slice.end; n-- > slice.begin;) {
    MarkObsolete({pool_->As<EntryHeader>(source_[n]), true});
  }
  batch_merged_ += slice.end - slice.begin;
}

Status ZipperMerge::MergeSlice(size_t i) {
  const Slice& slice = places_.slice(i);
  if (Status s = GatherVersions(i); !s.ok()) return s;
  ChooseKept(slice);
  Relink(i);
  if (damage_) return Damaged(damage_.at);
  if (input_.revisited == nullptr) batch_merged_ += slice.end - slice.begin;
  if (input_.tree != nullptr) NoteTreeChange();
  return Status::OK();
}

/// Of the slice.
void ZipperMerge::NoteTreeChange() {
  const auto before = std::find_if(versions_.begin(), versions_.end(),
                                   [](const Version& version) { return !version.from_source; });
  const uint64_t from = before == versions_.end() ? 0 : pool_->OffsetOf(before->entry);
  const uint64_t to = kept_.empty() ? 0 : pool_->OffsetOf(kept_[0].entry);
  if (!tree_changes_.empty() && !versions_.empty()) {
    index::Replacement& last = tree_changes_.back();
    if (KeyOf(last) == versions_[0].entry->key()) {  // of an older slice of this key
      last.to = to;
      if (last.from == 0 && to == 0) tree_changes_.pop_back();
      return;
    }
  }
  if (from != 0 || to != 0) tree_changes_.push_back({from, to});
}

std::string_view ZipperMerge::KeyOf(const index::Replacement& change) const {
  BRAID_DCHECK(change.to != 0 || change.from != 0);
  return pool_->KeyAt(change.to != 0 ? change.to : change.from);
}

/// All versions of the slice's key, source and target, newest first; a source version comes before
/// the target's version with the same number.
Status ZipperMerge::GatherVersions(size_t i) {
  const Slice& slice = places_.slice(i);
  versions_.clear();
  const std::string_view key = pool_->KeyAt(source_[slice.begin]);
  size_t next_source = input_.revisited == nullptr ? slice.begin : slice.end;
  const uint64_t* link = places_.Pred(i, 0, 0);
  uint64_t sequence = index::kLatest;
  const MergePlaces::Behind& behind = places_.behind(i);
  for (size_t step = 0;; ++step) {
    const uint64_t next = LinkNow(link);
    // Mostly it leads where it did when the place was found: that need not be checked once more,
    // unless a batch may have stored links into it, as in a pool made by hand.
    const bool is_known = is_as_found_ && step < behind.count && behind.steps[step].link == next;
    EntryHeader* target =
        is_known ? const_cast<EntryHeader*>(behind.steps[step].entry) : EntryOf(next, link, 0);
    if (damage_) return Damaged(damage_.at);
    if (target != nullptr && target->key() != key) target = nullptr;
    // Behind its right border a merge changes nothing.
    if (target != nullptr && input_.within_borders && IsBorder(*target)) target = nullptr;
    if (target != nullptr && target->sequence() >= sequence) {
      return Damaged(pool_->OffsetOf(target));
    }
    while (next_source < slice.end) {
      // Checked again: in a pool made by hand an earlier batch may have stored links into it.
      auto* entry = pool_->EntryAt(source_[next_source]);
      if (entry == nullptr || entry->key() != key) return Damaged(source_[next_source]);
      if (target != nullptr && entry->sequence() < target->sequence()) break;
      versions_.push_back({entry, true});
      ++next_source;
    }
    if (target == nullptr) {
      BRAID_DCHECK(next_source == slice.end);  // what is left out would pass for merged
      return Status::OK();
    }
    versions_.push_back({target, false});
    sequence = target->sequence();
    link = target->links();
  }
}

void ZipperMerge::ChooseKept(const Slice& slice) {
  // Of a key that is looked at again all versions may have gone.
  BRAID_DCHECK(!versions_.empty() || input_.revisited != nullptr);
  kept_.clear();
  dropped_.clear();
  // Versions of the key that wait further left in the source are newer than all here. Copies are
  // not: their originals, and versions in between, are in the target already.
  uint64_t newer = index::kLatest;
  if (slice.begin > 0 && !input_.copies) {
    const uint64_t left = source_[slice.begin - 1];
    if (pool_->KeyAt(left) == versions_[0].entry->key()) {
      newer = pool_->As<EntryHeader>(left)->sequence();
    }
  }
  // So that a batch stays within its record; what exceeds the budget is dropped at a later merge.
  size_t budget = redo_.capacity() / 4 / (kMaxHeight + 1);
  if (input_.takes_out && versions_.size() <= budget) return TakeOut();
  for (size_t i = 0; i < versions_.size(); ++i) {
    const Version& version = versions_[i];
    const uint64_t sequence = version.entry->sequence();
    const bool has_twin = i + 1 < versions_.size() && version.from_source &&
                          versions_[i + 1].entry->sequence() == sequence;
    const bool is_twin = i > 0 && !version.from_source && sequence == newer;
    bool keep = index::IsVersionNeeded(*input_.views, sequence, newer);
    if (input_.copies && version.from_source) keep = has_twin;
    if (is_twin) keep = false;
    // One that an earlier group has left gives way to a new one of its key: they have one number.
    if (IsBorder(*version.entry)) keep = input_.brings_borders && !is_twin;
    if (!keep && !version.from_source && !is_twin) {
      if (budget == 0) {
        keep = true;
        ++result_.kept.left;
      } else {
        --budget;
      }
    }
    (keep ? kept_ : dropped_).push_back(version);
    if (!(input_.copies && version.from_source && !has_twin)) newer = sequence;
  }
  // At the bottom a delete hides nothing once it is the oldest version.
  while (input_.is_bottom && !kept_.empty() && kept_.back().entry->op() == EntryOp::kDelete &&
         !HidesBelow(*kept_.back().entry)) {
    dropped_.push_back(kept_.back());
    kept_.pop_back();
  }
  BRAID_DCHECK(kept_.size() + dropped_.size() == versions_.size());
  if (!input_.copies || input_.revisited != nullptr) CountKept();
  for (const Version& version : dropped_) {
    if (!version.from_source) --batch_delta_;
    MarkObsolete(version);
  }
  for (const Version& version : kept_) {
    if (version.from_source) ++batch_delta_;
  }
}

bool ZipperMerge::HidesBelow(const EntryHeader& entry) const {
  return input_.hides_below && !IsBorder(entry) && input_.hides_below(entry.key());
}

/// No version of the key stays.
void ZipperMerge::TakeOut() {
  BRAID_DCHECK(input_.revisited != nullptr && input_.is_bottom);
  // What is newer than the newest version of the survey would be lost.
  BRAID_DCHECK(versions_.empty() || input_.views->empty() ||
               versions_[0].entry->sequence() <= input_.views->front());
  for (const Version& gone : versions_) {
    dropped_.push_back(gone);
    --batch_delta_;
    MarkObsolete(gone);
  }
}

/// What of the slice is kept for views alone, and what was and is not any more. The oldest of what
/// several slices of one key keep is counted when it is no longer the newest of its key.
void ZipperMerge::CountKept() {
  const auto newest = std::find_if(versions_.begin(), versions_.end(),
                                   [](const Version& version) { return !version.from_source; });
  // Counted before: all of the target but a put that was the newest of its key. A caller that has
  // keys revisited counts again.
  const auto was_kept = [&](const Version& version) {
    return !version.from_source && input_.revisited == nullptr &&
           (version.entry != newest->entry || version.entry->op() == EntryOp::kDelete);
  };
  for (const Version& version : dropped_) result_.kept.dropped += was_kept(version) ? 1 : 0;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (was_kept(kept_[i])) continue;
    // A delete that is the newest stays as long as what it hides.
    const size_t hidden = i + 1 < kept_.size() ? i + 1 : i;
    // One that is the only version hides something of the tier, and waits for no view.
    if (i == 0 && hidden == 0) continue;
    if (i > 0) {
      result_.kept.Add(*input_.views, kept_[i].entry->sequence(), kept_[i - 1].entry->sequence());
    } else if (kept_[0].entry->op() == EntryOp::kDelete) {
      result_.kept.Add(*input_.views, kept_[hidden].entry->sequence(), kept_[0].entry->sequence());
    }
  }
}

/// Notes the updates that make the target's layers lead through `kept` and past the rest. Layers
/// bottom up; within a layer from right to left, so that an entry's link is stored before the one
/// to it.
void ZipperMerge::Relink(size_t i) {
  std::array<uint32_t, format::kMaxRegions> layers{};
  here_.clear();
  for (const Version& version : versions_) {
    const uint64_t offset = pool_->OffsetOf(version.entry);
    here_.push_back(offset);
    uint32_t& of_strand = layers[pool_->StrandOf(offset)];
    of_strand = std::max(of_strand, version.entry->height());
  }
  std::sort(here_.begin(), here_.end());
  if (!RelinkLayer(i, 0, 0)) return;
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint32_t layer = 1; layer < layers[strand]; ++layer) {
      if (!RelinkLayer(i, strand, layer)) return;
    }
  }
}

/// False when damage was met, which damage_ names.
bool ZipperMerge::RelinkLayer(size_t slice, uint32_t strand, uint32_t layer) {
  BRAID_DCHECK(layer > 0 || strand == 0);  // there is one bottom layer
  const auto is_here = [&](uint64_t link) {
    return std::binary_search(here_.begin(), here_.end(), EntryPtr{link}.offset());
  };
  // In a pool made by hand the heights may change when links are stored.
  if (layer >= places_.slice(slice).layers) {
    damage_.at = source_[places_.slice(slice).begin];
    return false;
  }
  uint64_t* pred = places_.Pred(slice, strand, layer) + layer;
  uint64_t after = LinkNow(pred);
  UpdateStep step = layer == 0 ? UpdateStep::kUnlink : UpdateStep::kLast;  // of links to `after`
  const uint64_t* from = pred;
  for (size_t hops = 0; is_here(after); ++hops) {
    // One of the versions, each of which was checked.
    auto* entry = pool_->As<EntryHeader>(EntryPtr{after}.offset());
    const bool leads_on =
        after == pool_->LinkTo(pool_->OffsetOf(entry)).raw && entry->height() > layer;
    if (!leads_on || hops > here_.size()) {  // a damaged link, or a circle
      damage_.at = pool_->OffsetOf(entry);
      return false;
    }
    from = entry->links() + layer;
    after = LinkNow(from);
  }
  for (size_t i = kept_.size(); i-- > 0;) {
    EntryHeader* entry = kept_[i].entry;
    const uint64_t offset = pool_->OffsetOf(entry);
    if (entry->height() <= layer || (layer > 0 && pool_->StrandOf(offset) != strand)) continue;
    SetLink(entry->links() + layer, after, kept_[i].from_source ? UpdateStep::kPrepare : step);
    if (layer == 0) step = kept_[i].from_source ? UpdateStep::kLast : UpdateStep::kUnlink;
    after = pool_->LinkTo(offset).raw;
  }
  SetLink(pred, after, step);
  return true;
}

/// Sets run_links_ to the links that lead out of the run. False when the links before them do not
/// lead through its originals, one after the other, in every layer.
bool ZipperMerge::FollowOriginals(size_t i) {
  const Slice& slice = places_.slice(i);
  BRAID_DCHECK(slice.is_run && source_.size() == input_.moved->size());
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint32_t layer = strand == 0 ? 0 : 1; layer < slice.layers; ++layer) {
      run_links_[strand * kMaxHeight + layer] = places_.Pred(i, strand, layer) + layer;
    }
  }
  // No update may be pending for links between two originals, only for those before and behind the
  // run.
  const auto leads_to = [&](const uint64_t* link, uint64_t value, uint32_t at, uint32_t layer) {
    const bool first = link == places_.Pred(i, at / kMaxHeight, layer) + layer;
    const uint64_t now = first ? LinkNow(link)
                               : std::atomic_ref<const uint64_t>(*link).load(
                                     std::memory_order_relaxed);  // this thread alone stores links
    return now == value;
  };
  for (size_t n = slice.begin; n < slice.end; ++n) {
    const uint64_t offset = (*input_.moved)[n].from;
    EntryHeader* original = pool_->EntryAt(offset);
    const EntryHeader* copy = pool_->EntryAt(source_[n]);
    if (original == nullptr || copy == nullptr || copy->height() > slice.layers) return false;
    if (original->height() > slice.layers) return false;
    const uint64_t value = pool_->LinkTo(offset).raw;
    const uint32_t strand = pool_->StrandOf(offset);
    for (uint32_t layer = 0; layer < original->height(); ++layer) {
      const uint32_t at = (layer == 0 ? 0 : strand * kMaxHeight) + layer;
      if (!leads_to(run_links_[at], value, at, layer)) return false;
      run_links_[at] = original->links() + layer;
    }
  }
  return true;
}

bool ZipperMerge::RelinkRun(size_t i) {
  const Slice& slice = places_.slice(i);
  if (!FollowOriginals(i)) return false;
  for (size_t n = slice.begin; n < slice.end; ++n) {
    const uint64_t offset = (*input_.moved)[n].from;
    updates_.push_back({offset | format::kRedoMarkObsolete, 0});
    steps_.push_back(UpdateStep::kPrepare);
  }
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint32_t layer = strand == 0 ? 0 : 1; layer < slice.layers; ++layer) {
      const uint32_t at = strand * kMaxHeight + layer;
      run_after_[at] = LinkNow(run_links_[at]);
    }
  }
  for (size_t n = slice.end; n-- > slice.begin;) {
    auto* copy = pool_->As<EntryHeader>(source_[n]);
    const uint64_t link = pool_->LinkTo(source_[n]).raw;
    const uint32_t strand = pool_->StrandOf(source_[n]);
    for (uint32_t layer = 0; layer < copy->height(); ++layer) {
      uint64_t& after = run_after_[(layer == 0 ? 0 : strand * kMaxHeight) + layer];
      // Mostly it leads there since it was written: to the next copy.
      if (copy->links()[layer] != after) {
        SetLink(copy->links() + layer, after, UpdateStep::kPrepare);
      }
      after = link;
    }
  }
  for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
    for (uint32_t layer = strand == 0 ? 0 : 1; layer < slice.layers; ++layer) {
      SetLink(places_.Pred(i, strand, layer) + layer, run_after_[strand * kMaxHeight + layer],
              UpdateStep::kLast);
    }
  }
  batch_merged_ += slice.end - slice.begin;
  batch_runs_.emplace_back(slice.begin, slice.end);
  return true;
}

Status ZipperMerge::CommitBatch(uint64_t boundary) {
  BRAID_DCHECK(steps_.size() == updates_.size());
  // Made from what was read: it must not be zeros that stand for lost data.
  if (pool_->failed()) return pool_->FaultStatus();
  BatchProgress progress = result_.progress;
  ++progress.batch;
  progress.boundary = boundary;
  progress.entries_delta += batch_delta_;
  progress.merged_entries += batch_merged_;
  // All the memory that is needed before the record is written, all that may fail but the tree.
  const size_t obsolete = result_.obsolete.size() + batch_obsolete_.size();
  if (obsolete > result_.obsolete.capacity()) result_.obsolete.reserve(2 * obsolete);
  const size_t replaced = result_.replaced.size() + batch_runs_.size();
  if (replaced > result_.replaced.capacity()) result_.replaced.reserve(2 * replaced);
  Charge();
  if (input_.merge_epoch != nullptr) input_.merge_epoch->Begin(input_.copies);
  is_as_found_ = false;
  BRAID_DCHECK(input_.merge_epoch == nullptr ||
               index::MergeEpoch::AnyAtWork(input_.merge_epoch->Now()));
  Status outcome =
      input_.by_pointers ? pointers_.Commit(updates_, steps_) : redo_.Commit(updates_, progress);
  const bool committed = outcome.ok() && !pool_->failed();
  if (committed) outcome = UpdateTrees();
  if (input_.merge_epoch != nullptr) input_.merge_epoch->End();
  if (!committed) return outcome.ok() ? pool_->FaultStatus() : outcome;
  result_.progress = progress;
  result_.obsolete.insert(result_.obsolete.end(), batch_obsolete_.begin(), batch_obsolete_.end());
  result_.replaced.insert(result_.replaced.end(), batch_runs_.begin(), batch_runs_.end());
  batch_runs_.clear();
  updates_.clear();
  steps_.clear();
  pending_.Clear();
  batch_obsolete_.clear();
  tree_changes_.clear();
  batch_delta_ = 0;
  batch_merged_ = 0;
  if (input_.fit_tree) {
    const TargetTree now = input_.fit_tree();
    BRAID_DCHECK(now.next == nullptr || now.tree != nullptr);
    // Another tree, or none, does not have all keys.
    if (now.tree != input_.tree || now.min_height != 1) places_.ForgetTree();
    input_.tree = now.tree;
    input_.tree_min_height = now.min_height;
    input_.next_tree = now.next;
    input_.next_tree_min_height = now.next_min_height;
  }
  return outcome;
}

/// Only after the links: a lookup that comes through the tree relies on the entry's links in the
/// target. A key that finds no room is left out; then the merge must not end, since its source must
/// go on hiding what the tree does not know.
Status ZipperMerge::UpdateTrees() {
  std::reverse(tree_changes_.begin(), tree_changes_.end());
  Status outcome = UpdateTree(input_.tree, input_.tree_min_height);
  Status next = UpdateTree(input_.next_tree, input_.next_tree_min_height);
  return outcome.ok() ? next : outcome;
}

Status ZipperMerge::UpdateTree(index::EntryIndex* tree, uint32_t min_height) {
  Status outcome;
  if (tree == nullptr) return outcome;
  outcome = UpdateTree(tree, min_height, tree_changes_);
  for (const auto& run : batch_runs_) {
    Status s = UpdateTree(tree, min_height,
                          {input_.moved->data() + run.first, input_.moved->data() + run.second});
    if (!s.ok()) outcome = s;
  }
  return outcome;
}

/// In the order of the keys. Where an entry takes another's place, a leaf at a time.
Status ZipperMerge::UpdateTree(index::EntryIndex* tree, uint32_t min_height,
                               std::span<const index::Replacement> changes) {
  Status outcome;
  for (size_t i = 0, run_end = 0; i < changes.size();) {
    const auto is_replaced = [](const index::Replacement& change) {
      return change.from != 0 && change.to != 0;
    };
    size_t done = 0;
    if (min_height == 1 && is_replaced(changes[i])) {
      for (run_end = std::max(run_end, i); run_end < changes.size(); ++run_end) {
        if (!is_replaced(changes[run_end])) break;
      }
      Status s = base::CatchToStatus([&] {
        done = tree->ReplaceRun(KeyOf(changes[i]), &changes[i], run_end - i);
        return Status::OK();
      });
      BRAID_DCHECK(done <= run_end - i && (s.ok() || done == 0));
    }
    if (done == 0) {
      if (Status s = UpdateTree(tree, min_height, changes[i]); !s.ok()) outcome = s;
    }
    i += std::max<size_t>(done, 1);
  }
  return outcome;
}

Status ZipperMerge::UpdateTree(index::EntryIndex* tree, uint32_t min_height,
                               const index::Replacement& change) {
  const std::string_view key = KeyOf(change);
  const EntryHeader* newest = change.to == 0 ? nullptr : pool_->EntryAt(change.to);
  const bool indexed = newest != nullptr && newest->height() >= min_height;
  return base::CatchToStatus([&] {
    if (indexed) {
      tree->Upsert(key, [&](uint64_t) { return change.to; });
    } else {
      tree->EraseIf(key, [](uint64_t) { return true; });
    }
    return Status::OK();
  });
}

}  // namespace braid::merge
