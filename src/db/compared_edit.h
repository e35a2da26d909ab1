// Purpose: one write to a database in the order of a comparator: updates as they are called for,
// and what they come to below, values and nodes of the tree in one batch.
// Thread safety: one thread, which holds the mutex of writes.
// Invariants: those of compared_db.h.
// Persistence: none before Commit.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "braid/db.h"
#include "db/key_tree.h"

namespace braid {

class ComparedEdit final : public WriteBatch::Handler {
 public:
  /// `db` is the database below.
  ComparedEdit(DB* db, const Comparator* comparator, TreeFacts* facts);

  // Updates; after the first error none has an effect.
  void Put(Slice key, Slice value) override;
  void Delete(Slice key) override;
  void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override;
  /// The first `most` keys of the range. Returns how many; fewer: there are no more.
  Result<uint64_t> DeleteSome(std::optional<Slice> begin, std::optional<Slice> end, size_t most);
  /// The key with a value that compares as equal, as this edit has left it.
  Status Find(Slice key, std::optional<std::string>* stored);

  /// For a key that has a value: puts it into the tree, unless one that compares as equal is there;
  /// then its value goes.
  Status PutAgain(Slice key);

  const Status& status() const noexcept { return status_; }
  /// Writes all of it.
  Status Commit(const WriteOptions& options);

 private:
  /// As Find; `*misplaced` becomes a key of the tree that compares as equal and has no value.
  Status Look(Slice key, std::optional<std::string>* stored, std::optional<std::string>* misplaced);
  Status TryPut(Slice key, Slice value);
  Status TryDelete(Slice key);
  Status Remove(Slice stored);
  Status HasValue(Slice key, bool* has);

  DB* const db_;
  const Comparator* const comparator_;
  TreeFacts* const facts_;
  TreeEditor tree_;
  WriteBatch batch_;
  std::unordered_map<std::string, bool> has_value_;  // of keys that the edit is about
  Status status_;
};

/// A reader of nodes at `snapshot`; null: of the newest, which nobody may change meanwhile.
NodeReader NodesAt(DB* db, const Snapshot* snapshot);

}  // namespace braid
