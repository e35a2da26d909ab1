// Purpose: searching and balancing the upper levels.
// Thread safety, invariants: span_skiplist.h.
#include "leaf/span_skiplist.h"

#include <algorithm>

#include "base/check.h"
#include "base/no_throw.h"

namespace braid::leaf {

namespace {

std::string LowOf(uint64_t prefix) {
  std::string low;
  for (int shift = 56; shift >= 0; shift -= 8) low.push_back(static_cast<char>(prefix >> shift));
  while (!low.empty() && low.back() == '\0') low.pop_back();
  return low;
}

bool Passes(const SpanNode& node, std::string_view key, uint64_t prefix, bool strict) noexcept {
  return AtOrBefore(node.key, node.prefix, key, prefix, strict);
}

}  // namespace

size_t SpanSkipList::Directory::Position(std::string_view key) const noexcept {
  BRAID_DCHECK(!ranges.empty() && ranges.size() == prefixes.size());
  const uint64_t prefix = KeyPrefix(key);
  size_t at = static_cast<size_t>(std::upper_bound(prefixes.begin(), prefixes.end(), prefix) -
                                  prefixes.begin());
  // The first range begins with the empty key.
  while (at > 1 && ranges[at - 1]->low > key) --at;
  return at == 0 ? 0 : at - 1;
}

SpanSkipList::SpanSkipList(LeafNode* first, const Limits& limits) : limits_(limits), first_(first) {
  BRAID_CHECK(first != nullptr && limits.span > 0);
  auto directory = std::make_shared<Directory>();
  const uint64_t count = std::max(limits.ranges, 1u);
  const uint64_t width = count == 1 ? 0 : ~uint64_t{0} / count + 1;
  for (uint64_t i = 0; i < count; ++i) {
    auto range = std::make_shared<Range>();
    range->low = LowOf(i * width);
    AddHead(range.get(), first);
    directory->prefixes.push_back(KeyPrefix(range->low));
    directory->ranges.push_back(range.get());
    ranges_.push_back(std::move(range));
  }
  directory_owner_ = std::move(directory);
  directory_.store(directory_owner_.get(), std::memory_order_release);
}

SpanSkipList::~SpanSkipList() {
  for (const auto& range : ranges_) {
    for (SpanNode* head : range->heads) {
      while (head != nullptr) {
        SpanNode* next = head->next.load(std::memory_order_relaxed);
        delete head;
        head = next;
      }
    }
  }
  while (garbage_ != nullptr) delete std::exchange(garbage_, garbage_->sibling);
}

/// One more level for a range; the first one stands on `leaf`.
void SpanSkipList::AddHead(Range* range, LeafNode* leaf) {
  BRAID_DCHECK(range->heads.size() < kMaxLevels && (leaf != nullptr) == range->heads.empty());
  range->heads.reserve(range->heads.size() + 1);
  auto head = std::make_unique<SpanNode>(range->low, true);
  if (range->heads.empty()) {
    Point(head.get(), leaf);
  } else {
    head->down = range->heads.back();
    head->down->up = head.get();
  }
  range->heads.push_back(head.get());
  nodes_.fetch_add(1, std::memory_order_relaxed);
  // Release pairs with the acquire of Search: a reader that sees the head sees what it leads to.
  range->top.store(head.release(), std::memory_order_release);
}

/// Lets a node of level 1 stand on `leaf`.
void SpanSkipList::Point(SpanNode* node, LeafNode* leaf) noexcept {
  BRAID_DCHECK(leaf != nullptr && node->down == nullptr);  // those above stand on nodes
  Detach(node);
  node->sibling = std::exchange(leaf->towers, node);
  node->leaf.store(leaf, std::memory_order_release);
}

/// Takes a node off its leaf's list. It goes on leading there: searches may be under way.
void SpanSkipList::Detach(SpanNode* node) noexcept {
  LeafNode* leaf = node->leaf.load(std::memory_order_relaxed);
  if (leaf == nullptr) return;
  SpanNode** link = &leaf->towers;
  while (*link != node) {
    BRAID_DCHECK(*link != nullptr);  // it is among its leaf's
    link = &(*link)->sibling;
  }
  *link = node->sibling;
  node->sibling = nullptr;
}

template <bool kStrict>
LeafNode* SpanSkipList::Search(std::string_view key, Raises* raises) const noexcept {
  const uint64_t prefix = KeyPrefix(key);
  // Acquire: pairs with Publish, AddHead and the stores of links.
  const Directory& directory = *directory_.load(std::memory_order_acquire);
  size_t position = directory.Position(key);
  // A range's head may stand on a leaf that begins where the range does.
  if (kStrict && directory.ranges[position]->low == key) {
    if (position == 0) return first_;
    --position;
  }
  const Range* range = directory.ranges[position];
  SpanNode* node = range->top.load(std::memory_order_acquire);
  for (;;) {
    uint32_t passed = 0;
    for (;;) {
      SpanNode* next = node->next.load(std::memory_order_acquire);
      if (next == nullptr || !Passes(*next, key, prefix, kStrict)) break;
      node = next;
      if (++passed > limits_.span && raises != nullptr) {
        raises->Add(node, nullptr);
        passed = 0;
      }
    }
    if (node->down == nullptr) break;
    node = node->down;
  }
  LeafNode* leaf = node->leaf.load(std::memory_order_acquire);
  uint32_t passed = 0;
  for (;;) {
    LeafNode* next = leaf->next.load(std::memory_order_acquire);
    if (next == nullptr || !AtOrBefore(next->low, next->prefix, key, prefix, kStrict)) break;
    leaf = next;
    if (++passed > limits_.span && raises != nullptr) {
      raises->Add(nullptr, leaf);
      passed = 0;
    }
  }
  return leaf;
}
template LeafNode* SpanSkipList::Search<true>(std::string_view, Raises*) const noexcept;
template LeafNode* SpanSkipList::Search<false>(std::string_view, Raises*) const noexcept;

LeafNode* SpanSkipList::FindLast() const noexcept {
  const SpanNode* node = directory_.load(std::memory_order_acquire)
                             ->ranges.back()
                             ->top.load(std::memory_order_acquire);
  for (;;) {
    while (const SpanNode* next = node->next.load(std::memory_order_acquire)) node = next;
    if (node->down == nullptr) break;
    node = node->down;
  }
  LeafNode* leaf = node->leaf.load(std::memory_order_acquire);
  while (LeafNode* next = leaf->next.load(std::memory_order_acquire)) leaf = next;
  return leaf;
}

/// The last node of `level` (from 0) at or before `key`, or the range's head.
SpanNode* SpanSkipList::PredecessorAt(const Range& range, size_t level, std::string_view key,
                                      bool strict) noexcept {
  BRAID_DCHECK(level < range.heads.size());
  const uint64_t prefix = KeyPrefix(key);
  SpanNode* node = range.heads.back();
  for (size_t at = range.heads.size() - 1;; --at) {
    for (;;) {
      SpanNode* next = node->next.load(std::memory_order_relaxed);
      if (next == nullptr || !Passes(*next, key, prefix, strict)) break;
      node = next;
    }
    if (at == level) return node;
    node = node->down;
  }
}

void SpanSkipList::Raise(std::string_view key, const Raises& raises) noexcept {
  const Status raised = base::CatchToStatus([&] {
    const base::MutexLock lock(mutex_);
    for (int i = 0; i < raises.count; ++i) {
      if (raises.all[i].leaf != nullptr) {
        RaiseLeaf(key, raises.all[i].leaf);
      } else {
        RaiseNode(raises.all[i].node);
      }
    }
    return Status::OK();
  });
  (void)raised;  // without memory searches are slower, not wrong
}

void SpanSkipList::RaiseLeaf(std::string_view key, LeafNode* leaf) {
  // Obsolete ones are marked before Replace takes the mutex, so that no tower is left behind on
  // one.
  if (leaf->replaced.load(std::memory_order_acquire)) return;
  Range* range = directory_owner_->Find(key);
  if (leaf->low <= range->low) {
    LeafNode* at = range->heads[0]->leaf.load(std::memory_order_relaxed);
    if (at != leaf && at->low <= leaf->low) Point(range->heads[0], leaf);
    return;
  }
  SpanNode* before = PredecessorAt(*range, 0, leaf->low, false);
  if (!before->head && before->key == leaf->low) return;
  BRAID_DCHECK(before->key < leaf->low);  // invariant 1, and 2: the leaf begins at the node's key
  auto node = std::make_unique<SpanNode>(leaf->low, false);
  Point(node.get(), leaf);
  node->next.store(before->next.load(std::memory_order_relaxed), std::memory_order_relaxed);
  nodes_.fetch_add(1, std::memory_order_relaxed);
  before->next.store(node.release(), std::memory_order_release);
}

void SpanSkipList::RaiseNode(SpanNode* node) {
  if (node->removed || node->head || node->up != nullptr) return;
  Range* range = directory_owner_->Find(node->key);
  size_t level = 1;  // of the new node, from 0
  for (const SpanNode* at = node; at->down != nullptr; at = at->down) ++level;
  if (level >= kMaxLevels || level > range->heads.size()) return;
  auto raised = std::make_unique<SpanNode>(node->key, false);
  if (level == range->heads.size()) AddHead(range, nullptr);
  SpanNode* before = PredecessorAt(*range, level, node->key, true);
  BRAID_DCHECK(before->head || before->key < node->key);  // invariant 1
  raised->down = node;
  raised->next.store(before->next.load(std::memory_order_relaxed), std::memory_order_relaxed);
  node->up = raised.get();
  nodes_.fetch_add(1, std::memory_order_relaxed);
  before->next.store(raised.release(), std::memory_order_release);
}

void SpanSkipList::Discard(SpanNode* node) noexcept {
  BRAID_DCHECK(!node->removed && nodes() > 0);  // or it would be deleted twice
  node->removed = true;
  nodes_.fetch_sub(1, std::memory_order_relaxed);
  node->sibling = std::exchange(garbage_, node);
}

/// Unlinks a tower, from the top, that stands on a leaf that is gone.
void SpanSkipList::RemoveTower(SpanNode* bottom) noexcept {
  Range* range = directory_owner_->Find(bottom->key);
  SpanNode* node = bottom;
  size_t level = 0;
  for (; node->up != nullptr; node = node->up) ++level;
  for (;; --level) {
    SpanNode* before = PredecessorAt(*range, level, node->key, true);
    SpanNode* below = node->down;
    BRAID_DCHECK(before->next.load(std::memory_order_relaxed) == node);
    // Its own link stays, so that a search that stands here goes on.
    before->next.store(node->next.load(std::memory_order_relaxed), std::memory_order_release);
    Discard(node);
    if (below == nullptr) return;
    node = below;
  }
}

void SpanSkipList::Replace(LeafNode* before, const std::vector<LeafNode*>& old,
                           const std::vector<LeafNode*>& made) noexcept {
  const base::MutexLock lock(mutex_);
  Range* range = directory_owner_->Find(old.empty() ? before->low : old.front()->low);
  range->leaves.fetch_add(static_cast<int64_t>(made.size()) - static_cast<int64_t>(old.size()),
                          std::memory_order_relaxed);
  BRAID_DCHECK(!before->replaced.load());
  for (LeafNode* gone : old) {
    BRAID_DCHECK(gone->replaced.load());  // or RaiseLeaf could put a tower on it again
    while (SpanNode* tower = gone->towers) {
      LeafNode* heir = before;
      for (LeafNode* leaf : made) {
        if (leaf->low <= tower->key) heir = leaf;
      }
      if (!tower->head && heir->low != tower->key) {
        Detach(tower);
        RemoveTower(tower);
        continue;
      }
      Point(tower, heir);
    }
  }
  const Status fitted = base::CatchToStatus([&] {
    mutex_.AssertHeld();
    if (limits_.divide) FitRange(range);
    return Status::OK();
  });
  (void)fitted;  // later, when there is memory
}

void SpanSkipList::Count(const LeafNode* leaf) noexcept {
  const base::MutexLock lock(mutex_);
  Range* range = directory_owner_->Find(leaf->low);
  range->leaves.fetch_add(1, std::memory_order_relaxed);
  const Status fitted = base::CatchToStatus([&] {
    mutex_.AssertHeld();
    if (limits_.divide && range->leaves > static_cast<int64_t>(DivideAt())) Divide(range);
    return Status::OK();
  });
  (void)fitted;
}

/// So many leaves that directory and ranges grow alike.
uint64_t SpanSkipList::DivideAt() const noexcept {
  return std::max<uint64_t>(limits_.leaves_a_range, 2 * ranges_.size());
}

void SpanSkipList::FitRange(Range* range) {
  const auto leaves = [](const Range& r) { return r.leaves.load(std::memory_order_relaxed); };
  const auto limit = static_cast<int64_t>(DivideAt());
  if (leaves(*range) > limit) return Divide(range);
  if (leaves(*range) * 8 > limit || ranges_.size() <= std::max(limits_.ranges, 1u)) return;
  const size_t at = directory_owner_->Position(range->low);
  const size_t left = at == 0 ? 0 : at - 1;
  if (left + 1 < ranges_.size() &&
      (leaves(*ranges_[left]) + leaves(*ranges_[left + 1])) * 4 < limit) {
    Unite(left);
  }
}

/// Cuts a range in the middle of its level 1.
void SpanSkipList::Divide(Range* range) {
  size_t count = 0;
  for (SpanNode* n = range->heads[0]->next; n != nullptr; n = n->next) ++count;
  if (count < 8) return;
  SpanNode* middle = range->heads[0];
  for (size_t i = 0; i <= count / 2; ++i) middle = middle->next;

  auto right = std::make_shared<Range>();
  right->low = middle->key;
  const size_t at = directory_owner_->Position(range->low);
  BRAID_DCHECK(directory_owner_->ranges[at] == range && range->low < right->low);
  auto next = std::make_shared<Directory>(*directory_owner_);
  next->ranges.insert(next->ranges.begin() + static_cast<ptrdiff_t>(at) + 1, right.get());
  next->prefixes.insert(next->prefixes.begin() + static_cast<ptrdiff_t>(at) + 1,
                        KeyPrefix(right->low));
  ranges_.reserve(ranges_.size() + 1);
  discarded_.reserve(discarded_.size() + 1);
  right->heads.reserve(range->heads.size());
  std::vector<SpanNode*> cuts;
  std::vector<std::unique_ptr<SpanNode>> heads;
  for (size_t level = 0; level < range->heads.size(); ++level) {
    SpanNode* last = PredecessorAt(*range, level, middle->key, true);
    if (level > 0 && last->next.load() == nullptr) break;
    cuts.push_back(last);
    heads.push_back(std::make_unique<SpanNode>(right->low, true));
  }
  Point(heads[0].get(), middle->leaf.load(std::memory_order_relaxed));
  // Nothing below throws.
  for (size_t level = 0; level < heads.size(); ++level) {
    SpanNode* head = heads[level].release();
    head->next.store(cuts[level]->next.load(std::memory_order_relaxed), std::memory_order_relaxed);
    if (level > 0) {
      head->down = right->heads.back();
      head->down->up = head;
    }
    right->heads.push_back(head);
    nodes_.fetch_add(1, std::memory_order_relaxed);
  }
  right->top.store(right->heads.back(), std::memory_order_release);
  const int64_t leaves = range->leaves.load(std::memory_order_relaxed);
  range->leaves.store(leaves - leaves / 2, std::memory_order_relaxed);
  right->leaves.store(leaves / 2, std::memory_order_relaxed);
  ranges_.insert(ranges_.begin() + static_cast<ptrdiff_t>(at) + 1, std::move(right));
  Publish(std::move(next));
  // Who still searches in the old directory ends further left, and goes on along the leaves.
  for (SpanNode* last : cuts) last->next.store(nullptr, std::memory_order_release);
}

/// Makes one range of `left` and the next one.
void SpanSkipList::Unite(size_t left) {
  BRAID_DCHECK(left + 1 < ranges_.size());
  Range& into = *ranges_[left];
  const std::shared_ptr<Range> gone = ranges_[left + 1];
  auto next = std::make_shared<Directory>(*directory_owner_);
  next->ranges.erase(next->ranges.begin() + static_cast<ptrdiff_t>(left) + 1);
  next->prefixes.erase(next->prefixes.begin() + static_cast<ptrdiff_t>(left) + 1);
  discarded_.reserve(discarded_.size() + 2);
  while (into.heads.size() < gone->heads.size()) AddHead(&into, nullptr);
  for (size_t level = 0; level < gone->heads.size(); ++level) {
    SpanNode* last = into.heads[level];
    while (SpanNode* n = last->next.load(std::memory_order_relaxed)) last = n;
    last->next.store(gone->heads[level]->next.load(std::memory_order_relaxed),
                     std::memory_order_release);
  }
  into.leaves.fetch_add(gone->leaves.load(std::memory_order_relaxed), std::memory_order_relaxed);
  SpanNode* bottom = gone->heads[0];
  Detach(bottom);
  for (SpanNode* head : gone->heads) Discard(head);
  gone->heads.clear();
  ranges_.erase(ranges_.begin() + static_cast<ptrdiff_t>(left) + 1);
  discarded_.push_back(gone);
  Publish(std::move(next));
}

void SpanSkipList::Publish(std::shared_ptr<Directory> next) {
  BRAID_DCHECK(next->ranges.size() == ranges_.size() && next->ranges[0] == ranges_[0].get());
  BRAID_DCHECK(std::is_sorted(next->prefixes.begin(), next->prefixes.end()));
  discarded_.push_back(std::move(directory_owner_));
  directory_owner_ = std::move(next);
  directory_.store(directory_owner_.get(), std::memory_order_release);
}

SpanSkipList::Garbage SpanSkipList::TakeGarbage() noexcept {
  const base::MutexLock lock(mutex_);
  Garbage garbage;
  garbage.nodes_ = std::exchange(garbage_, nullptr);
  garbage.others_.swap(discarded_);
  return garbage;
}

void SpanSkipList::PutBack(Garbage garbage) {
  const base::MutexLock lock(mutex_);
  discarded_.insert(discarded_.end(), garbage.others_.begin(), garbage.others_.end());
  while (SpanNode* node = garbage.nodes_) {
    garbage.nodes_ = node->sibling;
    node->sibling = std::exchange(garbage_, node);
  }
}

SpanSkipList::Garbage::~Garbage() {
  while (nodes_ != nullptr) delete std::exchange(nodes_, nodes_->sibling);
}

uint64_t SpanSkipList::ranges() const {
  const base::MutexLock lock(mutex_);
  return ranges_.size();
}

std::vector<std::string> SpanSkipList::RangeLows() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::string> lows;
  for (const auto& range : ranges_) lows.push_back(range->low);
  return lows;
}

std::vector<std::string> SpanSkipList::Check() const {
  const base::MutexLock lock(mutex_);
  std::vector<std::string> problems;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = *ranges_[i];
    const auto problem = [&](const std::string& what) {
      problems.push_back("index, range " + std::to_string(i) + ": " + what);
    };
    for (size_t level = 0; level < range.heads.size(); ++level) {
      const SpanNode* last = range.heads[level];
      for (const SpanNode* n = last; n != nullptr; last = n, n = n->next.load()) {
        if (n != last && n->key < last->key) problem("a level is out of order");
        if (i + 1 < ranges_.size() && n->key >= ranges_[i + 1]->low && !n->head) {
          problem("a node lies behind the range");
        }
        if (n->removed) problem("a node that was removed is linked");
        if (level > 0) {
          if (n->down == nullptr || n->down->key != n->key || n->down->up != n) {
            problem("a tower has a gap");
          }
          continue;
        }
        const LeafNode* leaf = n->leaf.load();
        if (leaf == nullptr || leaf->replaced.load() || leaf->low > n->key) {
          problem("a node stands on the wrong leaf");
        }
      }
    }
  }
  return problems;
}

}  // namespace braid::leaf
