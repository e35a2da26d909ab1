// Purpose: one ordered view over the cursors of memtables and tables: per key the newest version
// that the view sees, deletes left out.
// Thread safety: one thread at a time.
// Invariants:
//   1. Where two cursors have the same key, the higher sequence number wins (an entry that a merge
//      is moving may be met twice).
//   2. An entry marked obsolete is not what the view sees, since merges keep what a view needs: a
//      cursor stands on it from before a merge, or came to it over links of entries that are
//      obsolete themselves, while the delete or newer version that hid it has left the table where
//      its cursor would have met it. Then the key is looked up again in the current tables.
//   3. Cursors are read ahead, and merged ahead of the position, a batch at a time. A cursor gives
//      whatever its table had when the iterator was made, whenever it is asked; and what hid an
//      entry leaves its table after the entry was marked obsolete. So an entry is right if it is
//      not marked obsolete after all other cursors have come to its key: the mark of what is in a
//      batch is looked at once the batch is merged, or later.
//   4. Cursors that are not at their end stand in `order_` by what they have come to, the newest
//      version of a key first. All of that lies behind the batch, except the first `taken_` ones,
//      which stand on its last key.
//   5. An entry of a log that a flush copies is never marked: its copy is, which the memtable's
//      tree has from then on. What hides it lies in a newer table, and tables leave L0 in their
//      order: so once a merge of its memtable's table, or of a newer one, has begun it counts as
//      marked, and before that it is right.
//   6. The lowest source, of a tier, is another one after each move of entries into it. A batch
//      counts if no move has begun since that cursor was made: what the others had not any more
//      when they were read, it has. Else all are placed again, with a new one.
// Persistence: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "index/cursor.h"
#include "index/read_view.h"
#include "pool/pool.h"

namespace braid::level {

class MergingIterator {
 public:
  /// Steps that a cursor takes at a time, and entries that are merged at a time; fewer at first:
  /// many scans are short.
  static constexpr size_t kRun = 32;

  /// Looks a key up at the iterator's view: its value, or nothing when the view sees none.
  using Resolve =
      std::function<std::optional<index::ValueRef>(std::string_view key, Status* status)>;

  /// The source below all others, where entries of the others go (invariant 6).
  struct Below {
    const std::atomic<uint64_t>* moves;  ///< grows before entries go; null: there is none
    std::function<std::unique_ptr<index::Cursor>()> renew;  ///< over what it holds by now
  };

  /// The memtables among the sources, if flushes copy their entries (invariant 5).
  struct Copied {
    const pool::PmemPool* pool = nullptr;
    /// Id of the newest table that a merge has begun to take from L0; null: no flush copies.
    const std::atomic<uint64_t>* merged_up_to = nullptr;
    uint64_t oldest = 0;  ///< id of the oldest memtable
  };

  MergingIterator(std::vector<std::unique_ptr<index::Cursor>> cursors, Resolve resolve)
      : MergingIterator(std::move(cursors), std::move(resolve), Below{nullptr, {}}) {}
  MergingIterator(std::vector<std::unique_ptr<index::Cursor>> cursors, Resolve resolve,
                  Below below);

  /// The keys to stay within: from `lower` on, and before `upper`. A move that comes to one beyond
  /// ends there, so that deleted keys behind a bound cost nothing. The bytes stay the caller's.
  void SetBounds(std::optional<std::string_view> lower, std::optional<std::string_view> upper) {
    lower_ = lower;
    upper_ = upper;
  }

  /// Before the first move.
  void SetCopied(const Copied& copied) noexcept { copied_ = copied; }

  bool Valid() const { return valid_; }
  void SeekToFirst();
  void SeekToLast();
  void SeekGE(std::string_view key);
  void SeekLE(std::string_view key);
  void Next() { Step(true); }
  void Prev() { Step(false); }
  std::string_view key() const { return item().key; }
  /// The value, where the key was looked up again; else item() is what it stands on.
  const std::optional<index::ValueRef>& looked_up() const { return looked_up_; }
  const index::CursorItem& item() const {
    BRAID_DCHECK(valid_ && at_ < count_);
    return batch()[at_];
  }
  Status status() const { return valid_ ? Status::OK() : status_; }

  /// What it stands on, and what the next moves in the same direction come to, one after the other,
  /// as far as that is known. Not looked at so far: obsolete marks of these. It must be valid.
  std::span<const index::CursorItem> FromHere() const {
    BRAID_DCHECK(valid_ && at_ < count_);
    const std::span<const index::CursorItem> items(batch() + at_, count_ - at_);
    return AnyMarkedElsewhere() ? items.first(1 + CountMarkedHere(items.subspan(1))) : items;
  }
  /// Makes `count` of those moves.
  void SkipAhead(size_t count) {
    BRAID_DCHECK(count == 0 || (valid_ && at_ + count < count_));
    if (count == 0) return;
    at_ += count;
    looked_up_.reset();
  }

  /// Keys that were passed since the last call because they are deleted.
  uint64_t TakePassed() { return std::exchange(passed_, 0); }

 private:
  /// A cursor, and what it has come to but the iterator has not: `run` from `at` on.
  struct Head {
    index::Cursor* cursor;
    size_t at;
    size_t count;
    size_t runs;  // since it was placed
    std::array<index::CursorItem, kRun> run;

    const index::CursorItem& item() const { return run[at]; }
  };
  static_assert(std::is_trivially_copyable_v<Head> && std::is_trivially_destructible_v<Head> &&
                alignof(Head) <= alignof(std::max_align_t));

  /// A head in the order, with the begin of the key that it has come to: most comparisons end
  /// there.
  struct Place {
    Head* head;
    uint64_t words[2];  // the first 16 bytes of the key, big-endian, zeros behind its end

    const index::CursorItem& item() const { return head->item(); }
  };

  index::CursorItem* batch() const { return reinterpret_cast<index::CursorItem*>(room_.get()); }
  Head& HeadOf(size_t cursor) {
    return reinterpret_cast<Head*>(room_.get() + kRun * sizeof(index::CursorItem))[cursor];
  }
  /// What the next batch comes behind, or begins with.
  struct Start {
    enum class At : uint8_t { kFirst, kLast, kKey, kBehindKey };
    At at = At::kFirst;
    std::string key;
  };

  bool HasBelow() const noexcept { return below_.moves != nullptr; }
  void RenewBelow();
  void NoteStart(Start::At at, std::string_view key);
  void PlaceAtStart();
  void ForgetBelow();
  void FillBatch();
  template <class Put>
  void PlaceAll(bool forward, Put&& put);
  void Seek(bool forward, Start::At at, std::string_view key);
  void PassKey(std::string_view key);
  void Step(bool forward);
  void SwitchDirection(bool forward);
  bool Advance(Head* head);
  void CheckEnd(const Head& head);
  static Place PlaceOf(Head* head);
  static int CompareKeys(const Place& a, const Place& b);
  bool ComesBefore(const Place& a, const Place& b) const;
  bool IsOutside(std::string_view key) const;
  void Sift(size_t i);
  void Pass(size_t heads);
  void Show(const index::CursorItem& item);
  bool RunOn();
  void TakeOn(size_t cap);
  void MergeBatch();
  void Land();
  bool AnyMarkedElsewhere() const noexcept {
    // Acquire: what the cursors have come to, and what merges have made of it, was read before.
    return copied_.merged_up_to != nullptr &&
           copied_.merged_up_to->load(std::memory_order_acquire) >= copied_.oldest;
  }
  bool IsMarkedElsewhere(const format::EntryHeader& entry) const noexcept;
  size_t CountMarkedHere(std::span<const index::CursorItem> items) const noexcept;

  std::vector<std::unique_ptr<index::Cursor>> cursors_;
  // The batch, and a head for each cursor. Raw bytes: of a short scan most of them is never
  // written, nor need be.
  std::unique_ptr<std::byte[]> room_;
  std::vector<Place> order_;  // invariant 4
  size_t at_ = 0;             // in the batch: where it stands
  size_t count_ = 0;
  size_t taken_ = 0;    // invariant 4
  size_t batches_ = 0;  // since the cursors were placed
  bool ended_ = true;   // nothing comes behind the batch
  Resolve resolve_;
  bool valid_ = false;
  std::optional<index::ValueRef> looked_up_;
  bool forward_ = true;
  std::optional<std::string_view> lower_;
  std::optional<std::string_view> upper_;
  uint64_t passed_ = 0;
  Status status_;
  Copied copied_;
  // Of the lowest source; unused where there is none.
  Below below_;
  uint64_t moves_seen_ = 0;
  Start start_;
};

}  // namespace braid::level
