// Purpose: BRAID_CHECK, for programmer errors: states that no input and no medium can bring about.
// Bytes read from a pool are never checked with it; they give Status::Corruption.
// Thread safety: none needed. Persistence: none.
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
