// Purpose: the flush loops and the fence; the only file with write-back instructions.
// Thread safety: any thread.
// Persistence: see persist.h.
#include "media/persist.h"

#include <immintrin.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace braid::media {
namespace {

// One loop an instruction, chosen once by CPUID, so that a processor (or an instrumenting tool)
// that lacks clwb never meets it.
__attribute__((target("clwb"))) void FlushClwb(uintptr_t first, uintptr_t end) noexcept {
  for (uintptr_t line = first; line < end; line += kLineBytes) {
    _mm_clwb(reinterpret_cast<void*>(line));
  }
}

__attribute__((target("clflushopt"))) void FlushClflushopt(uintptr_t first,
                                                           uintptr_t end) noexcept {
  for (uintptr_t line = first; line < end; line += kLineBytes) {
    _mm_clflushopt(reinterpret_cast<void*>(line));
  }
}

void FlushClflush(uintptr_t first, uintptr_t end) noexcept {
  for (uintptr_t line = first; line < end; line += kLineBytes) {
    _mm_clflush(reinterpret_cast<const void*>(line));
  }
}

struct FlushChoice {
  const char* name;
  void (*lines)(uintptr_t, uintptr_t) noexcept;
};

FlushChoice Choose() noexcept {
  unsigned eax = 7;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  __asm__("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
  if ((ebx & (1u << 24)) != 0) return {"clwb", FlushClwb};
  if ((ebx & (1u << 23)) != 0) return {"clflushopt", FlushClflushopt};
  return {"clflush", FlushClflush};
}

const FlushChoice& Chosen() noexcept {
  static const FlushChoice choice = Choose();
  return choice;
}

// Lines that this thread flushed to pools with an emulated medium since its last fence of one.
thread_local uint64_t emulated_lines = 0;

void FlushEmulated(uintptr_t first, uintptr_t end) noexcept {
  BRAID_DCHECK(first % kLineBytes == 0 && first < end);  // invariant 1 of persist.h
  emulated_lines += (end - first + kLineBytes - 1) / kLineBytes;
  Chosen().lines(first, end);
}

}  // namespace

const char* FlushInstruction() noexcept { return Chosen().name; }

PersistOps::PersistOps(MediaClass media_class) noexcept { set_media_class(media_class); }

void PersistOps::set_media_class(MediaClass media_class) noexcept {
  media_class_ = media_class;
  flush_lines_ = media_class == MediaClass::kCacheLine ? Chosen().lines : nullptr;
  if (emulates_ && flush_lines_ != nullptr) flush_lines_ = FlushEmulated;
  BRAID_DCHECK((flush_lines_ != nullptr) == (media_class == MediaClass::kCacheLine));
}

Status PersistOps::Emulate(uint32_t write_ns, uint32_t write_mb_s) {
  emulated_write_ns_ = write_ns;
  emulated_write_mb_s_ = write_mb_s;
#if !defined(BRAID_CRASHSIM)
  emulates_ = write_ns != 0 || write_mb_s != 0;
  if (emulates_ && media_class_ != MediaClass::kCacheLine) {
    return Status::InvalidArgument(
        std::string("options.pool.emulate_write_ns and emulate_write_mb_s slow write-backs of "
                    "cache lines down, and a medium of class ") +
        MediaClassName(media_class_) + " has none: set pool.force_media_class=cache_line");
  }
#endif
  set_media_class(media_class_);
  return Status::OK();
}

void PersistOps::WaitAsSlowMedium() noexcept {
  BRAID_DCHECK(emulates_);  // invariant 3
  const uint64_t lines = std::exchange(emulated_lines, 0);
  if (lines == 0) return;
  uint64_t until = NowNanos() + lines * emulated_write_ns_;
  if (emulated_write_mb_s_ != 0) {
    // A queue at the medium: what is flushed now is written when everything before it was.
    const uint64_t cost = lines * kLineBytes * 1000 / emulated_write_mb_s_;
    // relaxed: the value alone counts; nothing is published with it.
    uint64_t busy = emulated_busy_until_.load(std::memory_order_relaxed);
    uint64_t done = 0;
    do {
      done = std::max(busy, NowNanos()) + cost;
    } while (!emulated_busy_until_.compare_exchange_weak(busy, done, std::memory_order_relaxed));
    until = std::max(until, done);
  }
  while (NowNanos() < until) _mm_pause();
}

void PersistOps::StreamLines(void* target, const void* source, size_t n) noexcept {
  BRAID_DCHECK(reinterpret_cast<uintptr_t>(target) % kLineBytes == 0 && n % kLineBytes == 0);
#if !defined(BRAID_CRASHSIM)
  if (flush_lines_ != nullptr) {
    counters_.Add(PersistCounter::kLines, n / kLineBytes);
    if (emulates_) emulated_lines += n / kLineBytes;
    auto* to = static_cast<__m128i*>(target);
    const auto* from = static_cast<const __m128i*>(source);
    for (size_t i = 0; i < n / sizeof(__m128i); ++i) {
      _mm_stream_si128(to + i, _mm_loadu_si128(from + i));
    }
    return;
  }
#endif
  Copy(target, source, n);
  FlushLines(target, n);
}

void PersistOps::WaitForFlushes() noexcept {
  counters_.Add(PersistCounter::kFences);
#if defined(BRAID_CRASHSIM)
  if (hook_ != nullptr) hook_->OnFence();
#endif
  // Page-cache media need no fence: the kernel sees all stores of a process that died.
  if (media_class_ != MediaClass::kPage) _mm_sfence();
  if (emulates_) [[unlikely]]
    WaitAsSlowMedium();
}

}  // namespace braid::media
