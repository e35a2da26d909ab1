// Purpose: copies large values to the pool before their write takes locks that others wait for, and
// outside of any epoch: copying a gigabyte takes a second, during which no batch could be written
// and no memtable flushed.
// Thread safety: any thread; a Scope belongs to one write and its thread. The mutex comes after the
// shard locks (lsm_store.h), and no thread waits for anything but the pool's growth under it.
// Invariants:
//   1. An extent that is reserved and has no entry yet is in reserved_, so that a concurrent Verify
//      knows whose its chunks are.
//   2. After Close() nothing is copied, and every reserved extent has an entry or was freed: the
//      pool may then belong to another process.
//   3. A run of chunks is kept for large values (PmemPool::KeepRun) only while a write wants one.
// Persistence: that of PmemPool::ReserveExtent; what a crash leaves of it is swept at the next
// open.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "log/index_unified_log.h"
#include "pool/pool.h"

namespace braid::space {

class LargeValues {
 public:
  explicit LargeValues(pool::PmemPool* pool) noexcept : pool_(pool) {}
  LargeValues(const LargeValues&) = delete;
  LargeValues& operator=(const LargeValues&) = delete;

  /// The large values of one write, which it outlives.
  class Scope {
   public:
    Scope(LargeValues* all, std::span<log::PendingEntry> entries) noexcept
        : all_(all), drafts_(entries) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    /// Gives back what no entry has got.
    ~Scope() {
      if (entered_) all_->Leave(*this);
    }

    /// Whether a large value is still to be copied. After an attempt that was given up it may be
    /// to be copied again.
    bool wants_copy() const noexcept {
      const uint64_t inline_bytes = log::LargestInlineValue(*all_->pool_);
      for (const log::PendingEntry& pending : drafts_) {
        if (pending.value.size() > inline_bytes && pending.reserved == 0) [[unlikely]]
          return true;
      }
      return false;
    }
    /// Copies what is to be copied; nothing for small values. Errors: OutOfSpace, and some may have
    /// been copied; Closed. Without locks, and not inside an EpochGuard.
    Status Copy(uint32_t region, pool::AllocationClass allocation);
    /// What copies a value elsewhere has found no room for it: until this scope ends, a run of
    /// chunks that is long enough is asked for. Errors: Closed.
    Status AskForRoom(uint64_t value_bytes);

   private:
    friend class LargeValues;

    LargeValues* const all_;
    const std::span<log::PendingEntry> drafts_;
    bool entered_ = false;
  };

  /// Refuses copies from here on, and waits for the writes that have begun one.
  void Close();

  /// The longest run of chunks that a write has not found and still wants; 0: none.
  uint64_t WantedRun();
  /// Whether a write that wants one would find it now.
  bool HasWantedRun() {
    const uint64_t wanted = WantedRun();
    return wanted != 0 && pool_->HasRun(wanted);
  }

  /// While it is held nobody takes or gives back chunks here.
  base::MutexHold Hold() { return base::MutexHold(mutex_); }
  /// Whether the chunk is reserved for a value. Under Hold().
  bool HasReserved(uint64_t chunk) const noexcept;

 private:
  /// Chunks. Stays until its scope ends, though an entry may have had them and given them back.
  struct Run {
    const Scope* scope;
    uint64_t first;
    uint64_t count;
  };
  Status Enter();
  void Want(const Scope& scope, uint64_t value_bytes) BRAID_REQUIRES(mutex_);
  void WantNoMore(const Scope& scope) noexcept BRAID_REQUIRES(mutex_);
  void Leave(const Scope& scope) noexcept;
  Status Reserve(const Scope& scope, log::PendingEntry* pending, uint32_t region,
                 pool::AllocationClass allocation);

  pool::PmemPool* const pool_;
  base::Mutex mutex_;
  base::CondVar left_;
  bool closed_ BRAID_GUARDED_BY(mutex_) = false;
  uint64_t writes_ BRAID_GUARDED_BY(mutex_) = 0;  // scopes that have entered
  std::vector<Run> reserved_ BRAID_GUARDED_BY(mutex_);
  std::vector<Run> wanted_ BRAID_GUARDED_BY(mutex_);  // `first` is nothing; one a scope
};

}  // namespace braid::space
