// Purpose: XXH3, 64 bits, for processors with AVX2, twice as fast as with what every x86-64 has.
// Thread safety: pure functions.
// Persistence: none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace braid::base::internal {

/// Only where the processor has AVX2.
uint64_t HashAvx2(const void* bytes, size_t n) noexcept;

}  // namespace braid::base::internal
