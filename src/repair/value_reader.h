// Purpose: the values of a damaged pool's entries: whether they are intact, and where they are, in
// the entry, in another one, or in an extent.
// Thread safety: one thread.
// Invariants:
//   1. No byte of an extent is read before it is known that a file holds it.
//   2. No two intact extents share a byte. So each is read once, whatever entries name; and what is
//      read of others is bounded by the size of the files.
// Persistence: none.
#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "format/entry.h"
#include "media/pool_image.h"

namespace braid::repair {

class ValueReader {
 public:
  /// `image` is mapped, and outlives it.
  explicit ValueReader(const media::PoolImage& image);

  /// `entry`: its header and key are intact; `live`: it is not obsolete.
  bool IsIntact(const format::EntryHeader& entry, bool live);
  /// Of an entry whose value is intact.
  std::string_view ValueOf(const format::EntryHeader& entry) const;
  /// The extent that an entry names; nothing when its value lies in the entry, or the reference is
  /// damaged.
  static std::optional<format::ExtentRef> ExtentOf(const format::EntryHeader& entry) noexcept;

 private:
  struct Extent {
    uint64_t end = 0;
    uint64_t check = 0;
  };
  bool ExtentIsIntact(const format::ExtentRef& ref);
  /// The entry that holds the value of one that refers to it; null when there is none like it.
  const format::EntryHeader* HolderOf(const format::EntryHeader& node) const noexcept;

  const media::PoolImage& image_;
  std::map<uint64_t, Extent> intact_;  // by the begin of their bytes
  uint64_t bytes_left_ = 0;            // of extents, that may still be read
};

}  // namespace braid::repair
