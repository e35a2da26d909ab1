// Purpose: XXH3 with AVX2, in the one file that is compiled for it (cmake/BraidFlags.cmake).
// Thread safety, persistence: see hash_avx2.h.
// Invariants:
//   1. Nothing that others may share is in here: it would run where there is no AVX2. So it
//      includes no more than it must.
#include "base/hash_avx2.h"

#if defined(__AVX2__)

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace braid::base::internal {

uint64_t HashAvx2(const void* bytes, size_t n) noexcept { return XXH3_64bits(bytes, n); }

}  // namespace braid::base::internal

#endif
