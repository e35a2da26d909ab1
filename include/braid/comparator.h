// Purpose: Comparator, an order of keys that a function of the caller decides.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "braid/status.h"

namespace braid {

/// Bytes of the longest name of a comparator.
inline constexpr size_t kMaxComparatorName = 255;

/// An order of keys, as LevelDB, RocksDB and LMDB take it: a function that compares two of them.
/// Given to DB::OpenWithComparator; a pool keeps the name, and is refused when it is opened with
/// another one. Of a name there must be only one comparator, ever: give a changed one a new name.
///
/// Slower than a KeyOrder (key_order.h), which is the better choice wherever an encoding of the
/// keys sorts as they shall: the store keeps the order of these keys in a tree of its own. A put of
/// a new key, and a delete, write a node of it, 2 KiB on the average, and take turns with all other
/// writes; an iterator's step costs a lookup; a lookup that finds nothing costs a walk down the
/// tree, some twenty calls of Compare (docs/internals/decisions/0042-comparators.md has what was
/// measured).
///
/// What must hold, for all keys: Compare is a function of its arguments alone, today and in the
/// next release; it is a total order, in which keys that compare as equal are one key: a put of the
/// one takes the place of the other. A comparator that breaks this shows keys in a wrong order,
/// twice, or not at all, and harms nothing but its own pool; DB::Verify reports it. One that throws
/// ends the call, which then changes nothing.
class Comparator {
 public:
  virtual ~Comparator() = default;

  /// 1 to 255 bytes, none of them zero.
  virtual std::string_view Name() const = 0;

  /// Below 0, 0, above 0: `a` comes before `b`, is the same key, comes behind it. Called from any
  /// thread, several at a time, and within calls of the database: it must not call that itself.
  virtual int Compare(Slice a, Slice b) const = 0;
};

}  // namespace braid
