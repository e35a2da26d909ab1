// Purpose: what braid's recovery is compared with: a store whose index lives in DRAM and is written
// out as a whole now and then, while its clients wait; after a crash the last such checkpoint is
// read and the log behind it is replayed.
// Thread safety: one thread.
// Invariants:
//   1. An entry is in the log before it is in the index.
// Persistence: the log by write(2), which survives a crash of the process; a checkpoint counts once
// it is renamed to its name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "braid/status.h"

namespace braid::figures {

class SyncCheckpointStore {
 public:
  /// Files in `directory`, which must be there.
  explicit SyncCheckpointStore(std::string directory);
  ~SyncCheckpointStore();
  SyncCheckpointStore(const SyncCheckpointStore&) = delete;
  SyncCheckpointStore& operator=(const SyncCheckpointStore&) = delete;

  /// Starts empty.
  Status Create();
  Status Put(std::string_view key, std::string_view value);
  /// Writes the index out: for each key, in order, where its newest entry lies in the log.
  Status Checkpoint();

  struct Recovery {
    uint64_t from_checkpoint = 0;  ///< keys
    uint64_t from_log = 0;         ///< entries replayed
    double checkpoint_seconds = 0;
    double log_seconds = 0;
  };
  /// Reads checkpoint and log. Corruption when they do not fit each other.
  Status Recover(Recovery* recovery);
  size_t size() const { return index_.size(); }

 private:
  Status LoadCheckpoint();
  Status ReplayLog(uint64_t* entries);
  std::string LogPath() const { return directory_ + "/log"; }
  std::string CheckpointPath() const { return directory_ + "/checkpoint"; }

  std::string directory_;
  int log_ = -1;
  uint64_t log_bytes_ = 0;
  std::string record_;
  std::map<std::string, uint64_t, std::less<>> index_;
};

}  // namespace braid::figures
