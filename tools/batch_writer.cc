#include "tools/batch_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <string_view>

#include "tools/text_format.h"

namespace braid::tools {
namespace {

// Bounds the memory of a queue and stays far below kMaxBatchBytes.
constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr size_t kQueuedBatches = 4;

}  // namespace

BatchWriter::BatchWriter(DB* db, const BatchSettings& settings) : db_(db), settings_(settings) {
  try {
    for (size_t i = 0; i < std::max<size_t>(settings.threads, 1); ++i) {
      lanes_.push_back(std::make_unique<Lane>());
      Lane& lane = *lanes_.back();
      lane.thread = std::thread([this, &lane] { RunLane(lane); });
    }
  } catch (...) {
    EndThreads();
    throw;
  }
}

BatchWriter::~BatchWriter() {
  // The outcome was asked for by Finish; where that was not called, what is pending is given up.
  EndThreads();
}

bool BatchWriter::Add(Record&& record) {
  if (failed_.load(std::memory_order_relaxed)) return false;
  const size_t index = std::hash<std::string_view>()(record.key) % lanes_.size();
  Lane& lane = *lanes_[index];
  lane.pending.bytes += record.key.size() + record.value.size();
  lane.pending.records.push_back(std::move(record));
  if (lane.pending.records.size() >= settings_.batch_records || lane.pending.bytes >= kBatchBytes) {
    Submit(lane);
  }
  return true;
}

void BatchWriter::Submit(Lane& lane) {
  if (lane.pending.records.empty()) return;
  std::unique_lock lock(lane.mutex);
  lane.changed.wait(lock, [&] { return lane.queue.size() < kQueuedBatches; });
  lane.queue.push_back(std::move(lane.pending));
  lane.changed.notify_all();
  lane.pending = Batch();
}

Status BatchWriter::Finish() {
  for (const auto& lane : lanes_) {
    if (lane->thread.joinable()) Submit(*lane);
  }
  EndThreads();
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

void BatchWriter::EndThreads() {
  for (const auto& lane : lanes_) {
    {
      const std::lock_guard lock(lane->mutex);
      lane->closed = true;
    }
    lane->changed.notify_all();
  }
  for (const auto& lane : lanes_) {
    if (lane->thread.joinable()) lane->thread.join();
  }
}

void BatchWriter::RunLane(Lane& lane) {
  bool lane_failed = false;
  while (true) {
    Batch batch;
    {
      std::unique_lock lock(lane.mutex);
      lane.changed.wait(lock, [&] { return !lane.queue.empty() || lane.closed; });
      if (lane.queue.empty()) return;
      batch = std::move(lane.queue.front());
      lane.queue.pop_front();
    }
    lane.changed.notify_all();
    // After a failure this lane writes nothing more, so that what was written of its keys is a
    // prefix of the input; the other lanes finish theirs.
    const Status status = lane_failed ? failure() : WriteBatchOf(batch);
    if (status.ok()) continue;
    lane_failed = true;
    NoteFailure(status, batch);
  }
}

Status BatchWriter::WriteBatchOf(const Batch& batch) try {
  const WriteOptions options{.sync = settings_.sync};
  Status status;
  if (batch.records.size() == 1) {
    status = db_->Put(options, batch.records[0].key, batch.records[0].value);
  } else if (!db_->GetCapabilities().atomic_batches) {
    // One by one. The last one's sync covers those before it.
    for (const Record& record : batch.records) {
      const bool last = &record == &batch.records.back();
      status = db_->Put({.sync = settings_.sync && last}, record.key, record.value);
      if (!status.ok()) return status;
    }
  } else {
    WriteBatch updates;
    for (const Record& record : batch.records) updates.Put(record.key, record.value);
    status = db_->Write(options, updates);
  }
  if (!status.ok()) return status;
  written_.fetch_add(batch.records.size(), std::memory_order_relaxed);
  return Acknowledge(batch);
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();  // this runs in a thread, which an exception would end us all by
}

Status BatchWriter::Acknowledge(const Batch& batch) {
  if (settings_.acknowledge_fd < 0) return Status::OK();
  std::string lines;
  for (const Record& record : batch.records) {
    if (settings_.hex) {
      AppendHex(record.key, &lines);
    } else {
      AppendEscaped(record.key, &lines);
    }
    lines.push_back('\n');
  }
  // One batch's lines stay together, also when a write is split.
  const std::lock_guard lock(acknowledge_mutex_);
  std::string_view rest = lines;
  while (!rest.empty()) {
    const ssize_t count = ::write(settings_.acknowledge_fd, rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Status::IOError(fmt::format(
          "can't write the file of acknowledged keys: {}: make room, or load without --acknowledge",
          std::strerror(errno)));
    }
    rest.remove_prefix(static_cast<size_t>(count));
  }
  return Status::OK();
}

void BatchWriter::NoteFailure(const Status& status, const Batch& batch) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_.ok()) failure_ = status;
  const uint64_t line = batch.records.front().line;
  first_unwritten_line_ = std::min(first_unwritten_line_.value_or(line), line);
  failed_.store(true, std::memory_order_relaxed);
}

}  // namespace braid::tools
