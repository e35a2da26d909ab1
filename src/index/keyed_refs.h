// Purpose: refs that a scan has copied from a tree, with what the tree knows of their keys, so that
// several trees can be merged without reading entries.
// Thread safety: one thread.
// Persistence: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"

namespace braid::index {

/// Where a scan begins, and where it goes to.
struct ScanStart {
  bool forward = true;
  bool from_end = false;  ///< at the first key, or the last one; the rest does not matter then
  bool inclusive = true;
  std::string_view key = {};
};

/// What all keys of a leaf have in common: their first bytes.
struct LeafPart {
  static constexpr size_t kWords = 5;

  uint32_t end;            ///< its refs end before this one
  uint32_t prefix_length;  ///< bytes
  uint32_t length;         ///< of each of its keys, where that is known to be one; else kMixed
  std::array<uint64_t, kWords> prefix;  ///< big-endian words, zeros behind the prefix

  static constexpr uint32_t kMixed = 63;

  /// Whether prefix and head are all of each key.
  bool is_whole() const noexcept { return length != kMixed && length <= prefix_length + 8; }
};

/// Refs of keys in order, and the heads of these: the eight bytes behind the prefix of their part,
/// as a big-endian number, short keys padded with zeros.
struct KeyedRefs {
  static constexpr size_t kMost = 192;
  static constexpr size_t kMostParts = 8;

  size_t count = 0;
  size_t parts = 0;
  std::array<LeafPart, kMostParts> part;
  std::array<uint64_t, kMost> heads;
  std::array<uint64_t, kMost> refs;

  KeyedRefs() noexcept {}  // NOLINT(modernize-use-equals-default): the arrays stay as they are
};

}  // namespace braid::index
