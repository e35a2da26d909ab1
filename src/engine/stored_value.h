// Purpose: from an entry to its value, with all checks, for every engine that keeps entries.
// Thread safety: any thread, while the entry can't be freed.
// Persistence: none.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "braid/status.h"
#include "index/cursor.h"
#include "pool/pool.h"

namespace braid::engine {

/// Points `*value` to the value of the entry at `offset`. Corruption when something does not match
/// its check; without `verify` only what is needed to stay within bounds is looked at.
Status ReadStoredValue(const pool::PmemPool& pool, uint64_t offset, bool verify,
                       std::string_view* value);

/// How many of the entries that a cursor has come to within this epoch have their values in them
/// as they stand, by the same checks: those before the first that is deleted, obsolete, damaged, or
/// has its value in an extent.
size_t PlainValues(const pool::PmemPool& pool, std::span<const index::CursorItem> items,
                   bool verify) noexcept;

}  // namespace braid::engine
