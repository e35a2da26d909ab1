// Purpose: the order of keys that a comparator decides, as a B+-tree whose nodes are records of a
// database in byte order: the keys of that database's values, in leaves, in the caller's order.
// Thread safety: a TreeCursor and a TreeEditor belong to one thread; the comparator is called from
// any.
// Invariants:
//   1. A child is one level below its parent; a walk is as long as the root is high, whatever the
//      nodes say.
//   2. A node that is not the root has a key; a node of more than one key has at most kNodeBytes.
//   3. What a key is compared with decides where it is looked for and nothing else: a comparator
//      that is not an order leads to a wrong place, never beyond a node.
// Persistence: a change of the tree is updates of a WriteBatch, in one batch with the values that
// it is about; so snapshots and crashes have both or neither.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/comparator.h"
#include "braid/write_batch.h"

namespace braid {

/// Where the value of `key` lies, and the node `id`; what the tree is lies under kTreeFacts.
std::string ValueKey(Slice key);
std::string NodeKey(uint64_t id);
inline constexpr Slice kTreeFacts = "m";
/// Of all values, and of all nodes: from the first to before the second.
inline constexpr Slice kValues[2] = {"k", "l"};
inline constexpr Slice kNodes[2] = {"p", "q"};

/// What lies under kTreeFacts.
struct TreeFacts {
  std::string comparator;  // its whole name
  uint64_t next_id = 2;    // of nodes; 1 is the root
  bool is_whole = true;    // false: it is being made again

  std::string Encode() const;
  /// Corruption for anything else.
  static Status Decode(Slice bytes, TreeFacts* facts);
};

/// A node while it changes.
struct TreeNode {
  uint8_t level = 0;               // 0: a leaf
  std::vector<std::string> keys;   // of children each the lowest; that of the first does not count
  std::vector<uint64_t> children;  // one a key; a leaf has none

  std::string Encode() const;
  /// Of Encode().
  size_t Bytes() const noexcept;
  size_t size() const noexcept { return keys.size(); }
  Slice key(size_t i) const noexcept { return keys[i]; }
  uint64_t child(size_t i) const noexcept { return children[i]; }
};

/// A node as its record has it: checked when it is read, and then used in place.
class NodeView {
 public:
  /// Corruption for what Encode() never makes.
  static Status Read(std::string bytes, NodeView* view);
  TreeNode Copy() const;

  uint8_t level = 0;
  size_t size() const noexcept { return size_; }
  Slice key(size_t i) const noexcept {
    const uint32_t begin = i == 0 ? 0 : EndOf(i - 1);
    return Slice(bytes_).substr(keys_at_ + begin, EndOf(i) - begin);
  }
  uint64_t child(size_t i) const noexcept;

 private:
  uint32_t EndOf(size_t i) const noexcept;

  std::string bytes_;
  size_t size_ = 0;
  size_t children_at_ = 0;
  size_t keys_at_ = 0;
};

/// Reads the record of a node; NotFound where there is none. The root may be missing: the tree is
/// empty then.
using NodeReader = std::function<Status(uint64_t id, std::string* bytes)>;

/// A walk over the keys of a tree that does not change meanwhile. After an error it is invalid.
class TreeCursor {
 public:
  TreeCursor(const Comparator* comparator, NodeReader read)
      : comparator_(comparator), read_(std::move(read)) {}

  bool Valid() const noexcept { return !path_.empty(); }
  /// Only when Valid(). Stays until the next move.
  Slice key() const { return path_.back().node.key(path_.back().at); }

  Status SeekToFirst();
  Status SeekToLast();
  /// To the first key that is not before `target`.
  Status Seek(Slice target);
  /// To the last key that is not behind `target`, or, if `is_below`, is before it.
  Status SeekForPrev(Slice target, bool is_below = false);
  Status Next();
  Status Prev();

 private:
  struct Step {
    NodeView node;
    size_t at;
  };

  Status Push(uint64_t id, int level);
  Status Descend(bool to_first);
  Status Move(bool forward);
  Status Failed(Status status);

  const Comparator* const comparator_;
  const NodeReader read_;
  std::vector<Step> path_;  // from the root to a leaf's key; empty: at no key
};

/// Changes of a tree, on their way into a batch.
class TreeEditor {
 public:
  /// `read` reads the tree as it was; `next_id` is that of the next new node.
  TreeEditor(const Comparator* comparator, NodeReader read, uint64_t next_id)
      : comparator_(comparator), read_(std::move(read)), next_id_(next_id) {}

  /// `*stored` becomes the key of the tree that compares as equal; none: none does.
  Status Find(Slice key, std::optional<std::string>* stored) const;
  /// A key that Find does not find.
  Status Insert(Slice key);
  /// `key` takes the place of `stored`, which compares as equal.
  Status Replace(Slice stored, Slice key);
  /// Ok, too, where the tree does not lead to `stored`.
  Status Erase(Slice stored);

  /// Reads as the tree is now.
  Status Read(uint64_t id, std::string* bytes) const;
  bool has_changes() const noexcept { return !changed_.empty(); }
  uint64_t next_id() const noexcept { return next_id_; }
  /// Adds the nodes that have changed.
  void AddTo(WriteBatch* batch) const;

 private:
  struct Step {
    uint64_t id;
    size_t at;
  };
  using Path = std::vector<Step>;  // from the root to a leaf

  Status Walk(Slice key, Path* path, std::optional<std::string>* equal = nullptr) const;
  Status Change(uint64_t id, TreeNode** node);
  Status SplitWhileLarge(Path path);
  Status DropWhileEmpty(Path path);
  Status LowerRoot();

  const Comparator* const comparator_;
  const NodeReader read_;
  uint64_t next_id_;
  std::map<uint64_t, std::unique_ptr<TreeNode>> changed_;  // null: it is gone
};

}  // namespace braid
