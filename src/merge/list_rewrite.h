// Purpose: writes new lists of bounded size in the place of others: of each key the versions that
// are still needed, as nodes that refer to their values where a flush has written them, or as
// copies.
// Thread safety: one thread; nobody sees the new lists yet, and the old ones don't change.
// Invariants:
//   1. All versions of a key come into one list.
//   2. A node refers to an entry that holds the value itself, never to another node that refers.
//   3. A delete goes where no older version of its key is kept, and no level below may have one.
// Persistence: nothing is committed here: chunks of the kind kCollected, which an open frees unless
// the manifest says that they belong to the store. Lists and heads are durable when Run returns.
// Source: TLSM IV-B and IV-C, Algorithm 2; LevelDB's compactions.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "index/retention.h"
#include "level/copied_entries.h"
#include "merge/list_source.h"

namespace braid::merge {

/// What is read.
struct RewriteInput {
  std::vector<ListSource::Lists> sources = {};  ///< each in the order of keys
  std::string begin = {};                       ///< the first key that is looked at
  /// Those of the sources that are read to their end: the work stops before or behind them.
  ListSource::Lists whole = {};
  /// Lists to be written before the work stops, if it may.
  size_t most_lists = ~size_t{0};
  /// The first key that need not be looked at, if the work may stop there; empty: all are.
  std::string end = {};
};

struct RewriteOptions {
  uint64_t list_bytes = 0;       ///< a list that has so many takes no more keys
  uint64_t reference_bytes = 0;  ///< values of so many and more are referred to
  /// Values that lie in these chunks are copied anyhow, and those whose owners do. May be null.
  const std::unordered_set<uint64_t>* emptied = nullptr;
  /// The number of the newest version of a key in the levels above, ~0 when there is none: what it
  /// hides goes, as if it were among the inputs. May be empty.
  std::function<uint64_t(std::string_view)> newest_above = {};
  /// What new chunks may take.
  pool::AllocationClass allocation = pool::AllocationClass::kBackground;
  /// Whether a key goes with all its versions; it is asked once for each, in their order, and told
  /// the newest one. May be empty.
  std::function<bool(const format::EntryHeader& newest)> leaves = {};
  /// Whether a level below the new lists may have the key.
  std::function<bool(std::string_view)> is_below;
  /// A head for another list; none: the one that is written goes on. `needed`: it can't.
  std::function<Result<uint32_t>(bool needed)> take_head;
  /// Now and then; true: stop.
  std::function<bool()> pause;
};

struct RewrittenList {
  uint32_t head = 0;
  uint64_t entries = 0;
  uint64_t max_sequence = 0;
  bool keeps_versions = false;
};

class ListRewrite {
 public:
  ListRewrite(pool::PmemPool* pool, pool::ChunkUsage* usage, uint64_t table_id,
              RewriteOptions options)
      : pool_(pool),
        usage_(usage),
        copies_(pool, usage, table_id, format::ChunkKind::kCollected, options.allocation),
        options_(std::move(options)) {}

  /// May be called for several inputs, whose lists come into the same chunks. OutOfSpace, Aborted
  /// when it was stopped, Corruption: the caller gives everything back.
  Status Run(const RewriteInput& input, const index::LiveViews& views);

  const std::vector<RewrittenList>& lists() const noexcept { return lists_; }
  /// Where the work goes on; none: everything was read.
  const std::optional<std::string>& next_key() const noexcept { return next_key_; }
  /// After OutOfSpace: where the work could have stopped at the latest, behind the first key and
  /// before `end`; none: nowhere.
  const std::optional<std::string>& last_stop() const noexcept { return last_stop_; }
  uint64_t read() const noexcept { return read_; }
  size_t chunks() const { return copies_.chunks(); }
  /// Chunks that hold nothing any more when the inputs are gone, those of extents among them. Cost:
  /// a word for each of the chunks that the inputs lie in.
  size_t EmptiedChunks() const;
  /// Bytes that don't live any more when the inputs are gone.
  uint64_t GoneBytes() const;
  /// Tables of which an earlier work has written all before `key`: with the rest, what is not
  /// referred to there is gone, too. Corruption.
  Status CountBefore(const ListSource::Lists& tables, std::string_view key);
  void GiveBack();

 private:
  Status NextKey(std::deque<ListSource>* sources, std::string_view key);
  Status WriteVersions(std::string_view key, const index::LiveViews& views);
  void CountValue(const format::EntryHeader& version);
  Status Write(const format::EntryHeader& entry, bool keeps);
  Status SetValue(const format::EntryHeader& holder, uint64_t extent, log::PendingEntry* pending);
  Status EndList(bool needed);
  bool IsEmptied(uint64_t offset) const;
  static bool MayStop(const RewriteInput& input, std::string_view key);
  static std::optional<std::string> StopBefore(const RewriteInput& input, std::string_view first,
                                               std::string_view key);

  pool::PmemPool* pool_;
  pool::ChunkUsage* usage_;
  level::CopiedEntries copies_;
  const RewriteOptions options_;
  std::vector<const format::EntryHeader*> versions_;  // of a key, newest first
  std::vector<RewrittenList> lists_;
  RewrittenList list_;             // that is being written
  uint64_t list_bytes_ = 0;        // of it, values that it refers to included
  std::vector<uint64_t> extents_;  // of copies of large values
  std::optional<std::string> next_key_;
  std::optional<std::string> last_stop_;
  uint64_t read_ = 0;
  std::unordered_map<uint64_t, uint64_t> gone_;  // bytes that will not live any more, by chunk
  uint64_t gone_extents_ = 0;                    // chunks of extents
};

}  // namespace braid::merge
