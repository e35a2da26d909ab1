// The crash points of one run: stops the simulated device at each, has the images that a crash
// there may leave checked, and keeps the first failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "crash/image_checker.h"
#include "crash/oracle.h"
#include "crash/position.h"
#include "crash/workload.h"
#include "sim/sim_persist.h"

namespace braid::crash {

struct RunSettings {
  sim::ImageLimits images;
  uint64_t max_images = ~0ull;     ///< the run ends after so many
  std::optional<Position> replay;  ///< check this image only
};

/// The memory of all runs, reused.
struct Device {
  Device();
  sim::SimArea memory;   ///< what the running database sees
  sim::SimArea durable;  ///< what is on the medium; images are made and recovered here
  ImageChecker checker;
};

struct Failure {
  Position position;
  std::string what;
};

class CrashPoints {
 protected:
  CrashPoints(Device* device, const Workload& workload, uint64_t seed, const RunSettings& settings);
  virtual ~CrashPoints() = default;
  CrashPoints(const CrashPoints&) = delete;
  CrashPoints& operator=(const CrashPoints&) = delete;

  /// What a database may contain that is opened after a crash at this moment.
  virtual Allowed AllowedNow(bool process_crash) = 0;
  /// Grows whenever less is allowed than before.
  virtual uint64_t version() const = 0;
  /// Looks at a point that was checked.
  virtual void AfterPoint(const sim::WritebackUnits&, const sim::ImagePlan&) {}

  void OnPoint();
  void Fail(std::string what, Position position);
  void Fail(std::string what) { Fail(std::move(what), {seed_, 0, 0, false, {}}); }
  static std::string BootId(uint64_t boot) { return "boot-" + std::to_string(boot); }

  Device* device_;
  const Workload& workload_;
  uint64_t seed_;
  RunSettings settings_;
  sim::SimPersist sim_;
  uint64_t point_ = 0;
  bool muted_ = false;  // no further images of this run are wanted
  std::optional<Failure> failure_;

 private:
  void ExplorePoint(const sim::WritebackUnits& units, const sim::ImagePlan& plan, uint64_t seed);
  void ReplayPoint(const sim::WritebackUnits& units, const sim::ImagePlan& plan, uint64_t seed);
  /// What is demanded of every image of this point.
  Image Demands(uint64_t seed, bool process_crash);
  bool CheckImage(const sim::WritebackUnits& units, const sim::ImagePlan& plan, uint64_t number,
                  uint64_t seed);

  uint64_t first_image_count_;
};

}  // namespace braid::crash
