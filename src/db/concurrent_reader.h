// Purpose: a database that is read while another process writes to it: each look is made inside a
// call that the writer knows of, what was read is copied out, and is an answer only if the writer
// had not taken the tables back by then (media/reader_slots.h).
// Thread safety: that of DB.
// Invariants:
//   1. What a call returns was read before its last look at the slot; from a slot that is revoked
//      nothing is returned.
//   2. No key or value that is handed out points into the pool.
// Persistence: none.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "braid/db.h"
#include "media/reader_slots.h"

namespace braid {

/// How long an open waits for the writer's answer. A variable for the tests: those that are about
/// something else make it longer than any machine takes.
inline std::atomic<std::chrono::seconds> concurrent_reader_patience{std::chrono::seconds(2)};

/// Opens, to read, a pool that another handle has open for writing; `busy` says so. Errors: Busy,
/// with the reason, when that process does not grant it until `deadline`; TryAgain: it has gone, or
/// has granted and taken back.
Result<std::unique_ptr<DB>> OpenConcurrentReader(const Options& options, const std::string& path,
                                                 const std::string& order_name, const Status& busy,
                                                 media::ReaderSlot::Clock::time_point deadline);

}  // namespace braid
