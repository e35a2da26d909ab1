#include "crash/crash_points.h"

#include <unistd.h>

#include <utility>

#include "base/random.h"
#include "crash/bare_database.h"

namespace braid::crash {
namespace {

constexpr uint64_t kDeviceBytes = 8u << 20;
constexpr uint64_t kProcessCrashOneIn = 4;  // points
constexpr unsigned kHangSeconds = 120;      // for the images of one point

}  // namespace

Position current_position;
const char* current_workload = "";

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
  sim_.set_on_point([this](pmem::PointKind) { OnPoint(); });
  current_workload = workload.name.c_str();
  current_position = {seed, 0, 0};
  ++device->checker.counts().runs;
}

void CrashPoints::Fail(std::string what, uint64_t point, uint64_t image) {
  if (!failure_.has_value()) failure_ = Failure{{seed_, point, image}, std::move(what)};
  muted_ = true;
}

void CrashPoints::OnPoint() {
  ++point_;
  if (!sim_.violation().empty()) Fail("safety net: " + sim_.violation());
  if (muted_) return;
  ++device_->checker.counts().points;
  const ReadSectionPause pause;
  current_position = {seed_, point_, 0};
  alarm(kHangSeconds);
  const uint64_t seed = Mix64(seed_ * 0x9E3779B97F4A7C15u + point_);
  const pmem::WritebackUnits units = sim_.Units();
  const pmem::ImagePlan plan(units.counts(), settings_.images, seed);
  if (settings_.replay.has_value()) {
    if (settings_.replay->point == point_) CheckImage(units, plan, settings_.replay->image);
  } else {
    // The image behind the last of the plan is a process crash; those behind it have a torn page.
    const bool process_crash = seed % kProcessCrashOneIn == 0;
    const uint64_t torn = workload_.media_class == MediaClass::kPage ? plan.size() / 2 : 0;
    for (uint64_t number = 0; number < plan.size() + 1 + torn; ++number) {
      if (number == plan.size() && !process_crash) continue;
      if (!CheckImage(units, plan, number)) break;
    }
    if (device_->checker.counts().images - first_image_count_ >= settings_.max_images)
      muted_ = true;
  }
  alarm(0);
  AfterPoint(units, plan);
}

bool CrashPoints::CheckImage(const pmem::WritebackUnits& units, const pmem::ImagePlan& plan,
                             uint64_t number) {
  current_position.image = number;
  Image image;
  image.process_crash = number == plan.size();
  const bool torn = number > plan.size();
  std::vector<uint32_t> choice = plan.all();
  if (!image.process_crash) plan.Choose(torn ? (number - plan.size()) * 2 - 1 : number, &choice);
  const std::vector<uint32_t> prefixes =
      units.LinePrefixes(choice, torn ? Mix64(seed_ ^ Mix64(point_ + number)) : 0);
  image.hash = sim_.ImageHash(prefixes);
  image.seed = Mix64(seed_ ^ Mix64(point_ ^ Mix64(number)));
  image.version = version();
  image.allowed = AllowedNow(image.process_crash);
  if (!settings_.replay.has_value() && !device_->checker.IsNew(image)) return true;
  device_->durable.PushFrame();
  sim_.MakeImage(prefixes);
  std::string wrong = device_->checker.Check(image);
  device_->durable.PopFrame();
  if (wrong.empty()) return true;
  Fail((image.process_crash ? "process crash: " : "") + wrong, point_, number);
  return false;
}

}  // namespace braid::crash
