// Purpose: a cursor over the keys of one tree or of several together.
// Thread safety: one thread at a time; the caller keeps the entries alive (a registered view).
// Persistence: none.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "index/cursor.h"
#include "index/read_view.h"
#include "index/tree_merge.h"

namespace braid::index {

/// Trees that one cursor takes, at most.
inline constexpr size_t kMostSources = 64;

/// A cursor over `sources`, newest first, one at least; of several, each must know its keys. Of a
/// key it shows the newest version that `view` sees, in whichever of them. Throws std::bad_alloc.
std::unique_ptr<Cursor> NewTreeCursor(const pool::PmemPool* pool, std::vector<TreeSource> sources,
                                      const ReadView& view);

}  // namespace braid::index
