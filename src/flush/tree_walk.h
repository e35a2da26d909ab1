// Purpose: walks a memtable's index, whose keys lie in the pool, in their order: what flushes read.
// Thread safety: the tree is sealed, and the caller keeps the entries.
// Invariants:
//   1. It ends: where keys do not ascend, an entry has changed since it was written: damage.
// Persistence: none.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/entry_index.h"
#include "pool/pool.h"

namespace braid::flush {

/// Entries of one piece of the walk.
inline constexpr size_t kWalkedAtOnce = 64;

/// What is on its way while an entry is looked at. The caller may change it between two of them.
struct WalkAhead {
  size_t entries;  // at most kWalkedAtOnce
  uint64_t bytes;  // of each
};

/// Calls `take` with the offset of each entry, and `between` after every kWalkedAtOnce of them.
/// Errors: those of `take`; Corruption, and that of a pool that has failed. Cost: no allocation.
template <class Take, class Between>
Status WalkTree(const pool::PmemPool& pool, const index::EntryIndex& tree, const WalkAhead& ahead,
                Take&& take, Between&& between) {
  const size_t far = ahead.entries;
  BRAID_DCHECK(far > 0 && far <= kWalkedAtOnce);
  std::array<uint64_t, kWalkedAtOnce> pieces[2];
  const auto ask = [&](uint64_t ref) { base::PrefetchRange(pool.At(ref), ahead.bytes); };
  size_t count = tree.ScanFromStart(pieces[0].data(), kWalkedAtOnce);
  for (size_t i = 0; i < std::min(count, far); ++i) ask(pieces[0][i]);
  for (size_t turn = 0; count > 0; turn ^= 1) {
    const std::array<uint64_t, kWalkedAtOnce>& refs = pieces[turn];
    std::array<uint64_t, kWalkedAtOnce>& next = pieces[turn ^ 1];
    const uint64_t last = refs[count - 1];
    const std::string_view key = pool.KeyAt(last);
    const size_t next_count = tree.ScanForward(key, false, next.data(), kWalkedAtOnce);
    for (size_t i = 0; i < count; ++i) {
      if (i + far < count) {
        ask(refs[i + far]);
      } else if (i + far - count < next_count) {
        ask(next[i + far - count]);
      }
      if (Status s = take(refs[i]); !s.ok()) return s;
    }
    between();
    // The next piece is found by a key in the pool; where that is lost the walk would not end.
    if (pool.failed()) return pool.FaultStatus();
    count = next_count;
    if (count > 0 && pool.KeyAt(next[count - 1]) <= key) {  // invariant 1
      if (pool.failed()) return pool.FaultStatus();
      return pool.CorruptionAt(last, "log entry", "its key has changed since it was written");
    }
  }
  return Status::OK();
}

}  // namespace braid::flush
