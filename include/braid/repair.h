// Purpose: the arguments and results of DB::Repair.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/comparator.h"
#include "braid/key_order.h"
#include "braid/status.h"

namespace braid {

/// How a damaged pool is read.
struct RepairOptions {
  /// Bytes of a chunk of the damaged pool, when it is known and the headers that say so are gone;
  /// 0: take it from the headers, or find it out from the chunks.
  uint64_t chunk_bytes = 0;
  /// The order of keys that the damaged pool was made with. With it, RepairFinding::key is the
  /// caller's key, otherwise it is the encoded one. The new pool gets the order that an intact
  /// header names, which this must match (InvalidArgument); where no header is intact it gets this
  /// one, and byte order when this is null.
  std::shared_ptr<const KeyOrder> key_order;
  /// The same of a pool that was made with DB::OpenWithComparator; not both. Without it such a pool
  /// is repaired as well, where a header is intact. Its index of keys is not salvaged but made
  /// again by the next open. A finding's key is the caller's.
  std::shared_ptr<const Comparator> comparator;
  /// Folder of the tier that the new pool is to have, empty or not there yet; with it,
  /// Options::pool.max_bytes must be set. Empty: all goes into the new pool. That of the damaged
  /// pool is Options::tier.path: it is read, and not changed; where that is empty, what it has is
  /// left out, and a finding says so.
  std::string new_tier;
  /// Called now and then with the share done, 0 to 1; may be empty.
  std::function<void(double share)> progress;
};

/// One damaged place of a pool.
struct RepairFinding {
  std::string file;     ///< name within the pool's directory
  uint64_t offset = 0;  ///< of the damage in the file
  uint64_t bytes = 0;   ///< how many are concerned; 0 when that is not known
  std::string object;   ///< "entry", "chunk state 7", "manifest copy 1", ...
  std::string problem;
  std::optional<std::string> key;  ///< whose version this is, when the key is readable
  bool lost = false;               ///< the pool may have held something here that is lost

  /// "segment-000000+0x1f0: entry: ...", for people. The key is left out: it may be any bytes.
  std::string ToString() const;
};

/// What DB::Repair salvaged and what it could not.
struct RepairReport {
  uint64_t segments = 0;      ///< files that were read
  uint64_t chunk_bytes = 0;   ///< of the damaged pool
  uint64_t chunks = 0;        ///< chunks of entries that were read
  uint64_t entries = 0;       ///< intact entries found, all versions, obsolete ones included
  uint64_t records = 0;       ///< keys in the new pool
  uint64_t tier_records = 0;  ///< those of them whose value was in the damaged pool's tier
  uint64_t bytes = 0;         ///< of their keys and values
  uint64_t unreadable = 0;    ///< bytes the medium refused to read
  std::vector<RepairFinding> findings;

  /// Findings behind which data may be lost.
  uint64_t losses() const noexcept;
};

}  // namespace braid
