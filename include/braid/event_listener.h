// Purpose: EventListener, callbacks for background events: flushes, merges, stalls, errors.
#pragma once

#include <cstdint>

#include "braid/status.h"

namespace braid {

/// Override what you need, and give it to Options::listener. Called from the background threads,
/// which all databases of a process share, and from those that write, several at a time; it must
/// return soon (a call delays the work that it reports), must not throw, must not call back into
/// the database, nor wait for the background of another. It lives at least as long as the database.
/// Designs without a memtable report recovery and stalls only.
class EventListener {
 public:
  /// A memtable has become a table in persistent memory.
  struct Flush {
    uint64_t entries = 0;
    uint64_t nanos = 0;  ///< it took
  };
  /// A table has been merged into the lowest level, or several at once: those whose ranges of keys
  /// lie apart, or all of L0 where it has about as many entries as L1.
  struct Merge {
    uint64_t tables = 1;  ///< merged at once
    uint64_t entries = 0;
    uint64_t nanos = 0;  ///< it took
  };
  /// A write was held back for a millisecond or longer, since the background was behind, or the
  /// pool full. Shorter ones are in the statistics only.
  struct Stall {
    uint64_t nanos = 0;
  };
  /// The database is open.
  struct Recovery {
    bool clean = false;             ///< it had been closed in order
    uint64_t replayed_entries = 0;  ///< of the log, into memtables
    uint64_t micros = 0;            ///< the open took
    /// Its memory was shut down dirty while it was open: acknowledged writes may be missing. The
    /// open has verified all of it, and found no damage.
    bool media_loss_possible = false;
  };

  virtual ~EventListener() = default;
  virtual void OnFlush(const Flush&) noexcept {}
  virtual void OnMerge(const Merge&) noexcept {}
  virtual void OnStall(const Stall&) noexcept {}
  virtual void OnRecovery(const Recovery&) noexcept {}
  /// Writes end with this error until the database is opened again; reads go on.
  virtual void OnBackgroundError(const Status&) noexcept {}
};

}  // namespace braid
