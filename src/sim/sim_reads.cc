// Purpose: the hooks that compiled loads call, and what they note.
// Thread safety, invariants, persistence: see sim_reads.h. This file is compiled without the hooks.
#include "sim/sim_reads.h"

#if defined(BRAID_CRASHSIM)

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "sim/sim_persist.h"

namespace braid::sim {

ReadWatch read_watch;

bool ReadsAreHooked() noexcept {
#if defined(BRAID_READ_HOOKS)
  return true;
#else
  return false;
#endif
}

namespace {

constexpr uint64_t kWordBytes = sizeof(uint64_t);

// Shadow memory: a byte for each word of the whole address space. A load looks at the byte of its
// word, and calls one of the functions below where it is not zero. Set for all words of a line in
// which a watched word has not been seen: a load that is checked only at its ends (a copied struct)
// is noticed unless it covers a whole line in between.
constexpr uintptr_t kShadow = 0x7fff8000;  // as in cmake/BraidFlags.cmake
constexpr uintptr_t kAddressSpace = uintptr_t{1} << 47;

#if defined(BRAID_READ_HOOKS)

/// Comes before every load that is checked: those of constructors included.
__attribute__((constructor(101))) void MapShadow() {
  const void* shadow =
      mmap(reinterpret_cast<void*>(kShadow), kAddressSpace / kWordBytes, PROT_READ,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  // Another copy of the library in this process may have made it.
  if (shadow == MAP_FAILED && errno == EEXIST) return;
  BRAID_CHECK(shadow == reinterpret_cast<void*>(kShadow));
}

void MakeShadowWritable(const SimArea& area) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t begin = kShadow + reinterpret_cast<uintptr_t>(area.base()) / kWordBytes;
  const uintptr_t end = begin + area.bytes() / kWordBytes;
  const uintptr_t first_page = begin / kPage * kPage;
  BRAID_CHECK(
      mprotect(reinterpret_cast<void*>(first_page), end - first_page, PROT_READ | PROT_WRITE) == 0);
}

void SetShadow(uintptr_t base, uint64_t line, bool watched) noexcept {
  const uint64_t bytes = watched ? ~0ull : 0;
  std::memcpy(reinterpret_cast<void*>(kShadow + (base + line * media::kLineBytes) / kWordBytes),
              &bytes, sizeof bytes);
}

#else

void MakeShadowWritable(const SimArea&) {}
void SetShadow(uintptr_t, uint64_t, bool) noexcept {}

#endif

/// A bit for each word from `first` to `last` of one line.
unsigned WordMask(uint64_t first, uint64_t last) noexcept {
  return (0xFFu << first) & (0xFFu >> (kWordsPerLine - 1 - last)) & 0xFFu;
}

}  // namespace

ReadTracker::ReadTracker(const SimArea& area) : area_(area), watched_(area.lines(), 0) {
  MakeShadowWritable(area);
}

void ReadTracker::Arm() {
  for (const uint64_t word : words_) {
    uint8_t& line = watched_[word / kWordsPerLine];
    line = static_cast<uint8_t>(line | 1u << (word % kWordsPerLine));
    SetShadow(reinterpret_cast<uintptr_t>(area_.base()), word / kWordsPerLine, true);
  }
}

/// The shadow is what the tracker that was active before needs.
void ReadTracker::Disarm() {
  const bool same_area = before_.base == reinterpret_cast<uintptr_t>(area_.base());
  for (const uint64_t word : words_) {
    const uint64_t line = word / kWordsPerLine;
    watched_[line] = 0;
    SetShadow(reinterpret_cast<uintptr_t>(area_.base()), line,
              same_area && before_.watched[line] != 0);
  }
}

void ReadTracker::Watch(const std::vector<uint64_t>& words) {
  BRAID_CHECK(!active_);
  words_ = words;
  first_of_line_.clear();
  for (size_t i = 0; i < words_.size(); ++i) {
    BRAID_CHECK(i == 0 || words_[i - 1] < words_[i]);
    first_of_line_.try_emplace(words_[i] / kWordsPerLine, static_cast<uint32_t>(i));
  }
}

void ReadTracker::Begin() {
  BRAID_CHECK(!active_);
  Arm();
  trace_.clear();
  before_ = read_watch;
  active_ = true;
  stores_stay_ = true;
  read_watch = {reinterpret_cast<uintptr_t>(area_.base()), area_.bytes(), watched_.data(), this};
}

void ReadTracker::End() {
  if (!active_) return;
  Disarm();
  read_watch = before_;
  active_ = false;
}

void ReadTracker::Seen(uint64_t line, unsigned words) noexcept {
  watched_[line] = static_cast<uint8_t>(watched_[line] & ~words);
  if (watched_[line] == 0) SetShadow(read_watch.base, line, false);
}

void ReadTracker::SeeLine(uint64_t line, unsigned words) noexcept {
  const unsigned fresh = watched_[line] & words;
  if (fresh == 0) return;
  Seen(line, fresh);
  uint32_t at = first_of_line_.find(line)->second;
  for (; at < words_.size() && words_[at] / kWordsPerLine == line; ++at) {
    if ((fresh >> (words_[at] % kWordsPerLine) & 1) != 0) trace_.push_back(at);
  }
}

void NoteReadSlowly(uint64_t offset, size_t n) noexcept {
  const uint64_t end = std::min(offset + n, read_watch.bytes);
  const uint64_t last_word = (end - 1) / kWordBytes;
  for (uint64_t word = offset / kWordBytes; word <= last_word;) {
    const uint64_t line = word / kWordsPerLine;
    const uint64_t line_end = std::min(last_word, line * kWordsPerLine + kWordsPerLine - 1);
    if (read_watch.watched[line] != 0) {
      read_watch.tracker->SeeLine(line, WordMask(word % kWordsPerLine, line_end % kWordsPerLine));
    }
    word = line_end + 1;
  }
}

void NoteStore(const void* address, size_t n) noexcept {
  const uint64_t offset = reinterpret_cast<uintptr_t>(address) - read_watch.base;
  if (offset >= read_watch.bytes || !read_watch.tracker->stores_stay_) return;
  // A word that is stored to in part keeps some of what was there.
  const uint64_t first = (offset + kWordBytes - 1) / kWordBytes;
  const uint64_t end = std::min(offset + n, read_watch.bytes) / kWordBytes;
  for (uint64_t word = first; word < end; ++word) {
    const uint64_t line = word / kWordsPerLine;
    if (read_watch.watched[line] != 0) read_watch.tracker->Seen(line, 1u << (word % kWordsPerLine));
  }
}

}  // namespace braid::sim

// ---- What the compiler's checks call ----------------------------------------------------------

extern "C" {
// The names are the compiler's. A load calls one of these when a byte of the shadow of its first or
// last word is set.
void __asan_report_load1_noabort(uintptr_t address);
void __asan_report_load2_noabort(uintptr_t address);
void __asan_report_load4_noabort(uintptr_t address);
void __asan_report_load8_noabort(uintptr_t address);
void __asan_report_load16_noabort(uintptr_t address);
void __asan_report_load_n_noabort(uintptr_t address, size_t n);
void __asan_loadN_noabort(uintptr_t address, size_t n);
void __asan_handle_no_return();
void __asan_before_dynamic_init(const void* module);
void __asan_after_dynamic_init();

void __asan_report_load_n_noabort(uintptr_t address, size_t n) {
  braid::sim::NoteRead(reinterpret_cast<const void*>(address), n);
}
void __asan_report_load1_noabort(uintptr_t address) { __asan_report_load_n_noabort(address, 1); }
void __asan_report_load2_noabort(uintptr_t address) { __asan_report_load_n_noabort(address, 2); }
void __asan_report_load4_noabort(uintptr_t address) { __asan_report_load_n_noabort(address, 4); }
void __asan_report_load8_noabort(uintptr_t address) { __asan_report_load_n_noabort(address, 8); }
void __asan_report_load16_noabort(uintptr_t address) { __asan_report_load_n_noabort(address, 16); }
void __asan_loadN_noabort(uintptr_t address, size_t n) { __asan_report_load_n_noabort(address, n); }
void __asan_handle_no_return() {}
void __asan_before_dynamic_init(const void*) {}
void __asan_after_dynamic_init() {}
}

#endif  // BRAID_CRASHSIM
