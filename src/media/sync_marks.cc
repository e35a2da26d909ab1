// Purpose: taking marks of what is to be synced.
// Thread safety, invariants, persistence: see sync_marks.h.
#include "media/sync_marks.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace braid::media {

namespace {

/// Orders the stores of all threads of this process before what the caller does next. False where
/// the kernel can't.
bool OrderAllThreads() noexcept {
  const auto ask = [](int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; };
  // A child of a fork has to say once more that it will.
  return ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace

SyncMarks::SyncMarks(const char* base, uint64_t bytes)
    : base_(reinterpret_cast<uintptr_t>(base)),
      count_(static_cast<size_t>((bytes + kBytesAMark - 1) / kBytesAMark)),
      marks_(new std::atomic<bool>[count_]),
      taken_(new bool[count_]()) {
  BRAID_CHECK(base != nullptr && count_ != 0);
  for (size_t i = 0; i < count_; ++i) marks_[i].store(true, std::memory_order_relaxed);
}

void SyncMarks::Take(uint64_t bytes) noexcept {
  const size_t count =
      std::min(count_, static_cast<size_t>((bytes + kBytesAMark - 1) / kBytesAMark));
  for (size_t i = 0; i < count; ++i) {
    taken_[i] = marks_[i].exchange(false, std::memory_order_seq_cst);
  }
  // A thread that stores, and finds a mark, may do so before others see its store: these are asked
  // to come to an end. So either it has found no mark, or its store is seen by the sync.
  if (OrderAllThreads()) return;
  std::fill_n(taken_.get(), count, true);
}

bool SyncMarks::WasTaken(uint64_t begin, uint64_t end) const noexcept {
  BRAID_DCHECK(begin < end && end <= count_ * kBytesAMark);
  const bool* const first = taken_.get() + begin / kBytesAMark;
  const bool* const last = taken_.get() + (end - 1) / kBytesAMark + 1;
  return std::find(first, last, true) != last;
}

}  // namespace braid::media
