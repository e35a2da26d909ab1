// Purpose: how much of the oldest table of L0 newer tables overwrite: whether its merge is to wait
// for one more of them, whether all of it is obsolete, and which newer versions a merge may ask
// for.
// Thread safety: the compaction thread.
// Persistence: none.
// Source: braid's (docs/internals/decisions/0071, 0080).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "index/newer_versions.h"
#include "level/version_set.h"
#include "level/view_registry.h"

namespace braid::compaction {

class Overwrites {
 public:
  /// What is asked, and outlives it.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    const level::VersionSet* versions;
    level::ViewRegistry* views;
    const std::atomic<uint64_t>* sequence;  // last one drawn
    std::function<uint64_t()> reads;        // so far; empty: nobody counts them
    const std::atomic<bool>* stop;          // who is asked for long gives up
  };

  explicit Overwrites(Store store) : store_(std::move(store)) {}

  /// Tables of L0 up to which the oldest one waits.
  static constexpr size_t kMostWaiting = 5;

  /// The tables that are newer than this one, and the current views.
  index::NewerVersions::Horizon NewerThan(uint64_t table_id) const;
  /// Whether newer tables have many of the keys of a table, by some from either end: then a merge,
  /// which leaves these out, is less work in the end than to adopt it. True, too, where there is no
  /// telling.
  bool IsOverwritten(const level::ReadState& state, const level::PmemTable& table) const;
  /// Whether no reader needs anything of the oldest table of L0: newer ones have all of its keys,
  /// in versions that all views see. So it stays. Cost: a merge of their trees, which reads hardly
  /// any entry, up to the first key that is needed. False when it was stopped. Throws
  /// std::bad_alloc.
  bool IsObsolete(const level::ReadState& state) const;
  /// Whether the merge of the oldest table of L0 is to wait, since the next tables are likely to
  /// overwrite all of it, as they did with the last one that was watched: while somebody writes and
  /// nobody reads. To be asked at each look for work: it sees what has come since the last. Cost:
  /// some lookups for each new table. Throws std::bad_alloc.
  bool IsWorthWaiting(const level::ReadState& state);

 private:
  struct Sample;
  /// Some keys of a table that is watched, whatever becomes of it, and the tables that came after.
  struct Watched {
    std::vector<std::string> missing;  // keys that none of them has
    uint64_t seen = 0;                 // id of the last one; 0: none is watched
    size_t newer = 0;                  // how many
  };

  void Watch(const level::ReadState& state);
  bool SomebodyWritesAlone();
  bool IsShortOfSpace() const;

  const Store store_;
  uint64_t sequence_ = 0;    // at the last look
  uint64_t written_at_ = 0;  // NowNanos, when it was another one
  uint64_t reads_ = 0;
  uint64_t read_at_ = 0;
  Watched watched_;
  bool overwrites_all_ = false;  // newer tables came to have all keys of the last one watched
};

}  // namespace braid::compaction
