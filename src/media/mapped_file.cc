// Purpose: what of a mapped file is in memory.
// Thread safety, invariants, persistence: see mapped_file.h.
#include "media/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace braid::media {

namespace {
constexpr uint64_t kPagesAWord = 64;
/// How long a page is taken to be in memory.
constexpr uint64_t kMomentNanos = 10'000'000'000;

uint64_t PageBytes() noexcept {
  static const auto bytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}
}  // namespace

MappedFile::MappedFile(const char* base, uint64_t bytes)
    : base_(base), bytes_(bytes), there_(bytes / PageBytes() / kPagesAWord + 1) {}

std::unique_ptr<MappedFile> MappedFile::Of(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat facts {};
  void* at = MAP_FAILED;
  if (::fstat(file, &facts) == 0 && facts.st_size > 0) {
    at = ::mmap(nullptr, static_cast<size_t>(facts.st_size), PROT_READ, MAP_SHARED, file, 0);
  }
  ::close(file);  // the mapping stays
  if (at == MAP_FAILED) return nullptr;
  const auto bytes = static_cast<uint64_t>(facts.st_size);
  std::unique_ptr<MappedFile> mapped(new MappedFile(static_cast<const char*>(at), bytes));
  (void)::madvise(at, bytes, MADV_RANDOM);  // a page that has left comes back alone
  if (!mapped->guard_.Watch(mapped->base_, bytes).ok()) return nullptr;
  return mapped;
}

MappedFile::~MappedFile() {
  guard_.Release();
  ::munmap(const_cast<char*>(base_), bytes_);
}

bool MappedFile::Has(uint64_t offset, uint64_t bytes) noexcept {
  if (bytes == 0 || offset >= bytes_ || bytes > bytes_ - offset) return false;
  if (guard_.fault().load(std::memory_order_acquire) != 0) return false;
  const uint64_t from = offset / PageBytes();
  const uint64_t to = (offset + bytes - 1) / PageBytes() + 1;
  BRAID_DCHECK(from < to && to <= there_.size() * kPagesAWord);
  ForgetInTime();
  return to - from <= kMostPages && (WereThere(from, to) || AreThere(from, to));
}

bool MappedFile::WereThere(uint64_t from, uint64_t to) const noexcept {
  for (uint64_t page = from; page < to; ++page) {
    const uint64_t word = there_[page / kPagesAWord].load(std::memory_order_relaxed);
    if ((word >> (page % kPagesAWord) & 1) == 0) return false;
  }
  return true;
}

/// Asks for whole words of pages: most of what a call costs is the call.
bool MappedFile::AreThere(uint64_t from, uint64_t to) noexcept {
  const uint64_t all = (bytes_ - 1) / PageBytes() + 1;
  for (uint64_t word = from / kPagesAWord; word * kPagesAWord < to; ++word) {
    const uint64_t begin = word * kPagesAWord;
    const uint64_t pages = std::min(kPagesAWord, all - begin);
    std::array<unsigned char, kPagesAWord> states;
    char* const at = const_cast<char*>(base_) + begin * PageBytes();
    if (::mincore(at, pages * PageBytes(), states.data()) != 0) return false;
    uint64_t there = 0;
    for (uint64_t page = 0; page < pages; ++page) {
      there |= uint64_t{states[page] & 1u} << page;
    }
    there_[word].fetch_or(there, std::memory_order_relaxed);
  }
  return WereThere(from, to);
}

void MappedFile::ForgetInTime() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const uint64_t nanos =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  uint64_t last = forgot_at_.load(std::memory_order_relaxed);
  if (nanos - last < kMomentNanos ||
      !forgot_at_.compare_exchange_strong(last, nanos, std::memory_order_relaxed)) {
    return;
  }
  for (std::atomic<uint64_t>& word : there_) word.store(0, std::memory_order_relaxed);
}

}  // namespace braid::media
