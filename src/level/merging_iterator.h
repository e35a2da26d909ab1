// Purpose: one ordered view over the cursors of memtables and tables: per key the newest version that
// the view sees, deletes left out.
// Thread safety: one thread at a time. Invariant 1: cursors are given newest table first; where two have
// the same key, the higher sequence number wins (an entry that a merge is moving may be met twice).
// Invariant 2: an entry marked dead is not what the view sees, since merges keep what a view needs: a
// cursor stands on it from before the merge, and the delete or newer version that hid it may have left
// the table where another cursor would have met it. Then all cursors look again.
// Persistence: none.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "index/cursor.h"

namespace braid::level {

class MergingIterator {
 public:
  explicit MergingIterator(std::vector<std::unique_ptr<index::Cursor>> cursors)
      : cursors_(std::move(cursors)) {}

  bool Valid() const { return current_ != nullptr; }
  void SeekToFirst();
  void SeekToLast();
  void SeekGE(std::string_view key);
  void SeekLE(std::string_view key);
  void Next();
  void Prev();
  const format::EntryHeader* entry() const { return current_; }
  Status status() const { return status_; }

 private:
  void Settle();
  void SwitchDirection(bool forward);
  void StepPast(std::string_view key);

  std::vector<std::unique_ptr<index::Cursor>> cursors_;
  const format::EntryHeader* current_ = nullptr;
  const format::EntryHeader* looked_again_ = nullptr;
  bool forward_ = true;
  Status status_;
};

}  // namespace braid::level
