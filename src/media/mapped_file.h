// Purpose: a file that does not change, mapped to read from where the system has it in memory.
// Thread safety: any thread.
// Invariants:
//   1. Only pages that were in memory some seconds ago are said to be there. So to look at them is
//      seldom to wait for the device, and what this can't give is found by a read call, which
//      reports it as an error.
//   2. A page that has left the memory meanwhile, and can't be read again, becomes zeros
//      (media/sigbus_guard.h), which a check of what was read has to refuse; from then on nothing
//      is said to be there.
// Persistence: reads only.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "media/sigbus_guard.h"

namespace braid::media {

class MappedFile {
 public:
  /// Null where it can't be mapped, or its pages can't be watched. Throws std::bad_alloc.
  static std::unique_ptr<MappedFile> Of(const std::string& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Pages that are looked at together at most.
  static constexpr uint64_t kMostPages = 65;
  /// Whether all of it is in memory, or was a moment ago. Cost: some loads; a system call for what
  /// nobody has asked for lately.
  bool Has(uint64_t offset, uint64_t bytes) noexcept;
  const char* At(uint64_t offset) const noexcept {
    BRAID_DCHECK(offset < bytes_);
    return base_ + offset;
  }

 private:
  MappedFile(const char* base, uint64_t bytes);
  bool WereThere(uint64_t from, uint64_t to) const noexcept;
  bool AreThere(uint64_t from, uint64_t to) noexcept;
  void ForgetInTime() noexcept;

  const char* const base_;
  const uint64_t bytes_;
  // Hints, which nothing is ordered with: all relaxed.
  std::vector<std::atomic<uint64_t>> there_;  // a bit a page
  std::atomic<uint64_t> forgot_at_{0};
  SigbusGuard guard_;
};

}  // namespace braid::media
