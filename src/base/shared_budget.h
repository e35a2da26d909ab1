// Purpose: one limit of DRAM for several databases: what each may take of it now. Those that need
// less than an equal part leave the rest to the others, who divide it equally (max-min fairness).
// What is left to one and needed by another again is given up by the one when it looks next, or at
// once where it rests.
// Thread safety: any thread.
// Locks: the budget's is held while databases are asked what they take and told that their share
// has changed; only locks that are held for a moment come after it.
// Invariants:
//   1. The shares that databases need together are within the budget, as far as they can give way.
//   2. No share is below what its database can't give up and kLeast.
//   3. A database is neither asked nor told anything once its Share is gone.
// Persistence: none. A forked process does not touch those of its parent.
// Source: max-min fairness, Bertsekas and Gallager, Data Networks, 6.5.2.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/forks.h"
#include "base/mutex.h"
#include "braid/status.h"

namespace braid::base {

class SharedBudget : public std::enable_shared_from_this<SharedBudget> {
 public:
  /// What each database is sure of, beside what it can't give up.
  static constexpr uint64_t kLeast = 1 << 20;

  /// What one database has of the budget, while it lives.
  class Share {
   public:
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// `used`: what the database takes now; `changed`: its share is another one. Once, by who
    /// keeps them valid until this ends.
    void Attach(std::function<uint64_t()> used, std::function<void()> changed);
    /// What the database may take now.
    uint64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
    /// Now and then while the database works. `wants_more`: it does without something that does
    /// not fit. A load where it has the budget for itself.
    void Look(bool wants_more) noexcept;
    /// It is closed: from here on it needs no more than it still takes, and has no claim.
    void Close() noexcept;

   private:
    friend class SharedBudget;
    Share(std::shared_ptr<SharedBudget> budget, uint64_t fixed) noexcept
        : budget_(std::move(budget)), fixed_(fixed) {}

    const std::shared_ptr<SharedBudget> budget_;
    const uint64_t fixed_;
    const Origin origin_;
    std::atomic<uint64_t> bytes_{0};
    std::atomic<bool> wants_more_{false};
    // Under SharedBudget::mutex_.
    std::function<uint64_t()> used_;
    std::function<void()> changed_;
    uint64_t takes_ = 0;  // when it was asked last
    uint64_t told_ = 0;   // bytes_ when changed_ was considered last
    bool is_open_ = true;
  };

  struct Usage {
    uint64_t bytes = 0;  // taken by all
    uint64_t databases = 0;
  };

  explicit SharedBudget(uint64_t bytes) noexcept : bytes_(bytes) {}

  uint64_t bytes() const noexcept { return bytes_; }
  /// What a database that opens now is to size by what it can't resize later, such as its lookup
  /// cache: an eighth of the budget or, where more than eight are open, an equal part.
  uint64_t BaseOfNext() const noexcept;
  /// Of a database that takes `fixed` bytes which it can't give up. Errors: InvalidArgument, when
  /// the budget has no room for it beside what the others are sure of. Throws std::bad_alloc.
  Result<std::unique_ptr<Share>> Join(uint64_t fixed);
  Usage usage() const;

 private:
  void Leave(Share* share) noexcept;
  void DivideIfDue() noexcept;
  void Divide() noexcept BRAID_REQUIRES(mutex_);
  uint64_t LevelFor(uint64_t margin) const noexcept BRAID_REQUIRES(mutex_);
  static uint64_t FloorOf(const Share& share) noexcept {
    return share.is_open_ ? share.fixed_ + kLeast : 0;
  }

  const uint64_t bytes_;
  std::atomic<size_t> databases_{0};  // size of shares_, those that are closed included
  std::atomic<uint64_t> divided_{0};  // when, by NowNanos
  mutable Mutex mutex_;
  std::vector<Share*> shares_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::base
