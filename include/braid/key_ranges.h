// Purpose: ranges of keys: those that begin with a prefix, and those of a time and older.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "braid/options.h"
#include "braid/status.h"

namespace braid {

class DB;

/// Keys from `begin` to before `end`; none: to the last one. The bytes are the caller's.
struct KeyRange {
  Slice begin;
  std::optional<Slice> end;
};

/// The first key, in byte order, behind all that begin with `prefix`; none: there is no key behind
/// them (the prefix is empty, or nothing but 0xFF).
std::optional<std::string> PrefixUpperBound(Slice prefix);

/// Bounds for an iterator over the keys that begin with `prefix`, in byte order. Copies the prefix;
/// for a scan without allocations give ReadOptions::lower_slice and upper_slice.
ReadOptions PrefixBounds(Slice prefix);

/// A key that is ordered by time: `prefix`, then `time` in eight bytes, the most significant first,
/// then `rest`, which tells keys of the same time apart. In byte order the keys of a prefix lie
/// oldest first, for any unit of time.
std::string TimeKey(Slice prefix, uint64_t time, Slice rest = {});
/// The time in a key of TimeKey with this prefix; none: it is not one.
std::optional<uint64_t> TimeOfKey(Slice prefix, Slice key);

/// Deletes what is over: the keys of TimeKey with this prefix whose time is before `time`.
/// `*deleted` (may be null) becomes their number. It is one DB::DeleteRange, with its steps, errors
/// and cost: a scan of the keys that go, and no work for those that stay, so that calling it often
/// costs no more than calling it seldom. Space comes back as merges and collection go by. For
/// databases in byte order.
Status ExpireBefore(DB* db, const WriteOptions& options, Slice prefix, uint64_t time,
                    uint64_t* deleted = nullptr);

}  // namespace braid
