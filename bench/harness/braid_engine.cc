// The adapter for braid, over the public C++ API.
#include <algorithm>
#include <utility>

#include "bench/harness/kv_engine.h"
#include "bench/harness/workload_options.h"
#include "braid/db.h"
#include "braid/version.h"

namespace braid::bench {
namespace {

constexpr uint64_t kLineBytes = 64;

class BraidSession : public KvSession {
 public:
  BraidSession(DB* db, bool sync) : db_(db) { write_options_.sync = sync; }

  Status Put(std::string_view key, std::string_view value) override {
    return db_->Put(write_options_, key, value);
  }
  Status Get(std::string_view key, std::string* value) override {
    return db_->Get(read_options_, key, value);
  }
  void MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values,
                std::vector<Status>* statuses) override {
    *statuses = db_->MultiGet(read_options_, keys, values);
  }
  Status Delete(std::string_view key) override { return db_->Delete(write_options_, key); }

  Status Write(const std::vector<BatchUpdate>& batch) override {
    batch_.Clear();
    for (const BatchUpdate& update : batch) batch_.Put(update.key, update.value);
    return db_->Write(write_options_, batch_);
  }

  Status Scan(const ScanRange& range, const ScanVisitor& visit) override {
    const std::unique_ptr<Iterator> cursor = db_->NewIterator(read_options_);
    if (range.reverse) {
      for (cursor->SeekToLast(); cursor->Valid(); cursor->Prev()) {
        if (!visit(cursor->key(), cursor->value())) break;
      }
      return cursor->status();
    }
    if (range.start) {
      cursor->Seek(*range.start);
    } else {
      cursor->SeekToFirst();
    }
    for (; cursor->Valid(); cursor->Next()) {
      if (!visit(cursor->key(), cursor->value())) break;
    }
    return cursor->status();
  }

 private:
  DB* db_;
  WriteOptions write_options_;
  ReadOptions read_options_;
  WriteBatch batch_;
};

class BraidEngine : public KvEngine {
 public:
  explicit BraidEngine(std::string_view design = {}) : design_(design) {}

  std::string name() const override { return design_.empty() ? "braid" : design_; }
  std::string version() const override { return BRAID_VERSION_STRING; }
  std::string parameters() const override { return parameters_; }

  Status Open(const EngineConfig& config) override {
    Options options;
    options.design = design_.empty() ? config.design : design_;
    options.memory_budget_bytes = config.memory_budget_bytes;
    options.pool.force_media_class = config.force_media_class;
    if (!config.tier_directory.empty()) {
      options.tier.path = config.tier_directory;
      options.pool.max_bytes = config.pool_max_bytes;
      options.pool.initial_bytes = std::min(options.pool.initial_bytes, config.pool_max_bytes);
    }
    if (const Status set = ApplySettings(config.settings, &options); !set.ok()) return set;
    Result<std::unique_ptr<DB>> db = DB::Open(options, config.directory);
    if (!db.ok()) return db.status();
    db_ = std::move(db).value();
    sync_ = config.sync;
    const Statistics statistics = db_->GetStatistics();
    parameters_ =
        "design " + options.design + ", media class " + MediaClassName(statistics.media_class) +
        (statistics.media_class_forced ? " (forced)" : "") + ", memory budget " +
        std::to_string(config.memory_budget_bytes >> 20) + " MiB" + (sync_ ? ", sync" : "");
    has_tier_ = !options.tier.path.empty();
    if (has_tier_) {
      parameters_ +=
          ", a pool of " + std::to_string(options.pool.max_bytes >> 20) + " MiB over a tier";
    }
    for (const std::string& setting : config.settings) parameters_ += ", " + setting;
    return Status::OK();
  }

  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<BraidSession>(db_.get(), sync_);
  }

  Status Settle() override {
    Status status = db_->Compact();
    // A design without merges has nothing to wait for.
    if (status.code() == Status::Code::kNotSupported) return Status::OK();
    return status;
  }

  EngineCounters Counters() override {
    const Statistics statistics = db_->GetStatistics();
    return {statistics.lines_flushed,
            statistics.fences,
            statistics.stall_micros * 1000,
            statistics.lines_flushed * kLineBytes,
            has_tier_ ? std::optional(statistics.tier_gets) : std::nullopt,
            has_tier_ ? std::optional(statistics.tier_gets_cached) : std::nullopt};
  }

  std::vector<EngineField> Fields() override {
    std::vector<EngineField> fields;
    for (const StatisticsField& field : ListFields(db_->GetStatistics())) {
      fields.push_back({field.name, field.value});
    }
    return fields;
  }

  std::optional<uint64_t> UsedBytes() override { return db_->GetStatistics().pool_used_bytes; }

  std::vector<EngineLatency> Latencies() override {
    const Statistics statistics = db_->GetStatistics();
    std::vector<EngineLatency> latencies;
    for (size_t i = 0; i < kLatencyKinds; ++i) {
      latencies.push_back({LatencyKindName(static_cast<LatencyKind>(i)), statistics.latencies[i]});
    }
    return latencies;
  }

  Status Close() override {
    if (!db_) return Status::OK();
    Status status = db_->Close();
    db_.reset();
    return status;
  }

 private:
  const std::string design_;  // empty: the configuration's
  std::unique_ptr<DB> db_;
  bool sync_ = false;
  bool has_tier_ = false;
  std::string parameters_;
};

}  // namespace

std::unique_ptr<KvEngine> MakeBraidEngine() { return std::make_unique<BraidEngine>(); }
std::unique_ptr<KvEngine> MakeDesignEngine(std::string_view design) {
  return std::make_unique<BraidEngine>(design);
}

}  // namespace braid::bench
