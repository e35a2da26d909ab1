// Purpose: the iterator of a failed NewIterator and its reserve of memory.
// Thread safety, persistence: see failed_iterator.h.
#include "engine/failed_iterator.h"

#include <atomic>
#include <bit>
#include <new>

#include "engine/empty_iterator.h"

namespace braid::engine {

namespace {

class FailedIterator final : public EmptyIterator {
 public:
  Status status() const override { return Status::OutOfMemory(); }

  static void* operator new(size_t bytes, const std::nothrow_t&) noexcept;
  static void operator delete(void* memory) noexcept;
  static void operator delete(void* memory, const std::nothrow_t&) noexcept {
    FailedIterator::operator delete(memory);
  }
};

constexpr int kReserve = 64;
std::atomic<uint64_t> taken{0};  // a bit for each place
alignas(FailedIterator) unsigned char places[kReserve][sizeof(FailedIterator)];

void* FailedIterator::operator new(size_t, const std::nothrow_t&) noexcept {
  uint64_t before = taken.load(std::memory_order_relaxed);
  for (;;) {
    const int place = std::countr_one(before);
    if (place == kReserve) return nullptr;
    // Acquire pairs with the release of the one who had the place before.
    if (taken.compare_exchange_weak(before, before | (uint64_t{1} << place),
                                    std::memory_order_acquire, std::memory_order_relaxed)) {
      return places[place];
    }
  }
}

void FailedIterator::operator delete(void* memory) noexcept {
  const auto place =
      (static_cast<unsigned char*>(memory) - places[0]) / static_cast<ptrdiff_t>(sizeof places[0]);
  taken.fetch_and(~(uint64_t{1} << place), std::memory_order_release);
}

}  // namespace

std::unique_ptr<Iterator> NewFailedIterator() noexcept {
  return std::unique_ptr<Iterator>(new (std::nothrow) FailedIterator);
}

}  // namespace braid::engine
