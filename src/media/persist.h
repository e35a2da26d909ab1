// Purpose: the one seam to persistent memory. Every store to a pool, every write-back of a cache
// line and every fence goes through PersistOps; the rest of braid says what it means (store this
// link, persist this range). The crash simulator and the cost counters live in this seam.
// Thread safety: all calls from any thread; the caller keeps two threads from storing to one range.
// Invariants:
//   1. A Flush covers every line that holds a byte of its range (the start is rounded down).
//   2. In the crashsim build each store is announced to the hook before and after.
//   3. A pool that emulates a slower medium waits in Fence only, for the lines that the thread
//      flushed since its last fence; other pools pay a test of a flag a fence.
// Persistence: CACHE_LINE: flush writes lines back, fence waits for them. BYTE: a fence is enough.
// PAGE: stores survive a process crash as they are; power loss is Media::Sync's business.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/counters.h"
#include "braid/options.h"
#include "braid/status.h"
#include "media/sites.h"
#include "media/sync_marks.h"

namespace braid::media {

inline constexpr size_t kLineBytes = 64;
static_assert((kLineBytes & (kLineBytes - 1)) == 0);  // starts of lines are found by a mask
// What commits by one store is seen whole or not at all.
static_assert(std::atomic_ref<uint64_t>::is_always_lock_free &&
              std::atomic_ref<uint8_t>::is_always_lock_free);

enum class PersistCounter : uint8_t { kLines = 0, kFences = 1 };

/// Listens at the seam; implemented by the crash simulator only.
class PersistHook {
 public:
  virtual ~PersistHook() = default;
  /// `n` bytes at `address` are about to change / have changed. Stores of up to 8 aligned bytes are
  /// atomic; longer ones may tear at any 8-byte boundary.
  virtual void BeforeStore(const void* address, size_t n) = 0;
  virtual void AfterStore(const void* address, size_t n) = 0;
  virtual void OnFlush(const void* address, size_t n) = 0;
  virtual void OnFence() = 0;
};

/// Name of the write-back instruction this processor has: "clwb", "clflushopt" or "clflush".
const char* FlushInstruction() noexcept;

class PersistOps {
 public:
  explicit PersistOps(MediaClass media_class) noexcept;
  PersistOps(const PersistOps&) = delete;
  PersistOps& operator=(const PersistOps&) = delete;

  /// Stores 8 aligned bytes atomically. Release: a reader that loads the value with acquire sees
  /// everything stored before.
  void StoreU64(uint64_t* target, uint64_t value) noexcept {
    BRAID_DCHECK(reinterpret_cast<uintptr_t>(target) % sizeof value == 0);
    Before(target, sizeof value);
    std::atomic_ref<uint64_t>(*target).store(value, std::memory_order_release);
    After(target, sizeof value);
  }
  /// Stores one byte atomically (release).
  void StoreByte(uint8_t* target, uint8_t value) noexcept {
    Before(target, 1);
    std::atomic_ref<uint8_t>(*target).store(value, std::memory_order_release);
    After(target, 1);
  }
  /// Copies bytes that no other thread reads yet.
  void Copy(void* target, const void* source, size_t n) noexcept {
    if (n == 0) return;  // an empty value may have no address
    Before(target, n);
    std::memcpy(target, source, n);
    After(target, n);
  }
  void Zero(void* target, size_t n) noexcept {
    Before(target, n);
    std::memset(target, 0, n);
    After(target, n);
  }

  /// Writes back the lines of [address, address + n). Cost: one instruction a line. Not durable
  /// before the next Fence of this thread.
  void Flush(const void* address, size_t n, Site site) noexcept {
    if (n != 0 && !IsDropped(site)) FlushLines(address, n);
  }
  /// Copies whole lines that nobody reads soon, past the caches where the medium has lines to write
  /// back: `target` is aligned to a line, `n` a multiple of one. Counts as their Flush: not
  /// durable, and on class CACHE_LINE not seen by other threads in order, before the next Fence of
  /// this thread.
  void Stream(void* target, const void* source, size_t n, Site site) noexcept {
    IsDropped(site) ? Copy(target, source, n) : StreamLines(target, source, n);
  }
  /// Waits until this thread's flushes are durable.
  void Fence(Site site) noexcept {
    if (!IsDropped(site)) WaitForFlushes();
  }
  /// A flush and a fence of one site.
  void Persist(const void* address, size_t n, Site site) noexcept {
    Flush(address, n, site);
    Fence(site);
  }

  MediaClass media_class() const noexcept { return media_class_; }
  /// Before any other thread knows the pool: the class of a new pool is known when its first
  /// segment is mapped.
  void set_media_class(MediaClass media_class) noexcept;
  /// Where flushes of page-cache media are marked; null: nowhere. Likewise.
  void set_sync_marks(SyncMarks* marks) noexcept { sync_marks_ = marks; }
  /// Slows write-backs down, for measurements: each line costs `write_ns` more at the next fence of
  /// its thread, and all threads together write back at most `write_mb_s` million bytes a second; 0
  /// and 0: off. Before any other thread knows the pool. InvalidArgument where nothing is written
  /// back that could be slowed down. The crashsim build takes the values and waits for nothing.
  Status Emulate(uint32_t write_ns, uint32_t write_mb_s);
  uint64_t lines_flushed() const noexcept { return counters_.Sum(PersistCounter::kLines); }
  /// By this thread.
  uint64_t lines_of_thread() const noexcept { return counters_.OfThread(PersistCounter::kLines); }
  uint64_t fences() const noexcept { return counters_.Sum(PersistCounter::kFences); }

#if defined(BRAID_CRASHSIM)
  void set_hook(PersistHook* hook) noexcept { hook_ = hook; }
#endif

 private:
#if defined(BRAID_CRASHSIM)
  void Before(const void* address, size_t n) noexcept {
    if (hook_ != nullptr) hook_->BeforeStore(address, n);
  }
  void After(const void* address, size_t n) noexcept {
    if (hook_ != nullptr) hook_->AfterStore(address, n);
  }
  PersistHook* hook_ = nullptr;
#else
  static void Before(const void*, size_t) noexcept {}
  static void After(const void*, size_t) noexcept {}
#endif

  void FlushLines(const void* address, size_t n) noexcept {
    const uintptr_t first = reinterpret_cast<uintptr_t>(address) & ~(kLineBytes - 1);
    const uintptr_t end = reinterpret_cast<uintptr_t>(address) + n;
#if defined(BRAID_CRASHSIM)
    if (hook_ != nullptr) hook_->OnFlush(address, n);
#endif
    if (flush_lines_ == nullptr) {
      if (sync_marks_ != nullptr) sync_marks_->Mark(first, end);
      return;
    }
    counters_.Add(PersistCounter::kLines, (end - first + kLineBytes - 1) / kLineBytes);
    flush_lines_(first, end);
  }
  void StreamLines(void* target, const void* source, size_t n) noexcept;
  void WaitForFlushes() noexcept;
  void WaitAsSlowMedium() noexcept;

  MediaClass media_class_;
  bool emulates_ = false;
  uint32_t emulated_write_ns_ = 0;
  uint32_t emulated_write_mb_s_ = 0;
  // When the emulated medium will have written what it was given, on the clock of NowNanos().
  std::atomic<uint64_t> emulated_busy_until_{0};
  void (*flush_lines_)(uintptr_t first,
                       uintptr_t end) noexcept;  // null where nothing is to be done
  SyncMarks* sync_marks_ = nullptr;
  base::Counters<PersistCounter, 2> counters_;
};

}  // namespace braid::media
