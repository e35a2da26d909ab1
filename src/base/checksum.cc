// Purpose: the hash of many bytes, by what the processor has.
// Thread safety: pure functions.
// Persistence: all ways lead to the same hash.
#include "base/checksum.h"

#include "base/hash_avx2.h"

namespace braid::base::internal {

uint64_t HashLong(const void* bytes, size_t n) noexcept {
#if defined(__x86_64__)
  // One load: the C library's start has asked the processor.
  if (__builtin_cpu_supports("avx2")) return HashAvx2(bytes, n);
#endif
  return XXH3_64bits(bytes, n);
}

}  // namespace braid::base::internal
