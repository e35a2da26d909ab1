// Purpose: how concurrent readers of a pool and its writer coordinate: a file "readers" in the
// pool's folder, one page, mapped by all of them. The writer grants a reader the tables of a
// moment, and stores to nothing that these lead to until it has revoked the grant.
// Thread safety: a ReaderSlot may be used by any thread; WriterSlots by one at a time.
// Invariants:
//   1. A process that reads through a slot holds the lock of the slot's byte of the file, which
//      ends with the process, however it ends; so a slot whose lock is free is nobody's, whatever
//      is in it.
//   2. A ticket is used once, so that a late answer is not taken for one to the next reader, and a
//      revoked slot never looks granted again to the reader that held it.
//   3. While a slot is granted, the writer stores to nothing that the tables up to its `tables`
//      lead to.
//   4. A call of a reader is counted before it looks whether the slot is granted; the writer
//      revokes before it looks at the count. Both sequentially consistent, so one sees the other:
//      what the writer reuses, no running call is reading.
// Persistence: none; no content of the file counts after a crash. Recovery does not look at it; the
// next process that writes looks only at slots whose lock somebody holds, which nobody does after a
// crash of the machine, and all it does with them is to revoke; a reader writes the whole of its
// slot before it asks. So the file may hold anything, and may be removed when no process has the
// pool open. While one has, it should stay as it is: readers would not be notified any more. So a
// reader also locks the pool's folder, at the number of the file that it has mapped, and a process
// that is to write is Busy while somebody has locked another number than that of the file there is.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/check.h"
#include "braid/status.h"
#include "media/file_calls.h"

namespace braid::media {

enum class SlotState : uint64_t { kFree = 0, kAsked = 1, kGranted = 2, kRevoked = 3 };

/// Why the writer has not granted what readers ask for.
enum class GrantWaitsFor : uint64_t { kWriter = 0, kFlush, kMerge, kFullL0, kFailure };

inline constexpr uint32_t kReaderSlots = 63;

/// The first line of the file.
struct alignas(64) SharedHead {
  // Moves with each new asker: the writer looks at no slot before. At rest it waits for the lower
  // half (base/futex.h).
  std::atomic<uint64_t> asks;
  std::atomic<uint64_t> waits_for;  // GrantWaitsFor; for messages
};

struct alignas(64) SharedSlot {
  std::atomic<uint64_t> word;      // ticket << 2 | SlotState
  std::atomic<uint64_t> tables;    // of a granted one: id of the newest table that may be read
  std::atomic<uint64_t> sequence;  // likewise: the newest number in these tables, or a higher one
  std::atomic<uint64_t> calls;     // under way
  std::atomic<uint64_t> process;   // for messages
};
static_assert(sizeof(SharedHead) == 64 && sizeof(SharedSlot) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// The file, mapped.
class ReadersFile {
 public:
  /// Makes it when it is missing or short. `folder`: of the pool. Errors: IOError, OutOfSpace.
  static Result<std::shared_ptr<ReadersFile>> Make(int folder, const std::string& pool);
  /// NotFound when there is none, or what is there is none that anybody could read through.
  static Result<std::shared_ptr<ReadersFile>> Open(const std::string& pool);
  ReadersFile(const ReadersFile&) = delete;
  ReadersFile& operator=(const ReadersFile&) = delete;
  ~ReadersFile();

  SharedHead& head() noexcept { return *head_; }
  SharedSlot& slot(uint32_t index) noexcept {
    BRAID_DCHECK(index < kReaderSlots);
    return slots_[index];
  }
  /// Of the file; distinguishes it from another one of the same name.
  uint64_t number() const noexcept { return number_; }
  /// Takes the lock of a slot; false when another one has it.
  bool Lock(uint32_t index);
  bool IsLocked(uint32_t index) const;

 private:
  ReadersFile() = default;
  static Result<std::shared_ptr<ReadersFile>> Map(Fd fd, const std::string& path);
  Fd fd_;
  uint64_t number_ = 0;
  SharedHead* head_ = nullptr;
  SharedSlot* slots_ = nullptr;
};

/// The place of a concurrent reader. Held until destruction.
class ReaderSlot {
 public:
  using Clock = std::chrono::steady_clock;

  /// Asks the process that writes to the pool, and waits for its answer until `deadline`. Errors:
  /// Busy (it does not grant, or no slot is free), TryAgain (it has gone), IOError (this process
  /// may not write to the file).
  static Result<std::unique_ptr<ReaderSlot>> Ask(const std::string& pool,
                                                 Clock::time_point deadline);
  ~ReaderSlot();

  /// Later calls do not begin.
  void Release() noexcept;
  uint64_t tables() const noexcept { return slot_->tables.load(); }
  uint64_t sequence() const noexcept { return slot_->sequence.load(); }
  bool released() const noexcept { return released_.load(); }
  /// Of a process that this one was forked from: it is to be left alone.
  bool is_parents() const noexcept { return !origin_.IsThisProcess(); }
  bool granted() const noexcept { return slot_->word.load() == granted_; }

  /// Around each look at the pool.
  class Call {
   public:
    explicit Call(ReaderSlot* slot) : slot_(slot) {
      // First without a count: a reader that asks a revoked slot again and again delays nobody.
      if (slot->is_parents() || !slot->granted()) return;
      slot->slot_->calls.fetch_add(1);
      counted_ = true;
      began_ = slot->granted();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      if (counted_) slot_->slot_->calls.fetch_sub(1);
    }
    /// False: do not look at all.
    bool began() const noexcept { return began_; }
    /// Whether what was read up to here is what the tables held.
    bool holds() const noexcept {
      // Acquire: the loads of the call come before the look at the word; pairs with the fence in
      // WriterSlots::RevokeAll, behind which all stores of merges are.
      std::atomic_thread_fence(std::memory_order_acquire);
      return began_ && slot_->granted();
    }

   private:
    ReaderSlot* slot_;
    bool counted_ = false;
    bool began_ = false;
  };

 private:
  ReaderSlot() = default;
  void LockFolder(const std::string& pool);
  Status WaitForGrant(const std::string& pool, uint64_t asked, Clock::time_point deadline);
  std::shared_ptr<ReadersFile> file_;
  Fd folder_;  // locked at the file's number
  SharedSlot* slot_ = nullptr;
  uint64_t granted_ = 0;  // what word is while it holds
  std::atomic<bool> released_{false};
  base::Origin origin_;
};

/// The writer's side. Without a file there are no readers.
class WriterSlots {
 public:
  explicit WriterSlots(std::shared_ptr<ReadersFile> file = nullptr) : file_(std::move(file)) {}

  /// Whether anybody asks since NoteAskers: one load.
  bool HasNewAskers() const noexcept {
    // Relaxed: a hint. A reader that asks waits, and the next look finds it.
    return file_ != nullptr && file_->head().asks.load(std::memory_order_relaxed) != seen_;
  }
  /// Where HasNewAskers becomes true, for those who wait for it with base::WaitForAny; null: it
  /// never does. And its value until then.
  const void* AsksWord() const noexcept { return file_ != nullptr ? &file_->head().asks : nullptr; }
  uint32_t seen_asks() const noexcept { return static_cast<uint32_t>(seen_); }
  /// Notes who asks: what is flushed after this is new enough for them. False when nobody does.
  bool NoteAskers();
  /// Whether any of those who were noted waits still.
  bool AnyNotedWaits();
  /// The reason for a reader whose wait timed out.
  void Tell(GrantWaitsFor what) noexcept;
  /// Answers those whom NoteAskers has noted.
  void GrantNoted(uint64_t tables, uint64_t sequence);
  /// Whether anybody reads, as far as is known: what nobody holds any more is freed.
  bool AnyGranted();
  /// From here on the writer may change what the tables lead to. Requests are refused as well.
  void RevokeAll();
  /// Whether no call of those whose grant was revoked is under way.
  bool IsQuiet() { return CallUnderWay() == nullptr; }

  /// For a process that has just locked the pool for writing: revokes what earlier writers have
  /// granted, and waits for calls that are under way. Busy when one does not end in time, and when
  /// somebody reads through a file that was removed.
  static Status RevokeEarlierGrants(const std::string& pool);

 private:
  template <class Visit>
  void ForEach(SlotState state, Visit&& visit);
  SharedSlot* CallUnderWay();

  std::shared_ptr<ReadersFile> file_;
  uint64_t seen_ = 0;
  std::array<uint64_t, kReaderSlots> asked_{};  // words that NoteAskers has noted
};

}  // namespace braid::media
