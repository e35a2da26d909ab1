#include "bench/harness/worker.h"

#include <algorithm>
#include <utility>

namespace braid::bench {

const char* OperationKindName(OperationKind kind) {
  switch (kind) {
    case OperationKind::kRead:
      return "read";
    case OperationKind::kWrite:
      return "write";
    case OperationKind::kScan:
      return "scan";
  }
  return "unknown";
}

void WorkerTotals::Merge(const WorkerTotals& other) {
  operations += other.operations;
  found += other.found;
  not_found += other.not_found;
  bytes_written += other.bytes_written;
  for (size_t i = 0; i < kOperationKinds; ++i) latency[i].Merge(other.latency[i]);
  rounds.resize(std::max(rounds.size(), other.rounds.size()));
  for (size_t i = 0; i < other.rounds.size(); ++i) {
    rounds[i].ops_per_second += other.rounds[i].ops_per_second;
    rounds[i].processors += other.rounds[i].processors;
    rounds[i].workers += other.rounds[i].workers;
    rounds[i].latency.Merge(other.rounds[i].latency);
  }
}

Worker::Worker(int index, uint64_t seed, Dataset& dataset, std::unique_ptr<KvSession> session,
               RunControl& control, Progress* progress)
    : index_(index),
      random_(Mix64(seed) + static_cast<uint64_t>(index)),
      dataset_(dataset),
      session_(std::move(session)),
      control_(control),
      progress_(progress),
      key_(dataset.keys()),
      value_(dataset.values().size(), '\0') {}

Status Worker::CheckRecord(std::string_view key, std::string_view value) {
  const bool thorough = ++checks_ % kThoroughEvery == 0;
  const VersionRange versions = dataset_.versions();
  if (dataset_.values().Check(key, value, versions, thorough)) [[likely]]
    return Status::OK();
  return Status::Corruption("wrong answer for key " + PrintableKey(key) + ": " +
                            dataset_.values().Explain(key, value, versions));
}

Status Worker::Missing(std::string_view key) const {
  return Status::Corruption("wrong answer for key " + PrintableKey(key) +
                            ": it is missing, but it was written and not deleted");
}

Status Worker::Get(uint64_t number) {
  const std::string_view key = key_.Key(number);
  const Status status = session_->Get(key, &read_value_);
  return CheckGet(number, key, status, read_value_);
}

Status Worker::MultiGet(const std::vector<uint64_t>& numbers) {
  const size_t key_size = dataset_.keys().size();
  batch_bytes_.resize(numbers.size() * key_size);
  many_keys_.clear();
  char* out = batch_bytes_.data();
  for (const uint64_t number : numbers) {
    dataset_.keys().Make(number, out);
    many_keys_.emplace_back(out, key_size);
    out += key_size;
  }
  many_values_.resize(numbers.size());
  many_statuses_.resize(numbers.size());
  session_->MultiGet(many_keys_, &many_values_, &many_statuses_);
  for (size_t i = 0; i < numbers.size(); ++i) {
    Status checked = CheckGet(numbers[i], many_keys_[i], many_statuses_[i], many_values_[i]);
    if (!checked.ok()) return checked;
  }
  return Status::OK();
}

Status Worker::CheckGet(uint64_t number, std::string_view key, const Status& status,
                        std::string_view value) {
  ++totals_.operations;
  if (status.ok()) [[likely]] {
    ++totals_.found;
    if (dataset_.PresenceOf(number) == Presence::kMustNot) {
      return Status::Corruption("wrong answer for key " + PrintableKey(key) +
                                ": it is there, but it was deleted");
    }
    return CheckRecord(key, value);
  }
  if (!status.IsNotFound()) return status;
  ++totals_.not_found;
  return dataset_.PresenceOf(number) == Presence::kMust ? Missing(key) : Status::OK();
}

Status Worker::GetMissing(uint64_t number) {
  const std::string_view key = key_.MissingKey(number);
  Status status = session_->Get(key, &read_value_);
  ++totals_.operations;
  if (status.ok()) {
    return Status::Corruption("wrong answer for key " + PrintableKey(key) +
                              ": it is there, but it was never written");
  }
  if (!status.IsNotFound()) return status;
  ++totals_.not_found;
  return Status::OK();
}

Status Worker::PutVersion(uint64_t number, uint32_t version) {
  const std::string_view key = key_.Key(number);
  dataset_.values().Make(key, version, value_.data());
  ++totals_.operations;
  totals_.bytes_written += key.size() + value_.size();
  return session_->Put(key, value_);
}

Status Worker::PutBatch(const std::vector<uint64_t>& numbers) {
  const size_t key_size = dataset_.keys().size();
  const size_t record_size = key_size + value_.size();
  batch_bytes_.resize(numbers.size() * record_size);
  batch_.clear();
  char* out = batch_bytes_.data();
  for (const uint64_t number : numbers) {
    dataset_.keys().Make(number, out);
    const std::string_view key(out, key_size);
    dataset_.values().Make(key, dataset_.generation(), out + key_size);
    batch_.push_back({key, std::string_view(out + key_size, value_.size())});
    out += record_size;
  }
  totals_.operations += numbers.size();
  totals_.bytes_written += batch_bytes_.size();
  return session_->Write(batch_);
}

Status Worker::Insert() {
  const uint64_t number = dataset_.ClaimInsert();
  Status status = Put(number);
  if (status.ok()) dataset_.AcknowledgeInsert(number);
  return status;
}

Status Worker::Delete(uint64_t number) {
  const std::string_view key = key_.Key(number);
  ++totals_.operations;
  Status status = session_->Delete(key);
  if (status.ok()) dataset_.MarkDeleted(number);
  return status;
}

Status Worker::CheckOrder(std::string_view key, bool reverse) {
  const int order = key.compare(last_key_);
  if (!last_key_.empty() && (reverse ? order >= 0 : order <= 0)) {
    return Status::Corruption("wrong answer at key " + PrintableKey(key) + ": a scan shows it " +
                              "after " + PrintableKey(last_key_));
  }
  last_key_.assign(key);
  return Status::OK();
}

Status Worker::Seek(uint64_t number, uint64_t nexts) {
  const std::string_view start = key_.Key(number);
  last_key_.clear();
  uint64_t seen = 0;
  Status wrong;
  ScanRange range;
  range.start = start;
  Status status = session_->Scan(range, [&](std::string_view key, std::string_view value) {
    if (seen == 0) {
      if (key < start) {
        wrong = Status::Corruption("wrong answer: a seek to " + PrintableKey(start) + " ended at " +
                                   PrintableKey(key));
      } else if (key != start && dataset_.PresenceOf(number) == Presence::kMust) {
        wrong = Missing(start);
      }
    }
    if (wrong.ok()) wrong = CheckOrder(key, false);
    if (wrong.ok()) wrong = CheckRecord(key, value);
    return wrong.ok() && seen++ < nexts;
  });
  ++totals_.operations;
  if (!status.ok()) return status;
  if (!wrong.ok()) return wrong;
  if (seen == 0 && dataset_.PresenceOf(number) == Presence::kMust) return Missing(start);
  seen > 0 ? ++totals_.found : ++totals_.not_found;
  return Status::OK();
}

Status Worker::FullScan(bool reverse, uint64_t limit) {
  Histogram& latency = totals_.latency[static_cast<size_t>(OperationKind::kScan)];
  last_key_.clear();
  uint64_t seen = 0;
  uint64_t begin = NowNanos();
  Status wrong;
  ScanRange range;
  range.reverse = reverse;
  Status status = session_->Scan(range, [&](std::string_view key, std::string_view value) {
    wrong = CheckOrder(key, reverse);
    if (wrong.ok()) wrong = CheckRecord(key, value);
    if (!wrong.ok()) return false;
    if (++seen % kScanGroup == 0) {
      const uint64_t end = NowNanos();
      latency.Record(end - begin);
      if (progress_ != nullptr) progress_->Add(OperationKind::kScan, kScanGroup);
      begin = end;
      if (stopped()) return false;
    }
    return seen < limit;
  });
  totals_.operations += seen;
  totals_.found += seen;
  if (!status.ok()) return status;
  if (!wrong.ok()) return wrong;
  const std::optional<uint64_t> expected = dataset_.ExactCount();
  if (expected && !stopped() && seen != std::min(*expected, limit)) {
    return Status::Corruption("wrong answer: a full scan shows " + std::to_string(seen) +
                              " records instead of " + std::to_string(std::min(*expected, limit)) +
                              ", the last is " + PrintableKey(last_key_));
  }
  return Status::OK();
}

}  // namespace braid::bench
