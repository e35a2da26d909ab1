// One run of a workload on the simulated device: drives the database, stops at every crash point
// and has the images of that point checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "braid/db.h"
#include "crash/image_checker.h"
#include "crash/oracle.h"
#include "crash/position.h"
#include "crash/workload.h"
#include "pmem/sim_persist.h"

namespace braid::crash {

struct RunSettings {
  pmem::ImageLimits images;
  uint64_t max_images = ~0ull;     ///< the run ends after so many
  std::optional<Position> replay;  ///< check this image only
};

/// The memory of all runs, reused.
struct Device {
  Device();
  pmem::SimArea memory;   ///< what the running database sees
  pmem::SimArea durable;  ///< what is on the medium; images are made and recovered here
  ImageChecker checker;
};

struct Failure {
  Position position;
  std::string what;
};

class CrashRun {
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
  };

  void OnPoint();
  void ExplorePoint(const pmem::ImagePlan& plan, uint64_t seed);
  void ReplayPoint(const pmem::ImagePlan& plan, uint64_t seed);
  Image Demands(uint64_t seed) const;
  bool CheckImage(const pmem::ImagePlan& plan, uint64_t number, uint64_t seed);
  void Capture(const pmem::ImagePlan& plan);

  void Open(bool other_settings);
  void Step(Action action);
  void Write(Action action);
  void Finish(const Status& status, const char* what);
  void Reopen();
  void LosePower();
  void ReadAll();
  void ReadSnapshot();
  void CheckEnd();
  void Abandon();
  void Fail(std::string what, Position position);
  void Fail(std::string what) { Fail(std::move(what), {seed_, 0, 0, false, {}}); }

  Device* device_;
  const Workload& workload_;
  uint64_t seed_;
  RunSettings settings_;
  pmem::SimPersist sim_;
  Generator generator_;
  Random random_;
  Options options_;
  Oracle oracle_;
  std::optional<Allowed> recovering_;  // while the run itself recovers from a crash
  uint64_t boot_ = 1;
  uint64_t point_ = 0;
  uint64_t first_image_count_ = 0;
  bool muted_ = false;
  uint64_t capture_in_ = 0;  // points until the crash; 0: none is planned
  std::optional<Captured> captured_;
  std::vector<HeldSnapshot> snapshots_;
  std::unique_ptr<DB> db_;
  std::optional<Failure> failure_;
};

/// Makes one run, in a fresh thread: with the same seed it is the same run whatever was run before.
std::optional<Failure> RunOnce(Device* device, const Workload& workload, uint64_t seed,
                               const RunSettings& settings);

}  // namespace braid::crash
