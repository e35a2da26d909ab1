// Purpose: KeyOrder, an order of keys other than that of their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "braid/status.h"

namespace braid {

/// Name of the order that a pool has when none is given to DB::Open: that of the keys' bytes, each
/// from 0 to 255, a key before the longer ones that begin with it.
inline constexpr std::string_view kBytewiseOrder = "bytewise";

/// Bytes of the longest name of an order.
inline constexpr size_t kMaxKeyOrderName = 23;

/// An order of keys, as an encoding: the store compares bytes, everywhere, and keeps what Encode
/// makes of a key in its place. So an order costs an Encode a call and a Decode a step of an
/// iterator, and none of the structures of the store has to know of it. Given to DB::Open; from
/// then on all calls take and give the caller's keys, in this order. One object may serve several
/// databases and is called from any thread, several at a time. The name is kept in the pool, which
/// is refused when it is opened with another order. Of a name there must be only one order, ever:
/// give a changed order a new one.
///
/// What must hold, for all keys a and b that Encode takes
/// (docs/internals/decisions/0017-key-orders.md):
///   1. a is before b exactly when Encode(a) is before Encode(b) byte by byte, as in std::string.
///   2. Decode(Encode(a)) is a, or a key that encodes alike: keys that do are one key.
///   3. Both are functions of their argument alone, today and in the next release.
class KeyOrder {
 public:
  virtual ~KeyOrder() = default;

  /// 1 to 23 printable characters of ASCII, none of them that of a built-in order.
  virtual std::string_view Name() const = 0;

  /// Puts the encoded key into `*out`, which is empty. At most kMaxKeyBytes. InvalidArgument for
  /// what is no key of this order, with what it should be: the call that brought the key returns
  /// it, and changes nothing.
  virtual Status Encode(Slice key, std::string* out) const = 0;

  /// Puts the key that `encoded` stands for into `*out`, which is empty. Corruption for what Encode
  /// never makes.
  virtual Status Decode(Slice encoded, std::string* out) const = 0;
};

/// Keys from the last to the first in byte order: "b", "ab", "a", "". Takes any bytes. Encoded, a
/// key has 2 bytes more, and 1 for each of its zero bytes. Named "reverse-bytewise".
std::shared_ptr<const KeyOrder> ReverseBytewiseOrder();

/// A width and kind of integers.
enum class IntegerKind : uint8_t { kUint32, kInt32, kUint64, kInt64 };

/// Keys that are integers as they lie in the memory of a little-endian machine, by value: of 4 or 8
/// bytes, other lengths are refused; signed ones in two's complement. Encoded, a key has the same
/// length. Named "uint32-le", "int32-le", "uint64-le" and "int64-le".
std::shared_ptr<const KeyOrder> IntegerOrder(IntegerKind kind);

/// The built-in order of that name; null when there is none, as for "bytewise".
std::shared_ptr<const KeyOrder> FindKeyOrder(std::string_view name);

/// Names of the built-in orders.
std::vector<std::string_view> KeyOrderNames();

}  // namespace braid
