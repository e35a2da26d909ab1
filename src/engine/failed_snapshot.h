// Purpose: snapshots whose status says why there is none (no memory, a closed database, ...), and
// the check whether a snapshot belongs to the database.
// Thread safety: any thread.
// Persistence: none.
#pragma once

#include <memory>

#include "braid/db.h"

namespace braid::engine {

/// Not null, so that a read at it does not read the newest state. Takes no memory.
std::shared_ptr<const Snapshot> NewFailedSnapshot() noexcept;
/// The same for another reason, which is not ok. Throws std::bad_alloc.
std::shared_ptr<const Snapshot> NewFailedSnapshot(Status why);
/// The same for a design that has none; takes no memory.
std::shared_ptr<const Snapshot> NewUnsupportedSnapshot() noexcept;

/// `owner`: of the database that is to read at the snapshot. Errors: InvalidArgument (another
/// database's), or why it could not be made.
Status CheckSnapshot(const Snapshot& snapshot, const void* owner) noexcept;

}  // namespace braid::engine
