// Purpose: inserts the entries of logs into a memtable, in key order, so that each insert is near
// the one before, and threads work in different parts of the tree.
// Thread safety: exclusive access to the entries, except for the threads that it creates.
// Invariants:
//   1. All versions of a key are inserted by one thread, the oldest first; a key that was written
//      from many shards would otherwise cost a walk over its versions for each of them.
//   2. No order of keys and no choice of threads changes what the memtable holds.
// Persistence: nothing is committed, obsolete marks that an uncommitted flush has left are taken
// back in the caches only; see Insert.
// Source: ListDB 6.7, Algorithm 8.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "log/log_reader.h"
#include "memtable/recovered_entries.h"

namespace braid::recovery {

/// Runs work(0) ... work(parts - 1) in up to `threads` threads, in as many as can be had.
Status OnThreads(size_t threads, size_t parts, const std::function<void(size_t)>& work);

class Replay {
 public:
  Replay(pool::PmemPool* pool, memtable::RecoveredEntries* entries,
         const std::vector<log::ShardLog>* logs, size_t threads)
      : pool_(pool), entries_(entries), logs_(logs), threads_(threads), parts_(logs->size()) {}

  Status Run();

 private:
  struct Replayed {
    uint64_t head;  // of the key, behind what all keys have in common
    uint64_t sequence;
    uint64_t offset;
  };

  std::string_view KeyOf(size_t log, size_t i) const {
    return pool_->KeyAt((*logs_)[log].committed[i]);
  }
  uint64_t HeadOf(std::string_view key) const noexcept;
  Status FindCommonPrefix();
  void ChooseBounds();
  void Divide(size_t log);
  void InsertPart(size_t part);
  uint64_t Insert(uint64_t offset);

  pool::PmemPool* pool_;
  memtable::RecoveredEntries* entries_;
  const std::vector<log::ShardLog>* logs_;
  size_t threads_;
  size_t common_ = 0;             // bytes that all keys begin with
  std::vector<uint64_t> bounds_;  // first head of each part but the first; empty: parts by hash
  std::vector<std::vector<std::vector<Replayed>>> parts_;  // [log][part]: a key has one part
};

}  // namespace braid::recovery
