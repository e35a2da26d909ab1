// Purpose: all that a read or write looks at, newest first, as one immutable object that is swapped
// as a whole. Thread safety: immutable, shared by pointer; the current one is read inside an
// EpochGuard. Persistence: none.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "level/version.h"
#include "log/index_unified_log.h"
#include "memtable/dram_memtable.h"

namespace braid::engine {

/// A memtable and the log that makes it durable.
struct LoggedMemTable {
  LoggedMemTable(pmem::PmemPool* pool, uint64_t id, uint32_t shards, const Options& options)
      : table(std::make_shared<memtable::DramMemTable>(pool, id, *options.memtable.kind)),
        log(pool, id, shards,
            *options.log.kind == LogKind::kWriteAhead ? format::ChunkKind::kWriteAhead
                                                      : format::ChunkKind::kLog),
        is_copied(*options.log.kind == LogKind::kWriteAhead) {}
  LoggedMemTable(pmem::PmemPool* pool, std::shared_ptr<memtable::DramMemTable> recovered,
                 bool write_ahead)
      : table(std::move(recovered)), log(pool, table->id(), 0), is_copied(write_ahead) {}

  std::shared_ptr<memtable::DramMemTable> table;
  log::IndexUnifiedLog log;
  const bool is_copied;  // by its flush: entries of it lie in write-ahead chunks
  /// Set before a newer memtable is shown. A writer that drew its sequence number and then still
  /// finds it unset drew a lower number than any writer of the newer table.
  std::atomic<bool> sealed{false};
};

struct ReadState : std::enable_shared_from_this<ReadState> {
  std::shared_ptr<LoggedMemTable> active;
  std::vector<std::shared_ptr<LoggedMemTable>> immutables;  // newest first
  std::shared_ptr<const level::Version> version;
};

}  // namespace braid::engine
