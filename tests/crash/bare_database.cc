#include "crash/bare_database.h"

#define RCU_MEMB
#include <urcu.h>

#include <algorithm>
#include <utility>

#include "db/compared_db.h"
#include "db/transaction.h"
#include "design/design.h"
#include "engine/engine.h"

namespace braid::crash {
namespace {

class BareDatabase final : public DB {
 public:
  explicit BareDatabase(std::shared_ptr<engine::Engine> engine) : engine_(std::move(engine)) {}

  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return engine_->Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return engine_->Delete(options, key);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return engine_->Write(options, batch);
  }
  Result<std::unique_ptr<Transaction>> BeginTransaction() override {
    return NewTransaction(engine_, engine_->GetSnapshot());
  }
  Status Get(const ReadOptions& options, Slice key, std::string* value) override {
    return engine_->Get(options, key, value);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override {
    return engine_->NewIterator(options);
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return engine_->GetSnapshot(); }
  Status Flush() override { return engine_->Flush(); }
  Status Compact() override { return engine_->Compact(); }
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override {
    IngestReport unused;
    return engine_->Ingest(source, options, report != nullptr ? report : &unused);
  }
  bool GetProperty(std::string_view, std::string*) override { return false; }
  Statistics GetStatistics() override { return engine_->GetStatistics(); }
  Status Verify(VerifyReport* report, const std::function<void(double)>& progress) override {
    return engine_->Verify(report, progress);
  }
  Status Close() override { return engine_->Close(); }

 private:
  std::shared_ptr<engine::Engine> engine_;
};

class BytesCompared final : public Comparator {
 public:
  std::string_view Name() const override { return "tests.the-order-of-bytes-compared"; }
  int Compare(Slice a, Slice b) const override { return a.compare(b); }
};

}  // namespace

Result<std::unique_ptr<DB>> OpenBare(const Options& options, std::unique_ptr<media::Media> media,
                                     bool compared) {
  if (compared) media->set_key_order(HeaderNameOf(BytesCompared().Name()));
  // The crash tests' few entries never fill the least budget that a user may set.
  Options valid = options;
  valid.memory_budget_bytes = std::max<uint64_t>(options.memory_budget_bytes, 1 << 20);
  if (Status s = valid.Validate(); !s.ok()) return s;
  Result<const design::Design*> design = design::FindDesign(options.design);
  if (!design.ok()) return design.status();
  Result<std::shared_ptr<engine::Engine>> engine = (*design)->Make(options, std::move(media));
  if (!engine.ok()) return engine.status();
  std::unique_ptr<DB> db = std::make_unique<BareDatabase>(std::move(engine).value());
  if (!compared) return db;
  return InComparison(std::move(db), std::make_shared<BytesCompared>(), options.read_only);
}

ReadSectionPause::ReadSectionPause() noexcept {
  while (rcu_read_ongoing()) {
    rcu_read_unlock();
    ++sections_;
  }
}

bool ReadSectionPause::InReadSection() noexcept { return rcu_read_ongoing() != 0; }

ReadSectionPause::~ReadSectionPause() {
  for (int i = 0; i < sections_; ++i) rcu_read_lock();
}

}  // namespace braid::crash
