#include "crash/crash_run.h"

#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "crash/bare_database.h"
#include "pmem/sim_media.h"

namespace braid::crash {
namespace {

constexpr uint64_t kDeviceBytes = 8u << 20;
constexpr uint64_t kProcessCrashOneIn = 4;  // points
constexpr unsigned kHangSeconds = 120;      // for the images of one point

std::string BootId(uint64_t boot) { return "boot-" + std::to_string(boot); }

}  // namespace

Device::Device() : memory(kDeviceBytes), durable(kDeviceBytes), checker(&durable) {}

CrashRun::CrashRun(Device* device, const Workload& workload, uint64_t seed,
                   const RunSettings& settings)
    : device_(device),
      workload_(workload),
      seed_(seed),
      settings_(settings),
      sim_((device->memory.Reset(), device->durable.Reset(), &device->memory), &device->durable,
           seed),
      generator_(workload, Mix64(seed + 1)),
      random_(Mix64(seed + 2)),
      options_(DrawOptions(workload, &random_)),
      first_image_count_(device->checker.counts().images) {
  sim_.Start(0);
  sim_.set_on_point([this](pmem::PointKind) { OnPoint(); });
  device->checker.Begin(workload, options_, BootId(boot_));
}

void CrashRun::Fail(std::string what, Position position) {
  if (!failure_.has_value()) failure_ = Failure{std::move(position), std::move(what)};
  muted_ = true;
}

// ---- Crash points
// --------------------------------------------------------------------------------

void CrashRun::OnPoint() {
  ++point_;
  if (!sim_.violation().empty()) Fail("safety net: " + sim_.violation());
  if (muted_) return;
  ++device_->checker.counts().points;
  const ReadSectionPause pause;
  current_position = {seed_, point_, 0, false, {}};
  alarm(kHangSeconds);
  const uint64_t seed = Mix64(seed_ * 0x9E3779B97F4A7C15u + point_);
  const pmem::ImagePlan plan(sim_.PendingCounts(), settings_.images, seed);
  if (settings_.replay.has_value()) {
    if (settings_.replay->point == point_) ReplayPoint(plan, seed);
  } else {
    ExplorePoint(plan, seed);
    if (device_->checker.counts().images - first_image_count_ >= settings_.max_images)
      muted_ = true;
  }
  alarm(0);
  if (capture_in_ != 0 && --capture_in_ == 0 && !muted_) Capture(plan);
}

void CrashRun::ExplorePoint(const pmem::ImagePlan& plan, uint64_t seed) {
  uint64_t number = 0;
  if (device_->checker.prunes()) {
    const std::string wrong =
        device_->checker.Explore(&sim_, Demands(seed), settings_.images, 0, &current_position);
    if (!wrong.empty()) return Fail(wrong, current_position);
    number = plan.size();
  }
  // The image behind the last of the plan is a process crash.
  const uint64_t images = plan.size() + (seed % kProcessCrashOneIn == 0 ? 1 : 0);
  for (; number < images; ++number) {
    if (!CheckImage(plan, number, seed)) break;
  }
}

void CrashRun::ReplayPoint(const pmem::ImagePlan& plan, uint64_t seed) {
  const Position& position = *settings_.replay;
  if (!position.by_prefixes) {
    CheckImage(plan, position.image, seed);
    return;
  }
  std::vector<uint32_t> prefixes = position.prefixes;
  prefixes.resize(plan.all().size(), 0);
  for (size_t i = 0; i < prefixes.size(); ++i) prefixes[i] = std::min(prefixes[i], plan.all()[i]);
  current_position = position;
  const std::string wrong = device_->checker.CheckPrefixes(&sim_, prefixes, Demands(seed), 0);
  if (!wrong.empty()) Fail(wrong, position);
}

/// What is demanded of every image of this point.
Image CrashRun::Demands(uint64_t seed) const {
  Image image;
  image.seed = seed;
  image.settings_seed = seed;
  image.version = oracle_.version();
  image.allowed = recovering_.has_value() ? *recovering_ : oracle_.allowed();
  return image;
}

bool CrashRun::CheckImage(const pmem::ImagePlan& plan, uint64_t number, uint64_t seed) {
  current_position = {seed_, point_, number, false, {}};
  Image image = Demands(seed);
  image.process_crash = number >= plan.size();
  std::vector<uint32_t> prefixes = plan.all();
  if (!image.process_crash) plan.Choose(number, &prefixes);
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

/// Chooses one image for the run to go on with, after the operation under way has come to its end.
void CrashRun::Capture(const pmem::ImagePlan& plan) {
  Random random(Mix64(seed_ + 3) ^ point_);
  std::vector<uint32_t> prefixes;
  plan.Choose(random.Uniform(plan.size()), &prefixes);
  Captured captured;
  captured.hash = sim_.ImageHash(prefixes);
  captured.allowed = recovering_.has_value() ? *recovering_ : oracle_.allowed();
  captured.segments = device_->durable.segments();
  device_->durable.PushFrame();
  sim_.MakeImage(prefixes);
  const char* begin = device_->durable.base();
  captured.bytes.assign(begin, begin + device_->durable.published_bytes());
  device_->durable.PopFrame();
  captured_ = std::move(captured);
  muted_ = true;
}

// ---- The run
// -------------------------------------------------------------------------------------

std::optional<Failure> CrashRun::Run() {
  current_workload = workload_.name;
  current_position = {seed_, 0, 0, false, {}};
  ++device_->checker.counts().runs;
  oracle_.Begin({});
  Open(false);
  for (uint32_t i = 0; i < workload_.operations && !failure_.has_value(); ++i) {
    if (muted_ && !captured_.has_value()) break;
    ++device_->checker.counts().operations;
    Step(generator_.NextAction());
    if (captured_.has_value() && !failure_.has_value()) LosePower();
  }
  if (!failure_.has_value()) CheckEnd();
  Abandon();
  return failure_;
}

void CrashRun::Open(bool other_settings) {
  const Options options = other_settings ? OtherSettings(options_, &random_) : options_;
  Result<std::unique_ptr<DB>> opened =
      OpenBare(options, std::make_unique<pmem::SimMedia>(&sim_, BootId(boot_)));
  if (!opened.ok()) {
    Fail("open: " + opened.status().ToString());
    return;
  }
  db_ = std::move(*opened);
  if (recovering_.has_value()) {
    const std::string wrong = CheckContent(db_.get(), &*recovering_);
    if (!wrong.empty()) {
      Fail("after the crash of the run itself: " + wrong);
      return;
    }
    oracle_.Adopt(StateLeft(*recovering_));
    recovering_.reset();
  }
  Finish(Status::OK(), "open");
}

/// The operation in flight has returned.
void CrashRun::Finish(const Status& status, const char* what) {
  if (status.ok()) {
    oracle_.Acknowledge();
  } else if (status.IsOutOfSpace() && workload_.max_bytes != 0) {
    oracle_.Refuse();
  } else {
    Fail(std::string(what) + ": " + status.ToString());
    return;
  }
  sim_.Acknowledge();
}

void CrashRun::Step(Action action) {
  switch (action) {
    case Action::kPut:
    case Action::kDelete:
    case Action::kBatch:
      return Write(action);
    case Action::kFlush:
      oracle_.Begin({});
      return Finish(db_->Flush(), "flush");
    case Action::kCompact:
      oracle_.Begin({});
      return Finish(db_->Compact(), "compact");
    case Action::kTakeSnapshot:
      snapshots_.push_back({db_->GetSnapshot(), oracle_.acknowledged()});
      return;
    case Action::kDropSnapshot:
      if (!snapshots_.empty()) snapshots_.erase(snapshots_.begin());
      return;
    case Action::kReadSnapshot:
      return ReadSnapshot();
    case Action::kRead:
      return ReadAll();
    case Action::kReopen:
      return Reopen();
    case Action::kCrash:
      if (capture_in_ == 0) capture_in_ = 1 + random_.Uniform(24);
      return Write(Action::kPut);
  }
}

void CrashRun::Write(Action action) {
  std::vector<Update> updates = generator_.Updates(action);
  WriteBatch batch;
  for (const Update& update : updates) {
    if (update.value.has_value()) {
      batch.Put(update.key, *update.value);
    } else {
      batch.Delete(update.key);
    }
  }
  oracle_.Begin(updates);
  if (action == Action::kBatch) return Finish(db_->Write(batch), "batch");
  const Update& update = updates.front();
  if (update.value.has_value()) return Finish(db_->Put(update.key, *update.value), "put");
  Finish(db_->Delete(update.key), "delete");
}

void CrashRun::Reopen() {
  snapshots_.clear();
  oracle_.Begin({});
  const Status status = db_->Close();
  db_.reset();
  if (!status.ok()) return Fail("close: " + status.ToString());
  Open(random_.OneIn(2));
}

/// The run goes through the crash that was captured: memory is what it left, and another boot
/// follows.
void CrashRun::LosePower() {
  Abandon();
  for (pmem::SimArea* area : {&device_->memory, &device_->durable}) {
    area->Reset();
    area->set_segments(captured_->segments);
    std::copy(captured_->bytes.begin(), captured_->bytes.end(), area->base());
  }
  sim_.Start(captured_->hash);
  recovering_ = std::move(captured_->allowed);
  captured_.reset();
  muted_ = false;
  device_->checker.set_boot_id(BootId(++boot_));
  Open(random_.OneIn(2));
}

void CrashRun::ReadAll() {
  Allowed allowed = oracle_.allowed();
  std::string wrong = CheckContent(db_.get(), &allowed);
  if (!wrong.empty()) Fail("reading the running database: " + wrong);
}

void CrashRun::ReadSnapshot() {
  if (snapshots_.empty()) return;
  const HeldSnapshot& held = snapshots_[random_.Uniform(snapshots_.size())];
  ReadOptions options;
  options.snapshot = held.snapshot.get();
  auto expected = held.content.begin();
  const std::unique_ptr<Iterator> it = db_->NewIterator(options);
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
    if (expected == held.content.end() || it->key() != expected->first ||
        it->value() != expected->second) {
      return Fail("a snapshot shows " + Readable(it->key()) + " = " + Readable(it->value()) +
                  ", which it did not hold when it was taken");
    }
  }
  if (!it->status().ok()) return Fail("snapshot scan: " + it->status().ToString());
  if (expected != held.content.end()) {
    return Fail("a snapshot has lost " + Readable(expected->first));
  }
  std::string value;
  for (const auto& [key, old_value] : held.content) {
    const Status status = db_->Get(options, key, &value);
    if (!status.ok() || value != old_value) {
      return Fail("a snapshot's get of " + Readable(key) + ": " + status.ToString());
    }
  }
}

void CrashRun::CheckEnd() {
  ReadAll();
  const std::string wrong = CheckStructure(db_.get());
  if (!wrong.empty()) Fail("the running database: " + wrong);
  sim_.CheckWholePool();
  if (!sim_.violation().empty()) Fail("safety net: " + sim_.violation());
}

void CrashRun::Abandon() {
  snapshots_.clear();
  sim_.set_tracking(false);
  db_.reset();
}

std::optional<Failure> RunOnce(Device* device, const Workload& workload, uint64_t seed,
                               const RunSettings& settings) {
  std::optional<Failure> failure;
  std::thread worker([&] { failure = CrashRun(device, workload, seed, settings).Run(); });
  worker.join();
  return failure;
}

}  // namespace braid::crash
