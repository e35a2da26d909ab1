// Purpose: the snapshot that says that there was no memory for one, and the look whether a snapshot
// is the database's own. Thread safety: any thread. Persistence: none.
#pragma once

#include <memory>

#include "braid/db.h"

namespace braid::engine {

/// Not null, so that whoever reads at it does not read the newest state. Takes no memory.
std::shared_ptr<const Snapshot> NewFailedSnapshot() noexcept;

/// `owner`: of the database that is to read at the snapshot. Errors: InvalidArgument (another
/// database's), OutOfMemory (one that could not be made).
Status CheckSnapshot(const Snapshot& snapshot, const void* owner) noexcept;

}  // namespace braid::engine
