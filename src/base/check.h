// Purpose: BRAID_CHECK, for programmer errors: states that no input and no medium can cause. Bytes
// read from a pool are never checked with it; they give Status::Corruption. BRAID_DCHECK is the
// same in builds with assertions and in the simulator's, and nothing in others: for what costs more
// than a compare, and for invariants that stand in the way of a fast path.
// Thread safety: none needed.
// Persistence: none.
#pragma once

namespace braid::base {

/// Writes the failed condition to stderr and ends the process.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line) noexcept;

}  // namespace braid::base

#define BRAID_CHECK(condition)                                    \
  do {                                                            \
    if (__builtin_expect(!(condition), 0)) {                      \
      ::braid::base::CheckFailed(#condition, __FILE__, __LINE__); \
    }                                                             \
  } while (false)

#if !defined(NDEBUG) || defined(BRAID_CRASHSIM)
#define BRAID_DCHECK(condition) BRAID_CHECK(condition)
#else
#define BRAID_DCHECK(condition) \
  do {                          \
    (void)sizeof(!(condition)); \
  } while (false)
#endif
