// Purpose: copies the segments of a closed pool to another folder, byte by byte.
// Thread safety: one thread.
// Persistence: the files are synced; the caller gives the folder its name.
#pragma once

#include <functional>
#include <string>

#include "media/pool_image.h"

namespace braid::media {

/// Copies all segments of the pool at `path`, which `image` holds, to the new folder `target`,
/// those of all regions. All blocks of the new files are its own (a mapped file that shares blocks,
/// or has holes, could meet a full device at any store). Errors: Corruption (a segment is missing,
/// or its medium can't read it), OutOfSpace, IOError.
Status CopySegments(const PoolImage& image, const std::string& path, const std::string& target,
                    const std::function<void(double share)>& progress);

}  // namespace braid::media
