// Purpose: a zeroed table for the largest size that a pool may grow to, of which only touched pages
// take memory. A plain allocation of that size fails on a machine with less memory than the table
// could take: the kernel's overcommit check refuses it, though nearly all of it stays untouched.
// Thread safety: that of T.
// Invariants:
//   1. An entry never moves.
// Persistence: none.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "base/check.h"

namespace braid::media {

/// T must be valid when all its bytes are zero, and need no destructor.
template <class T>
class SparseTable {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  SparseTable() = default;
  explicit SparseTable(uint64_t count) { Allocate(count); }
  SparseTable(const SparseTable&) = delete;
  SparseTable& operator=(const SparseTable&) = delete;
  ~SparseTable() { Release(); }

  /// Drops what it holds and takes `count` zeroes. False: there is no address space for them.
  bool Allocate(uint64_t count) noexcept {
    Release();
    if (count > SIZE_MAX / sizeof(T)) return false;
    bytes_ = count * sizeof(T);
    if (!IsMapped()) {
      entries_ = static_cast<T*>(AllocateSmall());
      return entries_ != nullptr;
    }
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    entries_ = memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
    return entries_ != nullptr;
  }

  bool ok() const noexcept { return entries_ != nullptr; }
  T& operator[](uint64_t index) const noexcept {
    BRAID_DCHECK(index < bytes_ / sizeof(T));
    return entries_[index];
  }

 private:
  // Small tables are not worth a mapping of their own.
  static constexpr size_t kSmallestMapping = size_t{1} << 20;

  bool IsMapped() const noexcept { return bytes_ >= kSmallestMapping; }
  /// calloc knows of no alignment beyond that of the plain types.
  void* AllocateSmall() noexcept {
    if constexpr (alignof(T) <= alignof(std::max_align_t)) return std::calloc(1, bytes_);
    void* const memory = std::aligned_alloc(alignof(T), bytes_);
    return memory == nullptr ? nullptr : std::memset(memory, 0, bytes_);
  }
  void Release() noexcept {
    if (entries_ == nullptr) return;
    IsMapped() ? static_cast<void>(::munmap(entries_, bytes_)) : std::free(entries_);
    entries_ = nullptr;
  }

  T* entries_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace braid::media
