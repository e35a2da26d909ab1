// Purpose: how many bytes of keys and values lie in key ranges, without reading all of a large one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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

/// What DB::ApproximateSizes answers for `db`, in the order of `comparator` (null: of bytes). All
/// ranges are measured at one moment, so that the sizes of neighbours add up. Errors: those of the
/// iterator; then all sizes are 0.
Status ApproximateSizesOf(DB* db, const Comparator* comparator, std::span<const KeyRange> ranges,
                          uint64_t* sizes);

}  // namespace braid
