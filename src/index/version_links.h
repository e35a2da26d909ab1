// Purpose: links between the versions of a key that has many: besides the bottom link, which leads
// to the next older version, a version's upper links lead to older ones that are as tall, as in a
// skip list. In a memtable the writer sets them (LinkOlderVersions); in a table they are the links
// of the list.
// Thread safety: LinkOlderVersions under the lock of the key's place; SkipUnseen concurrently with
// flushes and merges, which change links at any time.
// Invariants:
//   1. An upper link is a hint: wherever it leads, it is followed to an older version of the key
//      only, and one that the view does not see, so that nothing that it sees is passed.
// Persistence: none; what a crash leaves of these links is as good as none.
#pragma once

#include <cstdint>
#include <string_view>

#include "index/read_view.h"
#include "pool/pool.h"

namespace braid::index {

/// Sets links[1] to links[height - 1] of a version that is `height` tall and is to hang before the
/// one at `older`. Zero where there is none. Cost: nothing for three versions of four.
void LinkOlderVersions(const pool::PmemPool& pool, uint64_t older, uint32_t height,
                       uint64_t* links) noexcept;

/// The version that upper links lead to from `entry`, which `view` does not see, past others that
/// it does not see; `entry` itself when they lead nowhere.
const format::EntryHeader* SkipUnseen(const pool::PmemPool& pool, const format::EntryHeader* entry,
                                      std::string_view key, const ReadView& view) noexcept;

}  // namespace braid::index
