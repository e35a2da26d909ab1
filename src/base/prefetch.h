// Purpose: asks for cache lines ahead of their use.
// Thread safety: pure.
// Persistence: none; nothing is read, so that the crash simulator does not see it.
// Why not the compiler's builtin: g++ 12 takes a function that does nothing but prefetch for one
// without effect, and removes calls of it that it does not inline.
#pragma once

#include <cstdint>

namespace braid::base {

/// The line that holds `address`, which need not be mapped.
inline void Prefetch(const void* address) noexcept {
  // No load: the operand only names the address. Hence no "memory" clobber either.
  asm volatile("prefetcht0 %0" : : "m"(*static_cast<const char*>(address)));
}

/// The lines of `bytes` bytes from `address` on.
inline void PrefetchRange(const void* address, uint64_t bytes) noexcept {
  const auto* at = reinterpret_cast<const char*>(reinterpret_cast<uintptr_t>(address) & ~63ull);
  const char* end = static_cast<const char*>(address) + bytes;
  for (; at < end; at += 64) Prefetch(at);
}

}  // namespace braid::base
