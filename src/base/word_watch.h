// Purpose: waits, without polling, until one of many words in memory that other processes may
// change has changed. A thread waits for up to 127 of them at once (futex_waitv, Linux 5.16).
// Thread safety: any thread.
// Invariants:
//   1. No callback is made for a word after its Remove has returned.
//   2. A thread that changes a word then wakes its waiters (base/futex.h).
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace braid::base {

class WordWatch {
 public:
  /// `changed`: is called with the name of a word, once, by a thread of this object and under its
  /// lock. Must not throw, nor call back.
  explicit WordWatch(std::function<void(void* name)> changed);
  ~WordWatch();

  /// Tells of the word when it is, or becomes, other than `seen`. False, and nothing is watched,
  /// where the system can't wait for it, or has no thread or memory for that.
  bool Add(void* name, const void* word, uint32_t seen) noexcept;
  /// No effect when it was reported already, or not added.
  void Remove(void* name) noexcept;
  /// That wait now.
  size_t threads() const noexcept;

 private:
  struct Word {
    void* name;
    const uint32_t* place;
    uint32_t seen;
  };
  /// What one thread waits for.
  struct Group {
    std::vector<Word> words;           // mutex_
    std::atomic<uint32_t> changes{0};  // of `words`, or the end
    std::thread thread;
    bool has_ended = false;  // mutex_; the thread, since the system can't wait
  };

  Group* GroupWithRoom() BRAID_REQUIRES(mutex_);
  void Loop(Group* group) noexcept;
  void Tell(Group* group) noexcept BRAID_REQUIRES(mutex_);

  const std::function<void(void*)> changed_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Group>> groups_ BRAID_GUARDED_BY(mutex_);
  bool stopping_ BRAID_GUARDED_BY(mutex_) = false;
  bool can_wait_ BRAID_GUARDED_BY(mutex_) = true;
};

}  // namespace braid::base
