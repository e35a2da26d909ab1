// Purpose: the pending updates of a transaction.
// Thread safety, persistence: see transaction.h.
#include "db/transaction.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/key_range_set.h"
#include "base/no_throw.h"

namespace braid {

namespace {

class EngineTransaction final : public Transaction {
 public:
  EngineTransaction(std::shared_ptr<engine::Engine> engine,
                    std::shared_ptr<const Snapshot> snapshot)
      : engine_(std::move(engine)), snapshot_(std::move(snapshot)) {}

  Status Get(Slice key, std::string* value) override {
    return Run([&] { return Read(key, value); });
  }
  Status GetForUpdate(Slice key, std::string* value) override {
    return Run([&] {
      if (Status s = engine::CheckKey(key); !s.ok()) return s;
      // Before the read: what can't be watched is not answered.
      if (!watched_.contains(key)) watched_.emplace(key);
      return Read(key, value);
    });
  }
  Status Put(Slice key, Slice value) override {
    return Run([&] {
      Status s = engine::CheckKey(key);
      if (s.ok()) s = engine::CheckValue(value);
      if (s.ok()) writes_.insert_or_assign(std::string(key), std::string(value));
      return s;
    });
  }
  Status Delete(Slice key) override {
    return Run([&] {
      Status s = engine::CheckKey(key);
      if (s.ok()) writes_.insert_or_assign(std::string(key), std::nullopt);
      return s;
    });
  }
  Status DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
    return Run([&] {
      for (const std::optional<Slice>& bound : {begin, end}) {
        if (!bound) continue;
        if (Status s = engine::CheckKey(*bound); !s.ok()) return s;
      }
      const Slice first = begin.value_or(Slice());
      if (end && *end <= first) return Status::OK();
      ranges_.Add(first, end);
      const auto from = writes_.lower_bound(first);
      writes_.erase(from, end ? writes_.lower_bound(*end) : writes_.end());
      return Status::OK();
    });
  }
  const Snapshot* snapshot() const noexcept override { return snapshot_.get(); }
  Status Commit(const WriteOptions& options) override {
    const Status s = Run([&] { return WriteAll(options); });
    Rollback();
    return s;
  }
  void Rollback() noexcept override {
    is_over_ = true;
    writes_.clear();
    ranges_.Clear();
    watched_.clear();
  }

 private:
  /// As the border of DB: nothing thrown gets out, and nothing that a failed medium returned is
  /// passed on.
  template <class Call>
  Status Run(Call&& call) noexcept {
    return base::CatchToStatus([&] {
      if (engine_->is_parents()) return base::OpenedByParent();
      if (is_over_) {
        return Status::InvalidArgument(
            "the transaction is over; begin another with "
            "DB::BeginTransaction");
      }
      Status s = std::forward<Call>(call)();
      return engine_->medium_failed() && !s.IsClosed() ? engine_->MediumStatus() : s;
    });
  }

  Status Read(Slice key, std::string* value) {
    if (const auto own = writes_.find(key); own != writes_.end()) {
      if (!own->second) return Status::NotFound();
      value->assign(*own->second);
      return Status::OK();
    }
    if (ranges_.Covers(key)) return Status::NotFound();
    ReadOptions options;
    options.snapshot = snapshot_.get();
    return engine_->Get(options, key, value);
  }

  Status WriteAll(const WriteOptions& options) {
    WriteBatch batch;
    for (const auto& [begin, end] : ranges_.ranges()) {
      batch.DeleteRange(begin, end ? std::optional<Slice>(*end) : std::nullopt);
    }
    for (const auto& [key, value] : writes_) {
      if (value) {
        batch.Put(key, *value);
      } else {
        batch.Delete(key);
      }
    }
    std::vector<Slice> keys;
    keys.reserve(watched_.size());
    for (const std::string& key : watched_) {
      if (!writes_.contains(key)) keys.emplace_back(key);
    }
    return engine_->WriteUnlessChanged(options, batch, keys, *snapshot_);
  }

  const std::shared_ptr<engine::Engine> engine_;
  const std::shared_ptr<const Snapshot> snapshot_;
  base::KeyRangeSet ranges_;  // deleted before what follows is written
  std::map<std::string, std::optional<std::string>, std::less<>> writes_;  // none: a delete
  std::set<std::string, std::less<>> watched_;
  bool is_over_ = false;
};

}  // namespace

std::unique_ptr<Transaction> NewTransaction(std::shared_ptr<engine::Engine> engine,
                                            std::shared_ptr<const Snapshot> snapshot) {
  return std::make_unique<EngineTransaction>(std::move(engine), std::move(snapshot));
}

}  // namespace braid
