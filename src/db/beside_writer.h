// Purpose: a database that is read beside the process that writes to it: each look is made inside a
// call that the writer knows of, what was read is copied out, and is an answer only if the writer
// had not taken the tables back by then (pmem/reader_slots.h). Thread safety: that of DB.
// Invariant 1: what a call returns was read before its last look at the slot; from a slot that is
// revoked nothing is returned. Invariant 2: no key or value that is handed out points into the
// pool. Persistence: none.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "braid/db.h"
#include "pmem/reader_slots.h"

namespace braid {

/// How long an open waits for the writer's answer. A variable for the tests: those that are about
/// something else make it longer than any machine takes.
inline std::atomic<std::chrono::seconds> patience_beside_writer{std::chrono::seconds(2)};

/// Opens, to read, a pool that another handle has open for writing; `busy` says so. Errors: Busy,
/// with the reason, when that process does not grant it until `deadline`; TryAgain: it has gone, or
/// has granted and taken back.
Result<std::unique_ptr<DB>> OpenBesideWriter(const Options& options, const std::string& path,
                                             const std::string& order_name, const Status& busy,
                                             pmem::ReaderSlot::Clock::time_point deadline);

}  // namespace braid
