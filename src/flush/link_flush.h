// Purpose: turns an immutable memtable into an L0 table by linking its log entries into a skip
// list, in place: no key or value is copied.
// Thread safety: one flush at a time for a memtable; its readers go on, through the tree.
// Invariants:
//   1. At every store the bottom link of an entry leads to an older version of its key, to a later
//      key, or to the end, so that readers of the memtable never miss a version they may see.
//   2. Versions that no live view sees are left out and marked obsolete.
//   3. Upper layers are linked a strand, each from a head in its own region; the bottom layer links
//      all.
// Persistence: nothing is committed here. All links and the head are flushed and fenced before Run
// returns, or, with WriteBack::kLater, by its group (group_write_back.h); the manifest's commit
// makes them a table. Before that a crash replays the log.
// Source: ListDB 6.3.2, Algorithm 5, which stores links and leaves them to a later checkpoint. By
// default they are written back at once, so that L0 is never rebuilt
// (docs/internals/decisions/0004).
#pragma once

#include <cstdint>
#include <vector>

#include "braid/status.h"
#include "cache/lookup_cache.h"
#include "index/entry_tree.h"
#include "index/retention.h"
#include "pool/chunk_usage.h"

namespace braid::flush {

struct FlushResult {
  uint64_t entries = 0;  // linked
  uint64_t max_sequence = 0;
  bool is_plain = false;                   // puts only, one a key, in a list that may stay as it is
  std::vector<uint64_t> obsolete_extents;  // of versions left out
  std::vector<uint64_t> touched;  // with kLater: offsets of all entries, linked or left out
};

/// When links and obsolete marks are written back to the medium.
enum class WriteBack : uint8_t { kNow, kLater };

class LinkFlush {
 public:
  /// `lookup`: filled with each key's newest entry; may be null.
  LinkFlush(pool::PmemPool* pool, pool::ChunkUsage* usage, cache::LookupCache* lookup = nullptr,
            WriteBack write_back = WriteBack::kNow)
      : pool_(pool), usage_(usage), lookup_(lookup), write_back_(write_back) {}

  /// Links everything in `tree` behind the head at `head_offset`. The tree gets no more inserts.
  Result<FlushResult> Run(const index::EntryIndex& tree, const index::LiveViews& views,
                          uint64_t head_offset);

 private:
  Status LinkAll(const index::EntryIndex& tree, const index::LiveViews& views);
  Status LinkVersions(uint64_t newest, const index::LiveViews& views);
  void LinkEntry(format::EntryHeader* entry);
  /// Whether a link is one of the list's head, which is put together in DRAM.
  bool IsHeadLink(const uint64_t* link) const noexcept {
    return link >= &heads_[0][0] &&
           link <= &heads_[format::kMaxRegions - 1][format::kMaxHeight - 1];
  }
  void Drop(format::EntryHeader* entry);
  void Close();
  void Flush(const void* begin, size_t bytes, media::Site site) {
    if (write_back_ == WriteBack::kNow) pool_->ops().Flush(begin, bytes, site);
  }

  pool::PmemPool* pool_;
  pool::ChunkUsage* usage_;
  cache::LookupCache* lookup_;
  WriteBack write_back_;
  FlushResult result_;
  using Links = uint64_t[format::kMaxHeight];
  // A strand: the link of each layer that waits for its target. The bottom layer is strand 0's.
  uint64_t* last_[format::kMaxRegions][format::kMaxHeight] = {};
  Links heads_[format::kMaxRegions] = {};
  format::EntryHeader* unflushed_ = nullptr;
};

}  // namespace braid::flush
