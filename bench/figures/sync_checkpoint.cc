#include "bench/figures/sync_checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/clock.h"

namespace braid::figures {
namespace {

/// Before each record of the log.
struct RecordHead {
  uint32_t key_bytes = 0;
  uint32_t value_bytes = 0;
};

Status Failed(const std::string& what) {
  return Status::IOError(what + ": " + std::strerror(errno));
}

double SecondsSince(uint64_t begin) { return static_cast<double>(NowNanos() - begin) / 1e9; }

}  // namespace

SyncCheckpointStore::SyncCheckpointStore(std::string directory)
    : directory_(std::move(directory)) {}

SyncCheckpointStore::~SyncCheckpointStore() {
  if (log_ >= 0) ::close(log_);
}

Status SyncCheckpointStore::Create() {
  log_ = ::open(LogPath().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  return log_ < 0 ? Failed(LogPath()) : Status::OK();
}

Status SyncCheckpointStore::Put(std::string_view key, std::string_view value) {
  const RecordHead head{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
  record_.assign(reinterpret_cast<const char*>(&head), sizeof head);
  record_.append(key).append(value);
  if (::write(log_, record_.data(), record_.size()) != static_cast<ssize_t>(record_.size())) {
    return Failed(LogPath());
  }
  const auto found = index_.find(key);
  if (found == index_.end()) {
    index_.emplace(key, log_bytes_);
  } else {
    found->second = log_bytes_;
  }
  log_bytes_ += record_.size();
  return Status::OK();
}

Status SyncCheckpointStore::Checkpoint() {
  const std::string fresh = CheckpointPath() + ".new";
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  const auto put_word = [&file](uint64_t word) {
    file.write(reinterpret_cast<const char*>(&word), sizeof word);
  };
  put_word(log_bytes_);
  put_word(index_.size());
  for (const auto& [key, offset] : index_) {
    put_word(key.size());
    file.write(key.data(), static_cast<std::streamsize>(key.size()));
    put_word(offset);
  }
  file.close();
  if (!file || std::rename(fresh.c_str(), CheckpointPath().c_str()) != 0) return Failed(fresh);
  return Status::OK();
}

Status SyncCheckpointStore::LoadCheckpoint() {
  std::ifstream file(CheckpointPath(), std::ios::binary);
  if (!file) return Status::OK();  // none was made yet
  const auto get_word = [&file] {
    uint64_t word = 0;
    file.read(reinterpret_cast<char*>(&word), sizeof word);
    return word;
  };
  log_bytes_ = get_word();
  const uint64_t count = get_word();
  std::string key;
  for (uint64_t i = 0; file && i < count; ++i) {
    key.resize(get_word());
    file.read(key.data(), static_cast<std::streamsize>(key.size()));
    // In key order: each goes behind the last.
    index_.emplace_hint(index_.end(), key, get_word());
  }
  return file ? Status::OK() : Status::Corruption(CheckpointPath() + " is too short");
}

Status SyncCheckpointStore::ReplayLog(uint64_t* entries) {
  std::ifstream file(LogPath(), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(log_bytes_));
  std::string key;
  std::vector<char> value;
  RecordHead head;
  while (file.read(reinterpret_cast<char*>(&head), sizeof head)) {
    key.resize(head.key_bytes);
    value.resize(head.value_bytes);
    file.read(key.data(), head.key_bytes);
    file.read(value.data(), head.value_bytes);
    if (!file) return Status::OK();  // a record that was not written to its end
    index_[key] = log_bytes_;
    log_bytes_ += sizeof head + head.key_bytes + head.value_bytes;
    ++*entries;
  }
  return Status::OK();
}

Status SyncCheckpointStore::Recover(Recovery* recovery) {
  index_.clear();
  log_bytes_ = 0;
  uint64_t begin = NowNanos();
  if (Status s = LoadCheckpoint(); !s.ok()) return s;
  recovery->checkpoint_seconds = SecondsSince(begin);
  recovery->from_checkpoint = index_.size();
  begin = NowNanos();
  Status s = ReplayLog(&recovery->from_log);
  recovery->log_seconds = SecondsSince(begin);
  return s;
}

}  // namespace braid::figures
