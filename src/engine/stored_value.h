// Purpose: from an entry to its value, with all checks, for every engine that keeps entries.
// Thread safety: any thread, while the entry can't be freed. Persistence: none.
#pragma once

#include <string_view>

#include "braid/status.h"
#include "pmem/pool.h"

namespace braid::engine {

/// Points `*value` to the value of the entry at `offset`. Corruption when something does not match
/// its check; without `verify` only what is needed to stay within bounds is looked at.
Status ReadStoredValue(const pmem::PmemPool& pool, uint64_t offset, bool verify,
                       std::string_view* value);

}  // namespace braid::engine
