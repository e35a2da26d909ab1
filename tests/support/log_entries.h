// Entries in a log, written as memtables write them: for tests of the log and of what reads it.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "log/index_unified_log.h"
#include "log/log_reader.h"

namespace braid::test {

inline log::PendingEntry PendingOf(std::string_view key, std::string_view value,
                                   format::EntryOp op = format::EntryOp::kPut) {
  log::PendingEntry pending;
  pending.op = op;
  pending.key = key;
  pending.value = value;
  pending.key_hash = base::Hash64(key);
  return pending;
}

/// One log, whose writes get the numbers that follow each other.
class LogEntries {
 public:
  LogEntries(pool::PmemPool* pool, uint64_t table_id, uint32_t shards = 2,
             format::ChunkKind kind = format::ChunkKind::kLog)
      : pool_(pool), log_(pool, table_id, shards, kind) {}

  log::IndexUnifiedLog& log() noexcept { return log_; }
  uint64_t last_sequence() const noexcept { return last_sequence_; }

  /// Writes the entries as one unit, all but those from `written` on, whose room they take. Returns
  /// their places.
  std::vector<uint64_t> Append(std::vector<log::PendingEntry> unit, uint32_t shard = 0,
                               size_t written = ~size_t{0}) {
    const Status s = log_.Reserve(shard, unit.data(), unit.size(), ++random_,
                                  pool::AllocationClass::kBackground);
    EXPECT_TRUE(s.ok()) << s.ToString();
    if (!s.ok()) return {};
    std::vector<uint64_t> places;
    for (size_t i = 0; i < unit.size(); ++i) {
      places.push_back(unit[i].offset);
      ++last_sequence_;
      if (i >= written) continue;
      const int flags =
          (i == 0 ? format::kFirstOfUnit : 0) | (i + 1 < unit.size() ? format::kMoreOfUnit : 0);
      log_.WritePayload(&unit[i]);
      log_.Publish(unit[i], last_sequence_, static_cast<uint8_t>(flags), 0);
    }
    log_.Commit(shard);
    return places;
  }
  uint64_t Put(std::string_view key, std::string_view value, uint32_t shard = 0) {
    return Append({PendingOf(key, value)}, shard).at(0);
  }

  /// What the headers of the log's chunks say, those of `shard`.
  std::vector<log::LogChunk> Chunks(uint32_t shard = 0) const {
    std::vector<log::LogChunk> chunks;
    for (const uint64_t chunk : log_.chunks()) {
      const Result<log::LogChunk> header = log::ReadLogChunk(*pool_, chunk);
      EXPECT_TRUE(header.ok()) << header.status().ToString();
      if (header.ok() && header->shard == shard) chunks.push_back(*header);
    }
    return chunks;
  }

 private:
  pool::PmemPool* pool_;
  log::IndexUnifiedLog log_;
  uint64_t last_sequence_ = 0;
  uint64_t random_ = 0;
};

}  // namespace braid::test
