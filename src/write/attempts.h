// Purpose: the one loop in which a write is tried until it has written or can't: an attempt may
// meet a memtable that has just become immutable, a range that is being deleted, a pause, or a pool
// that is full.
// Thread safety: any thread, without locks.
// Invariants:
//   1. Each attempt is admitted first, so that no write goes on after writes have ended.
// Persistence: none.
#pragma once

#include <cstdint>
#include <utility>

#include "base/check.h"
#include "braid/status.h"

namespace braid::write {

/// `host` says what an engine does about each: Admit, TimesReclaimed, AwaitTurn after a TryAgain,
/// WaitForSpace, and WhyRefused, which may know a better reason. Errors: whatever these return.
template <class Host, class Attempt>
Status AttemptUntilDone(Host&& host, Attempt&& attempt) {
  for (;;) {
    const uint64_t reclaimed = host.TimesReclaimed();
    // What found no room may have looked while others held it.
    Status s = host.Admit();
    if (!s.ok() && !s.IsOutOfSpace()) return s;
    if (s.ok()) s = attempt();
    if (s.ok()) return s;
    if (s.IsTryAgain()) {
      host.AwaitTurn();
      continue;
    }
    if (s.IsOutOfSpace() && host.WaitForSpace(reclaimed)) continue;
    Status why = host.WhyRefused(std::move(s));
    BRAID_DCHECK(!why.ok());  // nothing was written
    return why;
  }
}

}  // namespace braid::write
