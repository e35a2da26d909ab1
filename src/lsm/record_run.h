// Purpose: records on their way into a bulk load: checked as they come, and sorted in DRAM where
// they do not come in order.
// Thread safety: one thread an object.
// Persistence: none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/memory_users.h"
#include "braid/ingest.h"

namespace braid::lsm {

/// A source that knows the number of the record it gave last, from 1.
class NumberedSource : public RecordSource {
 public:
  virtual uint64_t number() const = 0;
};

/// The user's records. Ends at the first that is beyond a limit or out of order.
class CheckedSource final : public NumberedSource {
 public:
  /// `may_go_on`: asked before each record.
  CheckedSource(RecordSource* source, const IngestOptions& options,
                std::function<Status()> may_go_on)
      : source_(source), options_(options), may_go_on_(std::move(may_go_on)) {}

  bool Next(Slice* key, Slice* value) override;
  Status status() const override { return status_.ok() && ended_ ? source_->status() : status_; }
  uint64_t number() const override { return number_; }

 private:
  Status Check(Slice key, Slice value);

  RecordSource* source_;
  const IngestOptions& options_;
  std::function<Status()> may_go_on_;
  std::string last_key_;  // of sorted records
  uint64_t number_ = 0;
  bool ended_ = false;
  Status status_;
};

/// As many records as fit, in the order of their keys; of equal keys the last.
class RecordRun final : public NumberedSource {
 public:
  /// `bytes` of DRAM, or one record if that is larger.
  RecordRun(base::MemoryUsers* users, uint64_t bytes) : limit_(bytes), charge_(users) {}

  /// Takes the next records of `source`, until it ends or there is no more room. False: it has
  /// ended.
  bool Fill(NumberedSource* source);

  bool Next(Slice* key, Slice* value) override;
  Status status() const override { return Status::OK(); }
  uint64_t number() const override {
    BRAID_DCHECK(at_ > 0);  // of the one that Next has given
    return records_[at_ - 1].number;
  }

 private:
  struct Record {
    uint64_t number;
    uint64_t offset;  // of its key in bytes_; the value follows
    uint64_t value_bytes;
    uint64_t key_bytes;
  };
  Slice KeyOf(const Record& record) const {
    return Slice(bytes_).substr(record.offset, record.key_bytes);
  }
  bool Fits(Slice key, Slice value) const;
  void Take(uint64_t number, Slice key, Slice value);
  void Sort();

  const uint64_t limit_;
  base::MemoryCharge charge_;  // for what follows
  std::string bytes_;
  std::vector<Record> records_;
  size_t at_ = 0;  // of the next record to give
  // What did not fit the run before; the source keeps it until it is asked for the next.
  bool waits_ = false;
  Slice waiting_key_;
  Slice waiting_value_;
};

}  // namespace braid::lsm
