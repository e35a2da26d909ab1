// Purpose: one ordered view over the cursors of memtables and tables: per key the newest version
// that the view sees, deletes left out. Thread safety: one thread at a time. Invariant 1: cursors
// are given newest table first; where two have the same key, the higher sequence number wins (an
// entry that a merge is moving may be met twice). Invariant 2: an entry marked dead is not what the
// view sees, since merges keep what a view needs: a cursor stands on it from before a merge, or
// came to it over links of entries that are dead themselves, while the delete or newer version that
// hid it has left the table where its cursor would have met it. Then the key is looked up anew in
// the tables of now. Persistence: none.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "index/cursor.h"

namespace braid::level {

class MergingIterator {
 public:
  /// Looks a key up at the iterator's view: the entry, or null when the view sees none.
  using Resolve = std::function<const format::EntryHeader*(std::string_view key, Status* status)>;

  MergingIterator(std::vector<std::unique_ptr<index::Cursor>> cursors, Resolve resolve)
      : cursors_(std::move(cursors)), resolve_(std::move(resolve)) {}

  /// The keys to stay within: from `lower` on, and before `upper`. A move that comes to one beyond
  /// ends there, so that deleted keys behind a bound cost nothing. The bytes stay the caller's.
  void SetBounds(std::optional<std::string_view> lower, std::optional<std::string_view> upper) {
    lower_ = lower;
    upper_ = upper;
  }

  bool Valid() const { return current_ != nullptr; }
  void SeekToFirst();
  void SeekToLast();
  void SeekGE(std::string_view key);
  void SeekLE(std::string_view key);
  void Next();
  void Prev();
  const format::EntryHeader* entry() const { return current_; }
  std::string_view key() const { return key_; }
  Status status() const { return status_; }
  /// Keys that the moves since the last call have passed because they are deleted.
  uint64_t TakePassed() { return std::exchange(passed_, 0); }

 private:
  /// A cursor and what it stands on, asked for once a move: each question is a virtual call.
  struct Head {
    index::Cursor* cursor;
    index::CursorItem at;  // no entry: the cursor is at its end
  };
  /// Steps that are taken at a time once only one cursor is left, after a few single ones.
  static constexpr size_t kRun = 32;

  template <class Place>
  void PlaceAll(bool forward, Place&& place);
  /// False when the cursor stopped at damage.
  bool Ask(Head* head);
  void Settle();
  void SwitchDirection(bool forward);
  void StepPast(std::string_view key);
  void StepRun(std::string_view key);

  std::vector<std::unique_ptr<index::Cursor>> cursors_;
  std::vector<Head> heads_;  // of the cursors that are not at their end, in their order
  bool damaged_ = false;
  // What the only cursor left has come to; it stands on the last. Empty while there are several.
  std::array<index::CursorItem, kRun> run_;
  size_t run_at_ = 0;
  size_t run_count_ = 0;
  size_t next_run_ = 1;
  Resolve resolve_;
  const format::EntryHeader* current_ = nullptr;
  std::string_view key_;  // of current_, in the pool
  bool forward_ = true;
  std::optional<std::string_view> lower_;
  std::optional<std::string_view> upper_;
  uint64_t passed_ = 0;
  Status status_;
};

}  // namespace braid::level
