// Purpose: the folders of a pool's regions. Those of regions behind the first are named in the file
// "regions" of the pool's own folder, a line "region <number> <absolute path>" each; a file
// "region" in each of them names the pool it belongs to.
// Thread safety: the caller has the pool's lock, or reads only.
// Invariants:
//   1. A folder belongs to at most one pool.
// Persistence: the file is written whole under another name and renamed; it is durable before the
// pool's first segment is published, so a pool that exists knows its folders.
#pragma once

#include <string>
#include <vector>

#include "braid/status.h"

namespace braid::media {

inline constexpr const char* kRegionsFileName = "regions";
inline constexpr const char* kRegionMarkName = "region";

/// Folders of the regions behind the first; empty when all lie in the pool's own folder. Errors:
/// Corruption (the file can't be read as such), IOError.
Result<std::vector<std::string>> ReadRegionFolders(const std::string& pool);

/// For a new pool: makes folders that are missing, marks them as the pool's, removes what an
/// unfinished creation of this pool left in them, and writes the file. Errors: InvalidArgument (a
/// folder that holds something, or belongs to another pool), IOError.
Status MakeRegionFolders(const std::string& pool, const std::vector<std::string>& folders);

/// Removes the segments in the pool's region folders, and the folders where nothing else is in
/// them; the file stays. A folder that is gone is no error: so it can be repeated. InvalidArgument,
/// and nothing is removed, when they belong to a pool that this one is a copy of.
Status RemoveRegionFolders(const std::string& pool);

/// `path` as the file names it: absolute, without links and dots as far as it exists.
std::string AbsolutePath(const std::string& path);

}  // namespace braid::media
