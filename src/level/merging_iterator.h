// Purpose: one ordered view over the cursors of memtables and tables: per key the newest version
// that the view sees, deletes left out.
// Thread safety: one thread at a time.
// Invariants:
//   1. Cursors are given newest table first; where two have the same key, the higher sequence
//      number wins (an entry that a merge is moving may be met twice).
//   2. An entry marked obsolete is not what the view sees, since merges keep what a view needs: a
//      cursor stands on it from before a merge, or came to it over links of entries that are
//      obsolete themselves, while the delete or newer version that hid it has left the table where
//      its cursor would have met it. Then the key is looked up again in the current tables.
//   3. Cursors are read ahead, each by itself. A cursor gives whatever its table had when the
//      iterator was made, whenever it is asked; and what hid an entry leaves its table after the
//      entry was marked obsolete. So an entry is right if it is not marked obsolete after all other
//      cursors have come to where they stand: Ahead gives what is still to be looked at then.
// Persistence: none.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "index/cursor.h"
#include "index/read_view.h"

namespace braid::level {

class MergingIterator {
 public:
  /// Steps that a cursor takes at a time, after fewer at first: many scans are short.
  static constexpr size_t kRun = 32;

  /// Looks a key up at the iterator's view: its value, or nothing when the view sees none.
  using Resolve =
      std::function<std::optional<index::ValueRef>(std::string_view key, Status* status)>;

  MergingIterator(std::vector<std::unique_ptr<index::Cursor>> cursors, Resolve resolve)
      : cursors_(std::move(cursors)),
        heads_(std::make_unique_for_overwrite<std::byte[]>(cursors_.size() * sizeof(Head))),
        resolve_(std::move(resolve)) {
    live_.reserve(cursors_.size());
  }

  /// The keys to stay within: from `lower` on, and before `upper`. A move that comes to one beyond
  /// ends there, so that deleted keys behind a bound cost nothing. The bytes stay the caller's.
  void SetBounds(std::optional<std::string_view> lower, std::optional<std::string_view> upper) {
    lower_ = lower;
    upper_ = upper;
  }

  bool Valid() const { return valid_; }
  void SeekToFirst();
  void SeekToLast();
  void SeekGE(std::string_view key);
  void SeekLE(std::string_view key);
  void Next();
  void Prev();
  std::string_view key() const { return key_; }
  /// The value, where the key was looked up again; else item() is what it stands on.
  const std::optional<index::ValueRef>& looked_up() const { return looked_up_; }
  const index::CursorItem& item() const {
    BRAID_DCHECK(valid_ && leader_ != nullptr);
    return leader_->item();
  }
  Status status() const { return status_; }

  /// What the next moves in the same direction come to, one after the other, as far as that is
  /// known: entries of one cursor that come before those of all others. Not looked at so far:
  /// bounds, deletes, obsolete marks.
  std::span<const index::CursorItem> Ahead() const;
  /// Makes `count` of those moves.
  void SkipAhead(size_t count);

  /// Keys that the moves since the last call have passed because they are deleted.
  uint64_t TakePassed() { return std::exchange(passed_, 0); }

 private:
  /// A cursor, and what it has come to but the iterator has not: `run` from `at` on, one at least.
  struct Head {
    index::Cursor* cursor;
    size_t at;
    size_t count;
    size_t runs;  // since it was placed
    std::array<index::CursorItem, kRun> run;

    const index::CursorItem& item() const { return run[at]; }
  };
  static_assert(std::is_trivially_copyable_v<Head> && std::is_trivially_destructible_v<Head>);

  Head& HeadOf(size_t cursor) { return reinterpret_cast<Head*>(heads_.get())[cursor]; }
  template <class Place>
  void PlaceAll(bool forward, Place&& place);
  bool Advance(Head* head);
  void CheckEnd(const Head& head);
  void Settle();
  void SwitchDirection(bool forward);
  void StepPast(std::string_view key);

  std::vector<std::unique_ptr<index::Cursor>> cursors_;
  // One a cursor. Raw bytes: of a short scan most of a run is never written, nor need be.
  std::unique_ptr<std::byte[]> heads_;
  std::vector<Head*> live_;  // of the cursors that are not at their end, in their order
  Head* leader_ = nullptr;   // the one that it stands on; null: a lookup gave what it stands on
  bool damaged_ = false;
  Resolve resolve_;
  bool valid_ = false;
  const format::EntryHeader* current_ = nullptr;  // that the leader has come to
  std::string_view key_;                          // where that lies
  std::optional<index::ValueRef> looked_up_;
  bool forward_ = true;
  std::optional<std::string_view> lower_;
  std::optional<std::string_view> upper_;
  uint64_t passed_ = 0;
  Status status_;
};

}  // namespace braid::level
