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
      count_((bytes + kBytesAMark - 1) / kBytesAMark),
      is_clean_(count_),
      was_taken_(count_) {
  BRAID_CHECK(base != nullptr && count_ != 0);
}

void SyncMarks::Take(uint64_t bytes) noexcept {
  const uint64_t count = std::min(count_, (bytes + kBytesAMark - 1) / kBytesAMark);
  for (uint64_t i = 0; i < count; ++i) {
    was_taken_[i] = is_clean_[i].exchange(1, std::memory_order_seq_cst) == 0 ? 1 : 0;
  }
  // A thread that stores, and finds a mark, may do so before others see its store: these are asked
  // to come to an end. So either it has found no mark, or its store is seen by the sync.
  if (OrderAllThreads()) return;
  for (uint64_t i = 0; i < count; ++i) was_taken_[i] = 1;
}

bool SyncMarks::WasTaken(uint64_t begin, uint64_t end) const noexcept {
  BRAID_DCHECK(begin < end && end <= count_ * kBytesAMark);
  const uint64_t last = (end - 1) / kBytesAMark;
  for (uint64_t i = begin / kBytesAMark; i <= last; ++i) {
    if (was_taken_[i] != 0) return true;
  }
  return false;
}

}  // namespace braid::media
