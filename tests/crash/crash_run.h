// One run of a workload by one thread, on the simulated device: drives the database, goes through
// crashes of its own, and says at each crash point what may be found.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "braid/db.h"
#include "crash/crash_points.h"
#include "crash/held_iterator.h"
#include "crash/oracle.h"
#include "crash/position.h"
#include "crash/workload.h"

namespace braid::crash {

class CrashRun final : CrashPoints {
 public:
  CrashRun(Device* device, const Workload& workload, uint64_t seed, const RunSettings& settings);
  std::optional<Failure> Run();

 private:
  struct HeldSnapshot {
    std::shared_ptr<const Snapshot> snapshot;
    Content content;
  };
  /// A crash that the run itself will go through: the memory it leaves, and what may be in it.
  struct Captured {
    std::vector<char> bytes;
    std::vector<uint64_t> segments;
    uint64_t hash = 0;
    Allowed allowed;
    tier::MemoryDevice::State tier;
  };

  Allowed AllowedNow(bool process_crash) override;
  uint64_t version() const override { return oracle_.version(); }
  void AfterPoint(const sim::WritebackUnits& units, const sim::ImagePlan& plan) override;
  void Capture(const sim::WritebackUnits& units, const sim::ImagePlan& plan);

  void Prefill();
  void Open(bool other_settings);
  void Step(Action action);
  void Write(Action action);
  void WriteRanges();
  Status Commit(const std::vector<Update>& updates);
  void Ingest(bool breaks);
  void Finish(const Status& status, const char* what, bool synced = false);
  void Reopen();
  void LosePower();
  void ReadAll();
  void ReadSnapshot();
  void TakeIterator();
  void CheckEnd();
  void Abandon();

  Generator generator_;
  uint64_t steps_ = 0;
  Random random_;
  Options options_;
  Oracle oracle_;
  std::optional<Allowed> recovering_;  // while the run itself recovers from a crash
  uint64_t boot_ = 1;
  bool readers_beside_ = false;  // a flush or merge is under way, and no write
  uint64_t capture_in_ = 0;      // points until the crash; 0: none is planned
  std::optional<Captured> captured_;
  std::vector<HeldSnapshot> snapshots_;
  std::vector<std::unique_ptr<HeldIterator>> iterators_;
  std::unique_ptr<DB> db_;
};

/// Makes one run, in a fresh thread: with the same seed it is the same run whatever was run before.
std::optional<Failure> RunOnce(Device* device, const Workload& workload, uint64_t seed,
                               const RunSettings& settings);

}  // namespace braid::crash
