// Purpose: the border that no exception crosses: what was thrown becomes a Status.
// Thread safety: any thread.
// Persistence: none.
#pragma once

#include <type_traits>
#include <utility>

#include "braid/status.h"

namespace braid::base {

/// What the exception that is being handled says. Inside a catch clause only. Never throws.
Status StatusOfException() noexcept;

/// Runs `call`, which returns a Status, something made of one, or nothing: then ok stands for that.
template <class Call>
auto CatchToStatus(Call&& call) noexcept {
  using Outcome = decltype(call());
  try {
    if constexpr (std::is_void_v<Outcome>) {
      std::forward<Call>(call)();
      return Status::OK();
    } else {
      return std::forward<Call>(call)();
    }
  } catch (...) {
    if constexpr (std::is_void_v<Outcome>) {
      return StatusOfException();
    } else {
      return Outcome(StatusOfException());
    }
  }
}

/// Runs `call`; what it throws is of no consequence.
template <class Call>
void IgnoreExceptions(Call&& call) noexcept {
  try {
    std::forward<Call>(call)();
  } catch (...) {
    (void)StatusOfException();
  }
}

}  // namespace braid::base
