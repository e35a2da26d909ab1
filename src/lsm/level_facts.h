// Purpose: what there is to know of levels below L0 where there are several: for the next plan, and
// for what slows writers down.
// Thread safety: any thread, for a state that the caller has.
// Persistence: none.
#pragma once

#include <optional>

#include "compaction/picker.h"
#include "lsm/lsm_store.h"

namespace braid::lsm {

/// What the background is behind by, in tables of L0: those that are there, and, where L1 has grown
/// far beyond its size, what it has too much. That alone slows writers down and never stops them.
/// Source: ZipperDB 5.2.2.5.
uint64_t TablesBehind(const LsmStore& store, const level::ReadState& state);

/// Whether tables of L0 may be merged side by side, `most` at a time. Not where a merge is more
/// than links, or nothing but a few; nor where the index over the bottom may have to shrink while
/// it runs.
bool MayMergeSideBySide(const LsmStore& store, const level::VersionSet::ConstLocked& versions,
                        size_t most);

/// How the tables of L0 are merged, and whether they are let wait.
void TellOfMerges(LsmStore* store, compaction::StoreFacts* facts);

/// The tables of all levels. Somebody waits for those with ids up to `awaited`. `with_ranges`: of
/// keys, where a table of L0 is worth a thread of its own.
void TellOfTables(const LsmStore& store, const level::VersionSet::ConstLocked& versions,
                  std::optional<uint64_t> awaited, bool with_ranges, compaction::StoreFacts* facts);

/// What the next plan has to know of lists between L0 and the bottom.
void TellOfLists(const LsmStore& store, const level::VersionSet::ConstLocked& versions,
                 compaction::StoreFacts* facts);

}  // namespace braid::lsm
