// Purpose: opening the wB+-tree: creation, recovery from the bytes that are there, and the check of
// all of them.
// Thread safety: one thread, nobody else knows the tree.
// Invariants: of wb_tree.h.
//
// Persistence: creation is committed by the publication of the first segment. Recovery first
// repeats the splits whose records count, then trusts the chain of leaves. It may be interrupted
// anywhere and repeated: a repeated split stores the same again, and slots are made from the
// bitmap.
#include <string>
#include <utility>

#include "bench/wbtree/wb_tree.h"

namespace braid::bench::wbtree {

WbTree::WbTree(std::unique_ptr<media::Media> media, const WbTreeOptions& options)
    : options_(options),
      media_(std::move(media)),
      ops_(media_->media_class()),
      state_pages_(std::make_unique<std::atomic<StatePage*>[]>(kStatePages)) {
#if defined(BRAID_CRASHSIM)
  ops_.set_hook(media_->hook());
#endif
}

Result<std::unique_ptr<WbTree>> WbTree::Open(std::unique_ptr<media::Media> media,
                                             const WbTreeOptions& options) {
  const uint64_t least = kLeavesOffset + sizeof(Leaf);
  if (options.initial_bytes < least || options.initial_bytes % media::kLineBytes != 0 ||
      options.growth_bytes < sizeof(Leaf) || options.growth_bytes % media::kLineBytes != 0) {
    return Status::InvalidArgument("WbTreeOptions: initial_bytes must be at least " +
                                   std::to_string(least) + ", growth_bytes at least " +
                                   std::to_string(sizeof(Leaf)) +
                                   ", and both multiples of a cache line");
  }
  std::unique_ptr<WbTree> tree(new WbTree(std::move(media), options));
  Status s;
  for (const uint64_t bytes : tree->media_->segment_bytes()) tree->published_bytes_ += bytes;
  if (tree->published_bytes_ == 0) s = tree->AddSegment(options.initial_bytes, true);
  // The class of a file is known when it is mapped.
  tree->ops_.set_media_class(tree->media_->media_class());
  if (s.ok()) s = tree->ops_.Emulate(options.emulate_write_ns, options.emulate_write_mb_s);
  if (s.ok()) s = tree->CheckHeader();
  if (s.ok()) s = tree->RedoSplits();
  if (s.ok()) s = tree->WalkLeaves();
  if (!s.ok()) return s;
  return tree;
}

/// Fills the first segment, which is all zero and not yet published: one empty leaf.
Status WbTree::Create() {
  ops_.set_media_class(media_->media_class());
  ops_.StoreU64(&LeafAt(1)->bitmap, kSlotsValid);
  ops_.Flush(&LeafAt(1)->bitmap, sizeof(uint64_t), media::Site::kOutside);
  Header header{};
  header.magic = kMagic;
  header.version = kVersion;
  header.leaf_bytes = sizeof(Leaf);
  header.redo_records = kRedoRecords;
  header.check = HeaderCheck(header);
  ops_.Copy(media_->base(), &header, sizeof header);
  ops_.Persist(media_->base(), sizeof header, media::Site::kOutside);
  return Status::OK();
}

Status WbTree::CheckHeader() const {
  const auto* header = reinterpret_cast<const Header*>(media_->base());
  const bool fits = published_bytes_ >= kLeavesOffset + sizeof(Leaf);
  if (!fits || header->magic != kMagic) {
    return Status::Corruption(media_->Locate(0) + ": this is not a wB+-tree");
  }
  if (header->check != HeaderCheck(*header) || header->version != kVersion ||
      header->leaf_bytes != sizeof(Leaf) || header->redo_records != kRedoRecords) {
    return Status::Corruption(media_->Locate(0) +
                              ": the wB+-tree's header is damaged or of another version");
  }
  return Status::OK();
}

/// Repeats each split that has a whole redo record and did not reach its last store.
Status WbTree::RedoSplits() {
  const uint64_t leaves = LeavesIn(published_bytes_);
  for (uint32_t i = 0; i < kRedoRecords; ++i) {
    const Leaf* record = RedoRecord(i);
    if (record->redo_check != RedoCheck(*record)) continue;  // torn, or never used
    const LeafNumber source = record->redo_source;
    const LeafNumber target = record->redo_target;
    if (source == 0 || source > leaves || target == 0 || target > leaves || source == target ||
        record->count() == 0) {
      return Status::Corruption(media_->Locate(kRedoOffset + i * sizeof(Leaf)) +
                                ": the record of a split names leaves that do not exist");
    }
    Leaf* left = LeafAt(source);
    if (left->next != record->next) continue;  // the split has happened
    MakeNewLeaf(LeafAt(target), *record);
    ops_.Fence(media::Site::kOutside);
    uint64_t bits = 0;
    for (uint64_t rest = left->bitmap & kEntryBits; rest != 0; rest &= rest - 1) {
      if (left->entries[std::countr_zero(rest)].key < record->low) bits |= rest & -rest;
    }
    ops_.StoreU64(&left->bitmap, bits);  // without kSlotsValid: WalkLeaves makes the slots anew
    ops_.StoreU64(&left->next, target);
    ops_.Persist(left, media::kLineBytes, media::Site::kOutside);
    ++redone_splits_;
  }
  return Status::OK();
}

Status WbTree::DamagedLeaf(LeafNumber number, const char* what) const {
  return Status::Corruption(media_->Locate(kLeavesOffset + (number - 1) * sizeof(Leaf)) +
                            ": leaf " + std::to_string(number) + " " + what);
}

/// Follows the chain from the first leaf, and makes from it what lies in DRAM.
Status WbTree::WalkLeaves() {
  const uint64_t leaves = LeavesIn(published_bytes_);
  if (leaves >= kStatesAPage * kStatePages) {
    return Status::Corruption("the pool is larger than a wB+-tree can be");
  }
  std::vector<std::pair<uint64_t, LeafNumber>> chain;
  std::vector<bool> linked(leaves + 1, false);
  LeafNumber largest = 0;
  for (LeafNumber number = 1; number != 0; number = LeafAt(number)->next) {
    if (number > leaves || linked[number]) {
      return DamagedLeaf(chain.empty() ? 1 : chain.back().second, "leads to no leaf behind it");
    }
    Leaf* leaf = LeafAt(number);
    // The lowest keys grow along the chain, from 0.
    if (chain.empty() ? leaf->low != 0 : leaf->low <= chain.back().first) {
      return DamagedLeaf(number, "is out of order");
    }
    if (!chain.empty()) MakeState(chain.back().second, leaf->low - 1);
    if ((leaf->bitmap & kSlotsValid) == 0) {
      RebuildSlots(&ops_, leaf);
      ++rebuilt_slots_;
    } else if (!SlotsMatchBitmap(*leaf)) {
      return DamagedLeaf(number, "has slots that do not match its bitmap");
    }
    linked[number] = true;
    largest = std::max(largest, number);
    chain.emplace_back(leaf->low, number);
  }
  MakeState(chain.back().second, ~uint64_t{0});
  inner_.Build(chain);
  for (LeafNumber number = largest; number > 0; --number) {
    if (!linked[number]) free_leaves_.push_back(number);
  }
  next_leaf_ = largest + 1;
  return Status::OK();
}

Status WbTree::CheckLeaf(LeafNumber number, uint64_t last) const {
  const Leaf& leaf = *LeafAt(number);
  if ((leaf.bitmap & kSlotsValid) == 0) return DamagedLeaf(number, "has invalid slots");
  if (!SlotsMatchBitmap(leaf)) {
    return DamagedLeaf(number, "has slots that do not match its bitmap");
  }
  for (uint32_t i = 1; i <= leaf.count(); ++i) {
    const uint64_t key = leaf.entries[LoadSlot(leaf, i)].key;
    if (key < leaf.low || key > last) return DamagedLeaf(number, "has a key of another leaf");
    if (i > 1 && key <= leaf.entries[LoadSlot(leaf, i - 1)].key) {
      return DamagedLeaf(number, "has keys out of order");
    }
    if (inner_.Find(key) != number) return DamagedLeaf(number, "is not where the index looks");
  }
  return Status::OK();
}

Status WbTree::Verify() const {
  uint64_t seen = 0;
  for (LeafNumber number = 1; number != 0; ++seen) {
    const LeafNumber next = LeafAt(number)->next;
    if (next > LeavesIn(published_bytes_)) return DamagedLeaf(number, "leads to no leaf");
    const uint64_t last = next == 0 ? ~uint64_t{0} : LeafAt(next)->low - 1;
    // Relaxed: nobody else is at work.
    if (StateOf(number)->last.load(std::memory_order_relaxed) != last) {
      return DamagedLeaf(number, "does not end where the next one begins");
    }
    if (inner_.Find(LeafAt(number)->low) != number || inner_.Find(last) != number) {
      return DamagedLeaf(number, "is not where the index looks for its range");
    }
    if (Status s = CheckLeaf(number, last); !s.ok()) return s;
    number = next;
  }
  const uint64_t used = Statistics().leaves;
  if (seen != used) {
    return Status::Corruption("the chain has " + std::to_string(seen) + " leaves, but " +
                              std::to_string(used) + " are in use");
  }
  return Status::OK();
}

}  // namespace braid::bench::wbtree
