#include "bench/verb/publishing_engine.h"

#include <utility>

#include "tools/stats_file.h"

namespace braid::tools {
namespace {

class PublishingEngine final : public bench::KvEngine {
 public:
  explicit PublishingEngine(std::unique_ptr<bench::KvEngine> engine) : engine_(std::move(engine)) {}

  std::string name() const override { return engine_->name(); }
  std::string version() const override { return engine_->version(); }
  std::string parameters() const override { return engine_->parameters(); }
  std::string caveat() const override { return engine_->caveat(); }

  Status Open(const bench::EngineConfig& config) override {
    Status status = engine_->Open(config);
    if (!status.ok()) return status;
    Result<std::unique_ptr<StatsPublisher>> started =
        StatsPublisher::Start(config.directory, [this] { return Collect(); });
    if (!started.ok()) return started.status();
    publisher_ = std::move(started).value();
    return Status::OK();
  }
  std::unique_ptr<bench::KvSession> NewSession() override { return engine_->NewSession(); }
  Status Settle() override { return engine_->Settle(); }
  bench::EngineCounters Counters() override { return engine_->Counters(); }
  std::vector<bench::EngineField> Fields() override { return engine_->Fields(); }
  std::vector<bench::EngineLatency> Latencies() override { return engine_->Latencies(); }
  Status Close() override {
    // First: it reads the store.
    publisher_.reset();
    return engine_->Close();
  }

 private:
  StatsSnapshot Collect() {
    StatsSnapshot snapshot;
    snapshot.about = engine_->parameters();
    for (bench::EngineField& field : engine_->Fields()) {
      snapshot.values.emplace_back(std::move(field.name), field.value);
    }
    for (bench::EngineLatency& latency : engine_->Latencies()) {
      snapshot.latencies.emplace_back(std::move(latency.name), latency.histogram);
    }
    return snapshot;
  }

  std::unique_ptr<bench::KvEngine> engine_;
  std::unique_ptr<StatsPublisher> publisher_;
};

}  // namespace

std::unique_ptr<bench::KvEngine> MakePublishingEngine(std::unique_ptr<bench::KvEngine> engine) {
  return std::make_unique<PublishingEngine>(std::move(engine));
}

}  // namespace braid::tools
