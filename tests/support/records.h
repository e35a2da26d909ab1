// Sources of records for tests of DB::Ingest.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "braid/ingest.h"
#include "support/database.h"

namespace braid::test {

/// Gives the pairs one after the other; fails before the record `fail_at` (from 0) if that is set.
class PairSource final : public RecordSource {
 public:
  explicit PairSource(Pairs pairs) : pairs_(std::move(pairs)) {}
  explicit PairSource(const Model& model) : pairs_(model.begin(), model.end()) {}

  void FailAt(size_t record, Status status) {
    fail_at_ = record;
    failure_ = std::move(status);
  }
  /// Called before each record.
  void Before(std::function<void(size_t record)> hook) { hook_ = std::move(hook); }

  bool Next(Slice* key, Slice* value) override {
    if (hook_) hook_(at_);
    if (at_ == fail_at_) return false;
    if (at_ == pairs_.size()) return false;
    // Bytes that are gone with the next call.
    key_ = pairs_[at_].first;
    value_ = pairs_[at_].second;
    ++at_;
    *key = key_;
    *value = value_;
    return true;
  }
  Status status() const override { return at_ == fail_at_ ? failure_ : Status::OK(); }

 private:
  Pairs pairs_;
  std::function<void(size_t)> hook_;
  std::string key_;
  std::string value_;
  size_t at_ = 0;
  size_t fail_at_ = ~size_t{0};
  Status failure_;
};

inline Status IngestSorted(DB* db, RecordSource* source, IngestReport* report = nullptr) {
  IngestOptions options;
  options.sorted = true;
  return db->Ingest(source, options, report);
}

inline Status IngestSorted(DB* db, const Model& model, IngestReport* report = nullptr) {
  PairSource source(model);
  return IngestSorted(db, &source, report);
}

}  // namespace braid::test
