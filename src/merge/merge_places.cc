// Purpose: finding the places of a merge.
// Thread safety, invariants, persistence: merge_places.h.
#include "merge/merge_places.h"

#include <algorithm>

#include "base/check.h"
#include "base/prefetch.h"

namespace braid::merge {

using format::EntryHeader;
using format::kMaxHeight;

namespace {
/// Source entries that are asked for ahead of the one that is cut.
constexpr size_t kPlacesAhead = 16;
/// Header, links and key of most entries.
constexpr uint64_t kEntryFront = 128;
}  // namespace

MergePlaces::MergePlaces(pool::PmemPool* pool, uint64_t target_head, const index::EntryIndex* tree,
                         uint64_t left_border)
    : pool_(pool),
      target_head_(target_head),
      tree_(tree),
      border_(left_border == 0 ? nullptr : pool->As<EntryHeader>(left_border)),
      target_(pool, pool->As<uint64_t>(target_head)),
      fingers_(PredAt(pool->strands(), 0)) {
  BRAID_DCHECK(border_ == nullptr || (pool->strands() == 1 && border_->height() == kMaxHeight));
}

Status MergePlaces::Find() {
  for (size_t i = 0; i < fingers_.size(); ++i) {
    fingers_[i] = Begin(static_cast<uint32_t>(i / kMaxHeight));
  }
  places_.resize(slices_.size() * fingers_.size());
  behind_.assign(slices_.size(), Behind{});
  index::EntryIndex::Finger finger;  // for this run of keys: nodes are reclaimed between batches
  if (tree_ != nullptr) {
    neighbours_.resize(slices_.size());
    for (size_t i = 0; i < 2 * kPlacesAhead; ++i) AskTree(i, &finger);
    for (size_t i = 0; i < kPlacesAhead; ++i) AskNext(i);
  }
  for (size_t i = 0; i < slices_.size(); ++i) {
    if (tree_ != nullptr) {
      AskTree(i + 2 * kPlacesAhead, &finger);
      AskNext(i + kPlacesAhead);
    }
    if (!IsPlaced(i)) continue;
    if (Status s = Place(i); !s.ok()) return s;
  }
  return Status::OK();
}

void MergePlaces::Cut(const std::vector<uint64_t>& source, size_t begin, size_t end,
                      size_t most_versions, const MovedRuns* runs) {
  BRAID_DCHECK(begin < end && end <= source.size() && most_versions != 0);
  slices_.clear();
  keys_.clear();
  const auto height_of = [&](size_t i) {
    return std::min(pool_->As<EntryHeader>(source[i])->height(), kMaxHeight);
  };
  for (size_t i = begin; i < end;) {
    if (runs != nullptr) {
      const MovedRuns::Run run = runs->From(i, std::min(end, i + most_versions));
      if (run.end > i) {
        slices_.push_back({i, run.end, run.layers, true});
        keys_.push_back(pool_->KeyAt(source[i]));
        i = run.end;
        continue;
      }
    }
    if (i + kPlacesAhead < end)
      base::PrefetchRange(pool_->At(source[i + kPlacesAhead]), kEntryFront);
    const std::string_view key = pool_->KeyAt(source[i]);
    uint32_t layers = height_of(i);
    size_t next = i + 1;
    while (next < end && next - i < most_versions && pool_->KeyAt(source[next]) == key) {
      layers = std::max(layers, height_of(next));
      ++next;
    }
    slices_.push_back({i, next, layers, false});
    keys_.push_back(key);
    i = next;
  }
  // Nothing of the range is left out, or it would pass for merged.
  BRAID_DCHECK(slices_.front().begin == begin && slices_.back().end == end);
  BRAID_DCHECK(keys_.size() == slices_.size());
  // What is merged first, further right, is in the target when the key's other slices are.
  for (size_t i = slices_.size(); i-- > 1;) {
    if (keys_[i - 1] == keys_[i]) {
      slices_[i - 1].layers = std::max(slices_[i - 1].layers, slices_[i].layers);
    }
  }
}

/// The first of three steps to a place, each some slices ahead of the next, so that the loads of
/// many are under way side by side: the tree, for entries before the key.
void MergePlaces::AskTree(size_t i, index::EntryIndex::Finger* finger) {
  if (!IsPlaced(i)) return;
  Neighbours& found = neighbours_[i];
  const size_t wanted = slices_[i].layers > 1 ? kNeighbours : 1;
  found.count = tree_->ScanBefore(keys_[i], found.refs.data(), wanted, finger);
  BRAID_DCHECK(found.count <= wanted);
  for (size_t n = 0; n < found.count; ++n) {
    base::PrefetchRange(pool_->At(found.refs[n]), n == 0 ? kEntryFront : sizeof(EntryHeader));
  }
}

/// The second: the entry behind the nearest of these. The third is Place.
void MergePlaces::AskNext(size_t i) {
  if (!IsPlaced(i) || neighbours_[i].count == 0) return;
  auto* entry = pool_->As<EntryHeader>(neighbours_[i].refs[0]);
  // Relaxed: for nothing but to ask for what it leads to.
  const format::EntryPtr next{
      std::atomic_ref<uint64_t>(*entry->links()).load(std::memory_order_relaxed)};
  base::PrefetchRange(pool_->At(next.offset()), kEntryFront);
}

Status MergePlaces::Place(size_t i) {
  const std::string_view key = keys_[i];
  Slice& slice = slices_[i];
  uint64_t** preds = &places_[i * fingers_.size()];
  Behind::Step next{};
  uint64_t* bottom = tree_ != nullptr ? BottomByTree(i, &next) : nullptr;
  const bool by_tree = bottom != nullptr;
  if (!by_tree && !damage_) {
    if (Status s = AdvanceFingers(key); !s.ok()) return s;
    bottom = fingers_[0];
    next = {};
  }
  if (damage_) return Outcome();
  if (next.link == 0) next = Follow(bottom, 0);
  // Versions fall strictly; what does not is damage that the merge itself will meet.
  uint64_t sequence = index::kLatest;
  Behind& behind = behind_[i];
  for (;; next = Follow(next.entry->links(), 0)) {
    if (damage_) break;
    if (behind.count < behind.steps.size()) behind.steps[behind.count++] = next;
    const EntryHeader* entry = next.entry;
    if (entry == nullptr || entry->sequence() >= sequence || entry->key() != key) break;
    // Follow has seen that it is possible; another merge of the group may have stored since.
    slice.layers = std::max(slice.layers, std::min(entry->height(), kMaxHeight));
    sequence = entry->sequence();
  }
  preds[0] = bottom;
  if (slice.layers > 1 && !damage_ && !(by_tree && UpperByTree(i, preds)) && !damage_) {
    if (by_tree) AdvanceUpper(key);
    for (uint32_t strand = 0; strand < pool_->strands(); ++strand) {
      std::copy_n(&fingers_[PredAt(strand, 1)], slice.layers - 1, &preds[PredAt(strand, 1)]);
    }
  }
  return Outcome();
}

/// A live entry of the target at the place that the tree names, else null.
const EntryHeader* MergePlaces::Believed(uint64_t ref) {
  const EntryHeader* entry = target_.Resolve(pool_->LinkTo(ref), target_.head(), 0, &damage_);
  return entry != nullptr && entry->state() == format::kStateLive ? entry : nullptr;
}

/// `next`: what comes behind it.
uint64_t* MergePlaces::BottomByTree(size_t i, Behind::Step* next) {
  BRAID_DCHECK(neighbours_.size() == slices_.size());  // those of this run of entries
  const Neighbours& found = neighbours_[i];
  uint64_t* tower = Begin(0);
  if (found.count != 0) {
    const EntryHeader* entry = Believed(found.refs[0]);
    if (entry == nullptr) return nullptr;
    if (IsBehindBorder(*entry)) tower = const_cast<EntryHeader*>(entry)->links();
  }
  int free_hops = index::kFreeHops;
  return GoRight(tower, 0, keys_[i], &free_hops, next);
}

/// A link that a list has now, and what it leads to.
MergePlaces::Behind::Step MergePlaces::Follow(const uint64_t* tower, uint32_t layer) {
  // Acquire pairs with the release store that published the entry.
  const uint64_t link =
      std::atomic_ref<const uint64_t>(tower[layer]).load(std::memory_order_acquire);
  return {link, target_.Resolve(format::EntryPtr{link}, tower, layer, &damage_)};
}

/// The predecessors in upper layers from the entries before the key; false when these are not tall
/// enough. Strands have lists of their own, to which the tree does not lead.
bool MergePlaces::UpperByTree(size_t i, uint64_t** preds) {
  if (pool_->strands() > 1) return false;
  const Neighbours& found = neighbours_[i];
  int free_hops = index::kFreeHops;
  size_t n = 0;
  for (uint32_t layer = 1; layer < slices_[i].layers; ++layer) {
    while (n < found.count && pool_->As<EntryHeader>(found.refs[n])->height() <= layer) ++n;
    if (n == found.count) return false;
    const EntryHeader* entry = Believed(found.refs[n]);
    if (entry == nullptr || entry->height() <= layer || !IsBehindBorder(*entry)) return false;
    preds[layer] = GoRight(const_cast<EntryHeader*>(entry)->links(), layer, keys_[i], &free_hops);
    if (damage_) return false;
  }
  return true;
}

/// The last entry before `key` in a layer, from `tower` on. `behind` gets what comes then; it may
/// be null.
uint64_t* MergePlaces::GoRight(uint64_t* tower, uint32_t layer, std::string_view key,
                               int* free_hops, Behind::Step* behind) {
  for (;;) {
    const Behind::Step step = Follow(tower, layer);
    const EntryHeader* next = step.entry;
    if (next == nullptr || next->key() >= key) {
      if (behind != nullptr) *behind = step;
      return tower;
    }
    if (--*free_hops < 0 && !pool_->IsHead(pool_->OffsetOf(tower)) &&
        !index::InOrder(*(reinterpret_cast<const EntryHeader*>(tower) - 1), *next)) {
      damage_.at = pool_->OffsetOf(next);
      return tower;
    }
    tower = const_cast<EntryHeader*>(next)->links();
  }
}

bool MergePlaces::MustMove(uint32_t strand, uint32_t layer, std::string_view key) {
  const EntryHeader* next = target_.Follow(fingers_[PredAt(strand, layer)], layer, &damage_);
  return next != nullptr && next->key() < key;
}

/// Moves the predecessors of each strand and layer to the last entry before `key`; where nothing
/// moves at the bottom, nothing does anywhere. The bottom layer goes on from the strand that came
/// furthest.
Status MergePlaces::AdvanceFingers(std::string_view key) {
  if (!MustMove(0, 0, key)) return Outcome();
  uint64_t* furthest = AdvanceUpper(key);
  int free_hops = index::kFreeHops;
  uint64_t*& bottom = fingers_[0];
  if (!damage_) bottom = GoRight(furthest != nullptr ? furthest : bottom, 0, key, &free_hops);
  return Outcome();
}

/// The same for the upper layers alone. A strand climbs until a layer need not move, since then
/// none above it does, and goes down again to the right. Returns the tower that came furthest, null
/// when none moved.
uint64_t* MergePlaces::AdvanceUpper(std::string_view key) {
  uint64_t* furthest = nullptr;
  const auto key_of = [](const uint64_t* tower) {
    return (reinterpret_cast<const EntryHeader*>(tower) - 1)->key();
  };
  int free_hops = index::kFreeHops;
  for (uint32_t strand = 0; strand < pool_->strands() && !damage_; ++strand) {
    uint32_t top = 1;
    while (top < kMaxHeight && MustMove(strand, top, key)) ++top;
    if (top == 1) continue;
    uint64_t* tower = fingers_[PredAt(strand, top - 1)];
    for (uint32_t layer = top; layer-- > 1;) {
      tower = GoRight(tower, layer, key, &free_hops);
      fingers_[PredAt(strand, layer)] = tower;
    }
    if (damage_) break;
    if (furthest == nullptr || key_of(tower) > key_of(furthest)) furthest = tower;
  }
  return furthest;
}

}  // namespace braid::merge
