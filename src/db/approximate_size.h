// Purpose: how many bytes of keys and values lie in a key range, without reading all of a large
// one.
#pragma once

#include <cstdint>
#include <optional>

#include "braid/db.h"

namespace braid {

/// Entries of a range that are read; up to here the size is exact.
inline constexpr uint64_t kMaxEntriesRead = 16384;

/// Key and value bytes of the entries from `start` (inclusive) to `limit` (exclusive; none: to the
/// last), at the iterator's snapshot. Beyond kMaxEntriesRead the rest is extrapolated from the
/// density of the keys read, and `total_entries`, an upper bound of what the database holds, caps
/// the result. Moves the iterator. 0 when the iterator fails.
uint64_t ApproximateSize(Iterator* iterator, Slice start, std::optional<Slice> limit,
                         uint64_t total_entries);

/// The same in the order of a comparator, which says nothing about how far two keys are apart: a
/// range of more than kMaxEntriesRead entries is taken for half of what is left beside them.
uint64_t ApproximateSizeBy(const Comparator& comparator, Iterator* iterator, Slice start,
                           std::optional<Slice> limit, uint64_t total_entries);

}  // namespace braid
