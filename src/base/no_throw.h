// Purpose: the border that no exception crosses: what was thrown becomes a Status.
// Thread safety: any thread. Persistence: none.
#pragma once

#include <utility>

#include "braid/status.h"

namespace braid::base {

/// What the exception that is being handled says. Inside a catch clause only. Never throws.
Status StatusOfException() noexcept;

/// Runs `call`, which returns a Status or something made of one.
template <class Call>
auto NoThrow(Call&& call) noexcept -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    return StatusOfException();
  }
}

}  // namespace braid::base
