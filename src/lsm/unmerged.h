// Purpose: says what is not merged yet: which tables hold keys of a range, and how many entries
// there are in them. Memtables count as tables.
// Thread safety: any thread; each answer is of one version.
// Persistence: none.
#pragma once

#include <cstdint>
#include <optional>

#include "braid/status.h"
#include "level/version_set.h"

namespace braid::lsm {

/// Whether the memtable that is written to has keys from `begin` to before `end`; none: no bound.
bool MemTableHasKeys(level::VersionSet* versions, std::optional<Slice> begin,
                     std::optional<Slice> end);

/// The newest table with such keys of those that are to be merged, immutable memtables included;
/// 0: there is none.
uint64_t NewestTableWithKeys(level::VersionSet* versions, std::optional<Slice> begin,
                             std::optional<Slice> end);

/// In tables up to this one, immutable memtables included.
uint64_t EntriesToMerge(level::VersionSet* versions, uint64_t tables);

}  // namespace braid::lsm
