// A database as the public handle gives it, but for its end: dropping it without Close leaves the
// memory as a process crash leaves it. The public handle's destructor closes.
#pragma once

#include <memory>

#include "braid/db.h"
#include "media/media.h"

namespace braid::crash {

/// `compared`: in the order of a comparator, which is that of bytes.
Result<std::unique_ptr<DB>> OpenBare(const Options& options, std::unique_ptr<media::Media> media,
                                     bool compared = false);

/// So that no two chunks share a page.
inline constexpr uint64_t kBareChunkBytes = 4096;
/// Of a small pool for hand-written tests, without threads.
inline Options BareOptions() {
  Options options;
  options.background_threads = false;
  options.pool.chunk_bytes = kBareChunkBytes;
  options.pool.initial_bytes = 256u << 10;
  options.memtable.bytes = 2048;
  options.log.shards = 1;
  options.memory_budget_bytes = 16u << 20;
  return options;
}

/// Leaves the read sections of this thread for its lifetime. A crash point may lie inside a read
/// section of the running database, which stands still meanwhile; the database on the image waits
/// for all read sections of the process to end when it goes, and would wait for ever.
class ReadSectionPause {
 public:
  ReadSectionPause() noexcept;
  ~ReadSectionPause();
  static bool InReadSection() noexcept;
  ReadSectionPause(const ReadSectionPause&) = delete;
  ReadSectionPause& operator=(const ReadSectionPause&) = delete;

 private:
  int sections_ = 0;
};

}  // namespace braid::crash
