// Purpose: from an entry to its value, with all checks, for every engine that keeps entries.
// Thread safety: any thread, while the entry can't be freed. Persistence: none.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "braid/status.h"
#include "index/cursor.h"
#include "pmem/pool.h"

namespace braid::engine {

/// Points `*value` to the value of the entry at `offset`. Corruption when something does not match
/// its check; without `verify` only what is needed to stay within bounds is looked at.
Status ReadStoredValue(const pmem::PmemPool& pool, uint64_t offset, bool verify,
                       std::string_view* value);

/// The values of entries that a cursor has come to within this epoch, one after the other, with the
/// same checks. Ends before the first that is out of the ordinary: deleted, dead, with its value in
/// an extent, or not matching its check. Returns how many came before that.
size_t ReadPlainValues(const pmem::PmemPool& pool, std::span<const index::CursorItem> items,
                       bool verify, std::string_view* values) noexcept;

}  // namespace braid::engine
