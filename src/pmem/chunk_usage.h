// Purpose: how many live bytes each chunk of entries holds, for reclamation and collection. Known
// for chunks flushed in this session; chunks of earlier sessions are counted in the background.
// Thread safety: Add and Remove from any thread; MarkKnown by the background thread.
// Invariant 1: a chunk whose count is known and zero holds no entry that a table links.
// Persistence: none; entries carry their own marks of death, from which counts are rebuilt.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace braid::pmem {

class ChunkUsage {
 public:
  static constexpr int64_t kUnknown = INT64_MIN / 2;

  explicit ChunkUsage(uint64_t capacity)
      : bytes_(static_cast<std::atomic<int64_t>*>(std::calloc(capacity, sizeof(int64_t)))) {
    if (bytes_ == nullptr) throw std::bad_alloc();
  }

  void Add(uint64_t chunk, uint64_t bytes) noexcept {
    bytes_.get()[chunk].fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  void Remove(uint64_t chunk, uint64_t bytes) noexcept {
    bytes_.get()[chunk].fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  void Set(uint64_t chunk, int64_t bytes) noexcept {
    bytes_.get()[chunk].store(bytes, std::memory_order_relaxed);
  }
  /// Live bytes; meaningless (far below zero) while unknown.
  int64_t Live(uint64_t chunk) const noexcept {
    return bytes_.get()[chunk].load(std::memory_order_relaxed);
  }
  bool IsKnown(uint64_t chunk) const noexcept { return Live(chunk) >= 0; }

 private:
  struct FreeDeleter {
    void operator()(void* memory) const noexcept { std::free(memory); }
  };
  std::unique_ptr<std::atomic<int64_t>, FreeDeleter> bytes_;
};

}  // namespace braid::pmem
