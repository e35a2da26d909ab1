// What a killed writer had sent and what had been acknowledged, in memory that survives it.
//
// Thread safety: a key belongs to one writer thread; readers of the same process only raise
// `observed`. The parent reads everything after the writer is dead.
// Invariants:
//   1. The content of a key is a function of (thread, key, number of the write).
//   2. A number is used for one write only, also over kills.
//   3. A thread has one write in flight at most; `phase` tells how far it is.
//   4. What `pending` names is acknowledged once phase is kAcked.
//   5. A counter is moved by compare-and-swap from n to n + 1 by all threads, so it holds the
//      number of swaps that succeeded: those acknowledged, and at most one more a thread.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "base/activity.h"
#include "support/environment.h"

namespace braid::test {

inline constexpr uint32_t kThreads = 4;
inline constexpr uint32_t kKeysPerThread = 96;
inline constexpr uint32_t kCounters = 4;
inline constexpr size_t kMessageBytes = 2000;

/// How far the write in flight of a thread is.
enum class Phase : uint32_t {
  kIdle = 0,   ///< pending writes were never sent
  kSent = 1,   ///< the call was entered
  kAcked = 2,  ///< the call returned ok
};

/// How far the writer process is.
enum class Stage : uint32_t { kStarting = 0, kOpening, kWriting, kClosing, kClosed, kFailed };

struct KeyState {
  std::atomic<uint64_t> issued;        // highest number ever used
  std::atomic<uint64_t> acknowledged;  // number of the content that must be there; 0: never written
  std::atomic<uint64_t> pending;       // number in flight, 0: none
  std::atomic<uint64_t> observed;      // highest number that another thread has read
};

struct ThreadState {
  std::atomic<uint32_t> phase;
  KeyState keys[kKeysPerThread];
};

struct CounterState {
  std::atomic<uint64_t> acknowledged;  // swaps that returned true
  std::atomic<uint64_t> observed;      // highest content that anybody has read
};

struct OracleMemory {
  std::atomic<uint32_t> stage;
  std::atomic<uint32_t> stop;      // the parent asks for an orderly close
  std::atomic<uint64_t> writes;    // acknowledged, over all processes
  std::atomic<uint64_t> swaps;     // of them by compare-and-swap or put-if-absent
  base::ActivityBoard activities;  // the writer's jobs under way; stays as it was when it died
  CounterState counters[kCounters];
  ThreadState threads[kThreads];
  char message[kMessageBytes];  // why the writer failed
};

/// The memory, shared with the process that inherits fd().
class Oracle {
 public:
  Oracle() : fd_(::memfd_create("braid-kill-oracle", 0)) {
    if (fd_ < 0 || ::ftruncate(fd_, sizeof(OracleMemory)) != 0) std::abort();
    Map();
    new (memory_) OracleMemory();
  }
  explicit Oracle(int inherited_fd) : fd_(inherited_fd) { Map(); }
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;
  ~Oracle() {
    ::munmap(memory_, sizeof(OracleMemory));
    ::close(fd_);
  }
  /// Forgets the content: the pool is a new one.
  void Reset() {
    for (ThreadState& thread : memory_->threads) {
      thread.phase.store(0);
      for (KeyState& key : thread.keys) {
        key.issued.store(0);
        key.acknowledged.store(0);
        key.pending.store(0);
        key.observed.store(0);
      }
    }
    for (CounterState& counter : memory_->counters) {
      counter.acknowledged.store(0);
      counter.observed.store(0);
    }
  }
  bool IsDoing(base::Activity activity) const {
    return memory_->activities[static_cast<size_t>(activity)].load(std::memory_order_relaxed) != 0;
  }
  OracleMemory* operator->() { return memory_; }
  int fd() const { return fd_; }

  Stage stage() const { return static_cast<Stage>(memory_->stage.load()); }
  void SetStage(Stage stage) { memory_->stage.store(static_cast<uint32_t>(stage)); }

 private:
  void Map() {
    void* address =
        ::mmap(nullptr, sizeof(OracleMemory), PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (address == MAP_FAILED) std::abort();
    memory_ = static_cast<OracleMemory*>(address);
  }

  int fd_;
  OracleMemory* memory_ = nullptr;
};

inline std::string KeyName(uint32_t thread, uint32_t key) {
  // Keys of the threads are interleaved in the order, so that every merge mixes them.
  return "k" + std::to_string(key) + "/thread" + std::to_string(thread);
}

inline std::string CounterName(uint32_t counter) { return "counter" + std::to_string(counter); }

/// Raises `*highest` to at least `number`.
inline void RaiseTo(std::atomic<uint64_t>* highest, uint64_t number) {
  uint64_t before = highest->load();
  while (before < number && !highest->compare_exchange_weak(before, number)) {
  }
}

/// Content after write `number`: none when that write was a delete (or when there was none).
inline std::optional<std::string> ContentOf(uint32_t thread, uint32_t key, uint64_t number) {
  if (number == 0) return std::nullopt;
  Random random((number * kThreads + thread) * kKeysPerThread + key);
  if (random.OneIn(5)) return std::nullopt;
  std::string value = std::to_string(number) + "/" + KeyName(thread, key) + "/";
  const size_t size = random.OneIn(40) ? random.Between(9000, 50000) : random.Below(400);
  if (value.size() < size) value.resize(size, static_cast<char>('a' + number % 26));
  return value;
}

}  // namespace braid::test
