// Purpose: the flush loops and the fence; the only file with write-back instructions.
// Thread safety: any thread. Persistence: see persist.h.
#include "pmem/persist.h"

#include <immintrin.h>

namespace braid::pmem {
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

}  // namespace

const char* FlushInstruction() noexcept { return Chosen().name; }

PersistOps::PersistOps(MediaClass media_class) noexcept { set_media_class(media_class); }

void PersistOps::set_media_class(MediaClass media_class) noexcept {
  media_class_ = media_class;
  flush_lines_ = media_class == MediaClass::kCacheLine ? Chosen().lines : nullptr;
}

void PersistOps::Fence() noexcept {
  counters_.Add(PersistCounter::kFences);
#if defined(BRAID_CRASHSIM)
  if (hook_ != nullptr) hook_->OnFence();
#endif
  // Page-cache media need no fence: the kernel sees all stores of a process that died.
  if (media_class_ != MediaClass::kPage) _mm_sfence();
}

}  // namespace braid::pmem
