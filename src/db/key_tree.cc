// Purpose: nodes, walks and changes of a tree of keys.
// Thread safety, invariants, persistence: see key_tree.h.
#include "db/key_tree.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace braid {

namespace {

constexpr uint64_t kRoot = 1;
constexpr int kMaxLevel = 63;
constexpr int kAnyLevel = -1;
/// A node of more bytes is split. Every new key writes one: small ones write less, large ones are
/// fewer steps down.
constexpr size_t kNodeBytes = 4096;
/// Of a node's record: where the ends of its keys are.
constexpr size_t kEndsAt = 1 + sizeof(uint32_t);
constexpr char kVersion = 1;
constexpr char kWhole = 1;

void PutU32(uint32_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}
void PutU64(uint64_t value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// Takes values off the front of bytes; false once they end too soon.
class Taker {
 public:
  explicit Taker(Slice bytes) noexcept : left_(bytes) {}
  template <class T>
  bool Take(T* value) noexcept {
    if (left_.size() < sizeof *value) return false;
    std::memcpy(value, left_.data(), sizeof *value);
    left_.remove_prefix(sizeof *value);
    return true;
  }
  size_t left() const noexcept { return left_.size(); }
  std::string Rest() const { return std::string(left_); }

 private:
  Slice left_;
};

Status BadNode(const char* what) {
  return Status::Corruption(std::string("the key index of this pool: ") + what +
                            "; DB::Repair rebuilds it");
}

/// The first in [low, high) for which `is_before` is false, or `high`; it is true up to there.
template <class IsBefore>
size_t FirstNotBefore(size_t low, size_t high, IsBefore&& is_before) {
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The first key that is not before `target`, or the number of keys.
template <class Node>
size_t LowerBound(const Comparator& comparator, const Node& node, Slice target) {
  return FirstNotBefore(0, node.size(),
                        [&](size_t i) { return comparator.Compare(node.key(i), target) < 0; });
}

/// The child that may have `target`: the last whose lowest key is not behind it.
template <class Node>
size_t ChildOf(const Comparator& comparator, const Node& node, Slice target) {
  return FirstNotBefore(1, node.size(),
                        [&](size_t i) { return comparator.Compare(node.key(i), target) <= 0; }) -
         1;
}

/// Invariants 1 and 2, of a node that is to be on `level`.
template <class Node>
Status CheckNode(const Node& node, uint64_t id, int level) {
  if (level != kAnyLevel && node.level != level) return BadNode("a node is on a wrong level");
  if (node.size() == 0 && id != kRoot) return BadNode("a node is empty");
  if (node.size() == 0 && node.level != 0) return BadNode("its root leads nowhere");
  return Status::OK();
}

}  // namespace

std::string ValueKey(Slice key) {
  std::string whole;
  whole.reserve(1 + key.size());
  whole += kValues[0];
  whole += key;
  return whole;
}

std::string NodeKey(uint64_t id) {
  std::string whole(kNodes[0]);
  for (int shift = 56; shift >= 0; shift -= 8) whole += static_cast<char>(id >> shift);
  return whole;
}

std::string TreeFacts::Encode() const {
  std::string bytes{kVersion, is_whole ? kWhole : '\0'};
  PutU64(next_id, &bytes);
  return bytes + comparator;
}

Status TreeFacts::Decode(Slice bytes, TreeFacts* facts) {
  Taker taker(bytes);
  char version = 0;
  char flags = 0;
  if (!taker.Take(&version) || !taker.Take(&flags) || !taker.Take(&facts->next_id) ||
      version != kVersion || facts->next_id <= kRoot) {
    return BadNode("its header is damaged");
  }
  facts->is_whole = flags == kWhole;
  facts->comparator = taker.Rest();
  return Status::OK();
}

// A record: level, number of keys, where each key ends, children, keys.
size_t TreeNode::Bytes() const noexcept {
  size_t bytes = 1 + sizeof(uint32_t) + children.size() * sizeof(uint64_t);
  for (const std::string& key : keys) bytes += sizeof(uint32_t) + key.size();
  return bytes;
}

std::string TreeNode::Encode() const {
  BRAID_DCHECK(level == 0 ? children.empty() : children.size() == keys.size());
  std::string bytes;
  bytes.reserve(Bytes());
  bytes += static_cast<char>(level);
  PutU32(static_cast<uint32_t>(keys.size()), &bytes);
  uint32_t end = 0;
  for (const std::string& key : keys) {
    end += static_cast<uint32_t>(key.size());
    PutU32(end, &bytes);
  }
  for (const uint64_t child : children) PutU64(child, &bytes);
  for (const std::string& key : keys) bytes += key;
  BRAID_DCHECK(bytes.size() == Bytes());
  return bytes;
}

uint32_t NodeView::EndOf(size_t i) const noexcept {
  uint32_t end;
  std::memcpy(&end, bytes_.data() + kEndsAt + i * sizeof end, sizeof end);
  return end;
}

uint64_t NodeView::child(size_t i) const noexcept {
  uint64_t id;
  std::memcpy(&id, bytes_.data() + children_at_ + i * sizeof id, sizeof id);
  return id;
}

Status NodeView::Read(std::string bytes, NodeView* view) {
  Taker taker(bytes);
  uint32_t count = 0;
  if (!taker.Take(&view->level) || view->level > kMaxLevel || !taker.Take(&count)) {
    return BadNode("a node can't be read");
  }
  const uint64_t each = sizeof(uint32_t) + (view->level == 0 ? 0 : sizeof(uint64_t));
  if (count * each > taker.left()) return BadNode("a node can't be read");
  view->size_ = count;
  view->children_at_ = kEndsAt + count * sizeof(uint32_t);
  view->keys_at_ = kEndsAt + count * each;
  view->bytes_ = std::move(bytes);
  // So that each key lies within the record.
  uint32_t before = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t end = view->EndOf(i);
    if (end < before) return BadNode("a node can't be read");
    before = end;
  }
  const bool is_whole = view->keys_at_ + before == view->bytes_.size();
  return is_whole ? Status::OK() : BadNode("a node can't be read");
}

TreeNode NodeView::Copy() const {
  TreeNode node;
  node.level = level;
  node.keys.reserve(size_ + 1);
  for (size_t i = 0; i < size_; ++i) node.keys.emplace_back(key(i));
  if (level == 0) return node;
  node.children.reserve(size_ + 1);
  for (size_t i = 0; i < size_; ++i) node.children.push_back(child(i));
  return node;
}

// ---- TreeCursor ------------------------------------------------------------------------------

Status TreeCursor::Failed(Status status) {
  path_.clear();
  return status;
}

/// Steps down to the node `id`, at its first key. The root may be missing.
Status TreeCursor::Push(uint64_t id, int level) {
  std::string bytes;
  NodeView node;
  Status s = read_(id, &bytes);
  if (s.IsNotFound() && id == kRoot && path_.empty()) return Status::OK();
  if (s.IsNotFound()) s = BadNode("a node is missing");
  if (s.ok()) s = NodeView::Read(std::move(bytes), &node);
  if (s.ok()) s = CheckNode(node, id, level);
  if (!s.ok()) return Failed(std::move(s));
  if (node.size() != 0) path_.push_back({std::move(node), 0});
  return Status::OK();
}

/// From the node that the path ends with to the first or last key below it.
Status TreeCursor::Descend(bool to_first) {
  while (!path_.empty()) {
    Step& step = path_.back();
    if (!to_first) step.at = step.node.size() - 1;
    if (step.node.level == 0) return Status::OK();
    const int below = step.node.level - 1;  // the path may move
    if (Status s = Push(step.node.child(step.at), below); !s.ok()) return s;
  }
  return Status::OK();
}

Status TreeCursor::SeekToFirst() {
  path_.clear();
  if (Status s = Push(kRoot, kAnyLevel); !s.ok()) return s;
  return Descend(true);
}

Status TreeCursor::SeekToLast() {
  path_.clear();
  if (Status s = Push(kRoot, kAnyLevel); !s.ok()) return s;
  return Descend(false);
}

Status TreeCursor::Seek(Slice target) {
  path_.clear();
  if (Status s = Push(kRoot, kAnyLevel); !s.ok()) return s;
  while (Valid()) {
    Step& step = path_.back();
    if (step.node.level != 0) {
      step.at = ChildOf(*comparator_, step.node, target);
      const int below = step.node.level - 1;  // the path may move
      if (Status s = Push(step.node.child(step.at), below); !s.ok()) return s;
      continue;
    }
    step.at = LowerBound(*comparator_, step.node, target);
    if (step.at < step.node.size()) return Status::OK();
    --step.at;
    return Move(true);
  }
  return Status::OK();
}

Status TreeCursor::SeekForPrev(Slice target, bool is_below) {
  if (Status s = Seek(target); !s.ok()) return s;
  if (!Valid()) return SeekToLast();
  if (!is_below && comparator_->Compare(key(), target) == 0) return Status::OK();
  return Move(false);
}

Status TreeCursor::Next() { return Move(true); }
Status TreeCursor::Prev() { return Move(false); }

Status TreeCursor::Move(bool forward) {
  while (Valid()) {
    Step& step = path_.back();
    const bool has_more = forward ? step.at + 1 < step.node.size() : step.at > 0;
    if (!has_more) {
      path_.pop_back();
      continue;
    }
    step.at = forward ? step.at + 1 : step.at - 1;
    if (step.node.level == 0) return Status::OK();
    const int below = step.node.level - 1;  // the path may move
    if (Status s = Push(step.node.child(step.at), below); !s.ok()) return s;
    return Descend(forward);
  }
  return Status::OK();
}

// ---- TreeEditor ------------------------------------------------------------------------------

Status TreeEditor::Read(uint64_t id, std::string* bytes) const {
  const auto changed = changed_.find(id);
  if (changed == changed_.end()) return read_(id, bytes);
  if (changed->second == nullptr) return Status::NotFound();
  *bytes = changed->second->Encode();
  return Status::OK();
}

/// To the leaf that may have `key`, and the first key there that is not before it. An empty path:
/// the tree is empty. `*equal` (may be null) becomes that key if it compares as equal.
Status TreeEditor::Walk(Slice key, Path* path, std::optional<std::string>* equal) const {
  path->clear();
  if (equal != nullptr) equal->reset();
  uint64_t id = kRoot;
  int level = kAnyLevel;
  // False: at a leaf.
  const auto step_down = [&](const auto& node) {
    if (node.level != 0) {
      path->push_back({id, ChildOf(*comparator_, node, key)});
      id = node.child(path->back().at);
      level = node.level - 1;
      return true;
    }
    const size_t at = LowerBound(*comparator_, node, key);
    path->push_back({id, at});
    if (equal != nullptr && at < node.size() && comparator_->Compare(node.key(at), key) == 0) {
      equal->emplace(node.key(at));
    }
    return false;
  };
  for (bool is_inner = true; is_inner;) {
    const auto changed = changed_.find(id);
    if (changed != changed_.end() && changed->second != nullptr) {
      if (Status s = CheckNode(*changed->second, id, level); !s.ok()) return s;
      is_inner = step_down(*changed->second);
      continue;
    }
    std::string bytes;
    NodeView node;
    Status s = Read(id, &bytes);
    if (s.IsNotFound() && id == kRoot) return Status::OK();
    if (s.IsNotFound()) s = BadNode("a node is missing");
    if (s.ok()) s = NodeView::Read(std::move(bytes), &node);
    if (s.ok()) s = CheckNode(node, id, level);
    if (!s.ok()) return s;
    is_inner = step_down(node);
  }
  return Status::OK();
}

/// The node as it is to become.
Status TreeEditor::Change(uint64_t id, TreeNode** node) {
  const auto changed = changed_.find(id);
  if (changed != changed_.end() && changed->second != nullptr) {
    *node = changed->second.get();
    return Status::OK();
  }
  std::string bytes;
  NodeView view;
  Status s = Read(id, &bytes);
  if (s.ok()) s = NodeView::Read(std::move(bytes), &view);
  if (!s.ok() && !(s.IsNotFound() && id == kRoot)) return s;
  auto copy = std::make_unique<TreeNode>(view.Copy());
  *node = copy.get();
  changed_[id] = std::move(copy);
  return Status::OK();
}

Status TreeEditor::Find(Slice key, std::optional<std::string>* stored) const {
  Path path;
  return Walk(key, &path, stored);
}

Status TreeEditor::Insert(Slice key) {
  Path path;
  if (Status s = Walk(key, &path); !s.ok()) return s;
  if (path.empty()) path.push_back({kRoot, 0});
  TreeNode* leaf = nullptr;
  if (Status s = Change(path.back().id, &leaf); !s.ok()) return s;
  leaf->keys.insert(leaf->keys.begin() + static_cast<ptrdiff_t>(path.back().at), std::string(key));
  return SplitWhileLarge(std::move(path));
}

/// From the leaf upwards.
Status TreeEditor::SplitWhileLarge(Path path) {
  for (; !path.empty(); path.pop_back()) {
    TreeNode* node = nullptr;
    if (Status s = Change(path.back().id, &node); !s.ok()) return s;
    if (node->Bytes() <= kNodeBytes || node->keys.size() < 2) return Status::OK();
    auto right = std::make_unique<TreeNode>();
    right->level = node->level;
    // A key that came to the end: so will the next, and what is full stays full.
    const bool is_append = path.back().at + 1 >= node->keys.size();
    const size_t left = is_append ? node->keys.size() - 1 : node->keys.size() / 2;
    const auto cut = static_cast<ptrdiff_t>(left);
    right->keys.assign(std::make_move_iterator(node->keys.begin() + cut),
                       std::make_move_iterator(node->keys.end()));
    node->keys.erase(node->keys.begin() + cut, node->keys.end());
    if (node->level != 0) {
      right->children.assign(node->children.begin() + cut, node->children.end());
      node->children.erase(node->children.begin() + cut, node->children.end());
    }
    const std::string low = right->keys.front();
    const uint64_t right_id = next_id_++;
    changed_[right_id] = std::move(right);
    if (path.size() > 1) {
      Step& above = path[path.size() - 2];
      TreeNode* parent = nullptr;
      if (Status s = Change(above.id, &parent); !s.ok()) return s;
      ++above.at;
      const auto at = static_cast<ptrdiff_t>(above.at);
      parent->keys.insert(parent->keys.begin() + at, low);
      parent->children.insert(parent->children.begin() + at, right_id);
      continue;
    }
    // The root keeps its number: what it was becomes its first child.
    if (node->level == kMaxLevel) return BadNode("it is too high");
    const uint64_t left_id = next_id_++;
    auto moved = std::make_unique<TreeNode>(std::move(*node));
    *node = TreeNode{
        static_cast<uint8_t>(moved->level + 1), {moved->keys.front(), low}, {left_id, right_id}};
    changed_[left_id] = std::move(moved);
    return Status::OK();
  }
  return Status::OK();
}

Status TreeEditor::Replace(Slice stored, Slice key) {
  Path path;
  if (Status s = Walk(stored, &path); !s.ok() || path.empty()) return s;
  TreeNode* leaf = nullptr;
  if (Status s = Change(path.back().id, &leaf); !s.ok()) return s;
  const size_t at = path.back().at;
  if (at < leaf->keys.size() && leaf->keys[at] == stored) leaf->keys[at] = key;
  return SplitWhileLarge(std::move(path));
}

Status TreeEditor::Erase(Slice stored) {
  Path path;
  if (Status s = Walk(stored, &path); !s.ok() || path.empty()) return s;
  TreeNode* leaf = nullptr;
  if (Status s = Change(path.back().id, &leaf); !s.ok()) return s;
  const size_t at = path.back().at;
  if (at >= leaf->keys.size() || leaf->keys[at] != stored) return Status::OK();
  leaf->keys.erase(leaf->keys.begin() + static_cast<ptrdiff_t>(at));
  return DropWhileEmpty(std::move(path));
}

/// From the leaf upwards. Small nodes stay: only empty ones go.
Status TreeEditor::DropWhileEmpty(Path path) {
  for (; path.size() > 1; path.pop_back()) {
    TreeNode* node = nullptr;
    if (Status s = Change(path.back().id, &node); !s.ok()) return s;
    if (!node->keys.empty()) break;
    changed_[path.back().id] = nullptr;
    const Step& above = path[path.size() - 2];
    TreeNode* parent = nullptr;
    if (Status s = Change(above.id, &parent); !s.ok()) return s;
    const auto at = static_cast<ptrdiff_t>(above.at);
    parent->keys.erase(parent->keys.begin() + at);
    parent->children.erase(parent->children.begin() + at);
  }
  return LowerRoot();
}

/// A root with one child takes its place; one without is an empty leaf.
Status TreeEditor::LowerRoot() {
  TreeNode* root = nullptr;
  if (Status s = Change(kRoot, &root); !s.ok()) return s;
  while (root->level != 0 && root->keys.size() == 1) {
    const uint64_t child = root->children.front();
    const int level = root->level - 1;
    TreeNode* below = nullptr;
    Status s = Change(child, &below);
    if (s.ok()) s = CheckNode(*below, child, level);
    if (!s.ok()) return s.IsNotFound() ? BadNode("a node is missing") : s;
    *root = std::move(*below);
    changed_[child] = nullptr;
  }
  if (root->keys.empty()) *root = TreeNode{};
  return Status::OK();
}

void TreeEditor::AddTo(WriteBatch* batch) const {
  for (const auto& [id, node] : changed_) {
    if (node == nullptr) {
      batch->Delete(NodeKey(id));
    } else {
      batch->Put(NodeKey(id), node->Encode());
    }
  }
}

}  // namespace braid
