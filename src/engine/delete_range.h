// Purpose: the range of keys that a DeleteRange under way keeps for itself, and those that its next
// batch deletes. Thread safety: made and ended by the thread that deletes; the range is read by
// writers under their shard lock, so that it may live on that thread's stack (delete_range.cc).
// Persistence: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "braid/status.h"
#include "log/index_unified_log.h"

namespace braid::engine {

struct KeyRange {
  Slice begin;
  std::optional<Slice> end;  // exclusive; none: to the last key

  bool Covers(Slice key) const noexcept { return key >= begin && (!end || key < *end); }
};

/// Copies of the keys of a batch, in order: their entries may be gone before it is written.
struct KeysToDelete {
  std::string bytes;
  std::vector<size_t> ends;  // of each key in `bytes`
  bool is_last = false;      // the range has no keys behind them

  void Clear() {
    bytes.clear();
    ends.clear();
    is_last = false;
  }
  void Add(Slice key) {
    bytes.append(key);
    ends.push_back(bytes.size());
  }
  Slice Key(size_t i) const {
    const size_t begin = i == 0 ? 0 : ends[i - 1];
    return Slice(bytes).substr(begin, ends[i] - begin);
  }
  /// Point to the keys.
  std::vector<log::Draft> Drafts() const {
    std::vector<log::Draft> drafts(ends.size());
    for (size_t i = 0; i < drafts.size(); ++i) {
      drafts[i].op = format::EntryOp::kDelete;
      drafts[i].key = Key(i);
      drafts[i].key_hash = base::Hash64(drafts[i].key);
    }
    return drafts;
  }
};

}  // namespace braid::engine
