#include "crash/crash_points.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "crash/bare_database.h"

namespace braid::crash {
namespace {

constexpr uint64_t kDeviceBytes = 8u << 20;
constexpr uint64_t kProcessCrashOneIn = 4;  // points
constexpr unsigned kHangSeconds = 120;      // for the images of one point

}  // namespace

Device::Device() : memory(kDeviceBytes), durable(kDeviceBytes), checker(&durable) {}

CrashPoints::CrashPoints(Device* device, const Workload& workload, uint64_t seed,
                         const RunSettings& settings)
    : device_(device),
      workload_(workload),
      seed_(seed),
      settings_(settings),
      sim_((device->memory.Reset(), device->durable.Reset(), &device->memory), &device->durable,
           seed, workload.media_class),
      first_image_count_(device->checker.counts().images) {
  sim_.Start(0);
  sim_.set_on_point([this](sim::PointKind) { OnPoint(); });
  current_workload = workload.name.c_str();
  current_position = {seed, 0, 0, false, {}};
  ++device->checker.counts().runs;
}

void CrashPoints::Fail(std::string what, Position position) {
  if (!failure_.has_value()) failure_ = Failure{std::move(position), std::move(what)};
  muted_ = true;
}

void CrashPoints::OnPoint() {
  ++point_;
  if (!sim_.violation().empty()) Fail("safety net: " + sim_.violation());
  if (muted_) return;
  ++device_->checker.counts().points;
  const ReadSectionPause pause;
  current_position = {seed_, point_, 0, false, {}};
  alarm(kHangSeconds);
  const uint64_t seed = Mix64(seed_ * 0x9E3779B97F4A7C15u + point_);
  const sim::WritebackUnits units = sim_.Units();
  const sim::ImagePlan plan(units.counts(), settings_.images, seed);
  if (settings_.replay.has_value()) {
    if (settings_.replay->point == point_) ReplayPoint(units, plan, seed);
  } else if (Mix64(seed + 5) % workload_.point_one_in == 0) {
    ExplorePoint(units, plan, seed);
    if (device_->checker.counts().images - first_image_count_ >= settings_.max_images)
      muted_ = true;
  }
  alarm(0);
  AfterPoint(units, plan);
}

void CrashPoints::ExplorePoint(const sim::WritebackUnits& units, const sim::ImagePlan& plan,
                               uint64_t seed) {
  uint64_t number = 0;
  if (device_->checker.prunes()) {
    const std::string wrong = device_->checker.Explore(&sim_, Demands(seed, false),
                                                       settings_.images, 0, &current_position);
    if (!wrong.empty()) return Fail(wrong, current_position);
    number = plan.size();
  }
  // The image behind the last of the plan is a process crash; those behind it have a torn page.
  const bool process_crash = seed % kProcessCrashOneIn == 0;
  const uint64_t torn = workload_.media_class == MediaClass::kPage ? plan.size() / 2 : 0;
  for (; number < plan.size() + 1 + torn; ++number) {
    if (number == plan.size() && !process_crash) continue;
    if (!CheckImage(units, plan, number, seed)) break;
  }
}

void CrashPoints::ReplayPoint(const sim::WritebackUnits& units, const sim::ImagePlan& plan,
                              uint64_t seed) {
  const Position& position = *settings_.replay;
  if (!position.by_prefixes) {
    CheckImage(units, plan, position.image, seed);
    return;
  }
  std::vector<uint32_t> prefixes = position.prefixes;
  prefixes.resize(plan.all().size(), 0);
  for (size_t i = 0; i < prefixes.size(); ++i) prefixes[i] = std::min(prefixes[i], plan.all()[i]);
  current_position = position;
  const std::string wrong =
      device_->checker.CheckPrefixes(&sim_, prefixes, Demands(seed, false), 0);
  if (!wrong.empty()) Fail(wrong, position);
}

Image CrashPoints::Demands(uint64_t seed, bool process_crash) {
  Image image;
  image.seed = seed;
  image.settings_seed = seed;
  image.version = version();
  image.process_crash = process_crash;
  image.allowed = AllowedNow(process_crash);
  // What the page cache still holds outlives the process too, but promises nothing.
  if (process_crash && workload_.media_class != MediaClass::kPage) image.cache = &sim_;
  return image;
}

bool CrashPoints::CheckImage(const sim::WritebackUnits& units, const sim::ImagePlan& plan,
                             uint64_t number, uint64_t seed) {
  current_position = {seed_, point_, number, false, {}};
  Image image = Demands(seed, number == plan.size());
  const bool torn = number > plan.size();
  std::vector<uint32_t> choice = plan.all();
  if (!image.process_crash) plan.Choose(torn ? (number - plan.size()) * 2 - 1 : number, &choice);
  const std::vector<uint32_t> prefixes =
      units.LinePrefixes(choice, torn ? Mix64(seed_ ^ Mix64(point_ + number)) : 0);
  image.hash = sim_.ImageHash(prefixes);
  image.seed = Mix64(seed_ ^ Mix64(point_ ^ Mix64(number)));
  image.settings_seed = image.seed;
  if (!settings_.replay.has_value() && !device_->checker.IsNew(image)) return true;
  ++device_->checker.counts().images;
  device_->durable.PushFrame();
  sim_.MakeImage(prefixes);
  std::string wrong = device_->checker.Check(image);
  device_->durable.PopFrame();
  if (wrong.empty()) return true;
  Fail((image.process_crash ? "process crash: " : "") + wrong, current_position);
  return false;
}

}  // namespace braid::crash
