// Purpose: the iterator that says that there was no memory for one.
// Thread safety: one thread at a time, as for any iterator.
// Persistence: none.
#pragma once

#include <memory>

#include "braid/db.h"

namespace braid::engine {

/// Takes its memory from a small reserve. Null only while the reserve, 64 of them, is in use.
std::unique_ptr<Iterator> NewFailedIterator() noexcept;

}  // namespace braid::engine
