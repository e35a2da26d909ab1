// Purpose: making a pool under another name and giving it its own when it is whole.
// Thread safety: pure except for the files.
// Persistence: the rename is the commit point; what it names is durable before it, and it is when
// TakePlace returns.
#pragma once

#include <string>

#include "braid/status.h"

namespace braid {

std::string WithoutSlash(std::string path);

/// Nothing lies at `path`, or an empty directory.
bool IsMissingOrEmpty(const std::string& path);

/// InvalidArgument unless IsMissingOrEmpty.
Status CheckPlace(const std::string& target);

/// InvalidArgument when `target` would lie inside a folder of the pool `source`.
Status CheckApart(const std::string& source, const std::string& target);

/// renameat2: with RENAME_NOREPLACE nothing may be at `to`, with RENAME_EXCHANGE both are swapped.
Status Rename(const std::string& from, const std::string& to, unsigned flags);

/// Syncs the files of the finished pool at `from` and gives it the name `to`, where nothing or an
/// empty directory lies. When it fails the pool is removed.
Status TakePlace(const std::string& from, const std::string& to);

/// Removes what an attempt that was interrupted has left at `path`, a name of our own: as Destroy,
/// and also a folder in which no segment was made yet.
Status RemoveInterrupted(const std::string& path);

/// Removes the unfinished pool; `reason` is what the error message says.
Status RemoveUnfinished(const std::string& path, Status reason);

}  // namespace braid
