// Purpose: the iterator that is returned when there is no memory for one; its status says so.
// Thread safety: one thread at a time, as for any iterator.
// Persistence: none.
#pragma once

#include <memory>

#include "braid/db.h"

namespace braid::engine {

/// Takes its memory from a small reserve. Null only while the reserve, 64 of them, is in use.
std::unique_ptr<Iterator> NewFailedIterator() noexcept;

}  // namespace braid::engine
