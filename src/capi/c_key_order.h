// Purpose: orders of keys as the C API needs them.
// Thread safety: as the iterator's.
// Persistence: none.
#pragma once

#include <memory>

#include "braid/db.h"

namespace braid::capi {

/// The iterator of a database in `order`, which must outlive it, with keys as the store has them:
/// in byte order, which is what estimates are made of. Seeks take encoded keys too.
std::unique_ptr<Iterator> EncodedView(std::unique_ptr<Iterator> iterator, const KeyOrder* order);

}  // namespace braid::capi
