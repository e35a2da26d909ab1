// The wB+-tree in the crash simulator: at every fence and acknowledgement, each of many images of
// the memory that a power loss could leave is opened, and must hold exactly what was acknowledged,
// with or without the one change that is under way. Faulty flushes and fences must be found.
#if defined(BRAID_CRASHSIM)

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/wbtree/wb_tree.h"
#include "sim/sim_media.h"
#include "sim/sim_persist.h"
#include "support/environment.h"

namespace braid::bench::wbtree {
namespace {

using sim::SimArea;
using sim::SimMedia;
using sim::SimPersist;
using Model = std::map<uint64_t, uint64_t>;

constexpr uint64_t kBytes = 128 * 1024;
constexpr uint64_t kSegment = 32 * 1024;  // so that the pool grows, too
constexpr sim::ImageLimits kLimits{256, 40};

WbTreeOptions TestOptions(bool update_in_place) {
  WbTreeOptions options;
  options.initial_bytes = kSegment;
  options.growth_bytes = kSegment;
  options.update_in_place = update_in_place;
  return options;
}

/// What is left out of the tree's calls to the seam.
enum class Fault {
  kNone,
  kRedoRecordNotFlushed,
  kNewLeafNotFlushed,
  kEntryNotFlushed,
  kSlotsNotFlushed,
  kInvalidSlotsNotFlushed,
  kBitmapNotFlushed,
  kFirstFence,
  kSecondFence,
  kThirdFence,
};

/// Stands between the tree and the simulator, and leaves out what the fault says.
class FaultyHook final : public media::PersistHook {
 public:
  FaultyHook(SimPersist* sim, Fault fault) : sim_(sim), fault_(fault) {}
  void BeginOperation() { fences_ = 0; }
  void BeforeStore(const void* address, size_t n) override { sim_->BeforeStore(address, n); }
  void AfterStore(const void* address, size_t n) override { sim_->AfterStore(address, n); }
  void OnFlush(const void* address, size_t n) override {
    if (fault_ != Fault::kNone && KindOf(address, n) == fault_) return;
    sim_->OnFlush(address, n);
  }
  void OnFence() override {
    ++fences_;
    if (fault_ == Fault::kFirstFence && fences_ == 1) return;
    if (fault_ == Fault::kSecondFence && fences_ == 2) return;
    if (fault_ == Fault::kThirdFence && fences_ == 3) return;
    sim_->OnFence();
  }

 private:
  Fault KindOf(const void* address, size_t n) const {
    const auto offset =
        static_cast<uint64_t>(static_cast<const char*>(address) - sim_->memory()->base());
    if (offset < kRedoOffset) return Fault::kNone;
    if (offset < kLeavesOffset) return Fault::kRedoRecordNotFlushed;
    const uint64_t in_leaf = (offset - kLeavesOffset) % sizeof(Leaf);
    if (in_leaf >= kLeafHeadBytes) return Fault::kEntryNotFlushed;
    if (in_leaf >= offsetof(Leaf, slots)) return Fault::kSlotsNotFlushed;
    if (n > media::kLineBytes) return Fault::kNewLeafNotFlushed;
    const uint64_t bitmap = *static_cast<const uint64_t*>(address);
    return (bitmap & kSlotsValid) != 0 ? Fault::kBitmapNotFlushed : Fault::kInvalidSlotsNotFlushed;
  }

  SimPersist* sim_;
  const Fault fault_;
  uint32_t fences_ = 0;
};

/// A simulated medium with another hook.
class HookedMedia final : public media::Media {
 public:
  HookedMedia(SimPersist* sim, media::PersistHook* hook) : media_(sim, "boot"), hook_(hook) {}
  char* base() const noexcept override { return media_.base(); }
  uint64_t reserved_bytes() const noexcept override { return media_.reserved_bytes(); }
  MediaClass media_class() const noexcept override { return media_.media_class(); }
  bool media_class_forced() const noexcept override { return false; }
  std::vector<uint64_t> segment_bytes() const override { return media_.segment_bytes(); }
  Status AddSegment(uint64_t bytes) override { return media_.AddSegment(bytes); }
  Status PublishSegment() override { return media_.PublishSegment(); }
  Status DropSegment() override { return media_.DropSegment(); }
  Status SyncAll() override { return media_.Sync(media::Site::kOutside); }
  Status SyncPages(uint64_t offset, uint64_t bytes) override {
    return media_.SyncRange(offset, bytes, media::Site::kOutside);
  }
  void Prefault(uint64_t, uint64_t) noexcept override {}
  std::string boot_id() const override { return media_.boot_id(); }
  std::string Locate(uint64_t offset) const override { return media_.Locate(offset); }
  media::PersistHook* hook() noexcept override { return hook_; }

 private:
  SimMedia media_;
  media::PersistHook* hook_;
};

std::string Describe(const Model& found, const Model& before, const Model& after) {
  std::string text = "content is neither the one before nor the one after the change:";
  for (const auto& [key, value] : before) {
    const auto at = found.find(key);
    if (at == found.end() || at->second != value) text += " lost " + std::to_string(key);
  }
  for (const auto& [key, value] : found) {
    if (before.count(key) == 0 && after.count(key) == 0) text += " invented " + std::to_string(key);
  }
  return text;
}

/// A tree that works on a simulated device, and what is expected of each crash.
class CrashRun {
 public:
  CrashRun(uint64_t seed, MediaClass media_class, Fault fault, bool update_in_place)
      : random_(seed),
        memory_(kBytes),
        durable_(kBytes),
        sim_(&memory_, &durable_, seed, media_class),
        hook_(&sim_, fault),
        options_(TestOptions(update_in_place)) {}

  /// Empty, or the first thing that went wrong.
  std::string Run(uint64_t operations, uint64_t key_space) {
    sim_.set_on_point([this](sim::PointKind) { LookAtImages(); });
    Result<std::unique_ptr<WbTree>> tree =
        WbTree::Open(std::make_unique<HookedMedia>(&sim_, &hook_), options_);
    if (!tree.ok()) return tree.status().ToString();
    for (uint64_t i = 0; i < operations && wrong_.empty(); ++i) {
      hook_.BeginOperation();
      const uint64_t key = random_.Below(key_space);
      after_ = before_;
      if (random_.Below(5) == 0) {
        after_.erase(key);
        (*tree)->Delete(key);
      } else {
        after_[key] = i;
        if (const Status put = (*tree)->Put(key, i); !put.ok()) return put.ToString();
      }
      before_ = after_;
      sim_.Acknowledge();
    }
    sim_.set_on_point({});
    sim_.CheckWholePool();
    splits_ = (*tree)->Statistics().splits;
    return wrong_.empty() ? sim_.violation() : wrong_;
  }

  uint64_t images() const { return images_; }
  uint64_t nested() const { return nested_; }
  uint64_t redone() const { return redone_; }
  uint64_t rebuilt() const { return rebuilt_; }
  uint64_t splits() const { return splits_; }

 private:
  /// At a point of the run: the images that are allowed now.
  void LookAtImages() {
    if (!wrong_.empty()) return;
    const sim::WritebackUnits units = sim_.Units();
    const sim::ImagePlan plan(units.counts(), kLimits, random_.Next());
    std::vector<uint32_t> choice;
    for (uint64_t image = 0; image < plan.size() && wrong_.empty(); ++image) {
      plan.Choose(image, &choice);
      const std::vector<uint32_t> prefixes = units.LinePrefixes(choice, 0);
      durable_.PushFrame();
      sim_.MakeImage(prefixes);
      CheckImage(sim_.ImageHash(prefixes));
      durable_.PopFrame();
    }
  }

  /// The device as a crash has left it, in `durable_`.
  void CheckImage(uint64_t hash) {
    ++images_;
    // Before the first segment is published there is no tree; opening would make one.
    if (durable_.segments().empty()) return;
    SimPersist recovery(&durable_, nullptr, 1, sim_.media_class());
    const bool nest = random_.Below(16) == 0;
    if (nest) {
      recovery.Start(hash);
      recovery.set_on_point([&](sim::PointKind) { LookInsideRecovery(&recovery); });
    } else {
      recovery.set_tracking(false);
    }
    Result<std::unique_ptr<WbTree>> tree =
        WbTree::Open(std::make_unique<SimMedia>(&recovery, "boot"), options_);
    recovery.set_on_point({});
    recovery.set_tracking(false);
    CheckTree(&tree);
  }

  /// A crash while a crashed tree recovers.
  void LookInsideRecovery(SimPersist* recovery) {
    const sim::WritebackUnits units = recovery->Units();
    const sim::ImagePlan plan(units.counts(), {16, 8}, random_.Next());
    std::vector<uint32_t> choice;
    for (uint64_t image = 0; image < plan.size() && wrong_.empty(); ++image) {
      ++nested_;
      plan.Choose(image, &choice);
      durable_.PushFrame();
      recovery->MakeImage(units.LinePrefixes(choice, 0));
      SimPersist second(&durable_, nullptr, 1, sim_.media_class());
      second.set_tracking(false);
      Result<std::unique_ptr<WbTree>> tree =
          WbTree::Open(std::make_unique<SimMedia>(&second, "boot"), options_);
      CheckTree(&tree);
      durable_.PopFrame();
    }
  }

  void CheckTree(Result<std::unique_ptr<WbTree>>* opened) {
    if (!opened->ok()) {
      wrong_ = opened->status().ToString();
      return;
    }
    WbTree* tree = (*opened)->get();
    const WbTreeStatistics statistics = tree->Statistics();
    redone_ += statistics.redone_splits;
    rebuilt_ += statistics.rebuilt_slots;
    Model found;
    tree->ScanFrom(0, [&](uint64_t key, uint64_t value) {
      found[key] = value;
      return true;
    });
    if (found != before_ && found != after_) wrong_ = Describe(found, before_, after_);
    if (const Status verified = tree->Verify(); wrong_.empty() && !verified.ok()) {
      wrong_ = verified.ToString();
    }
    // It must go on working, splits included.
    if (!wrong_.empty() || random_.Below(32) != 0) return;
    for (uint64_t key = 0; key < 200; ++key) {
      if (!tree->Put(key * 3, key).ok()) return;  // the device is full
      found[key * 3] = key;
    }
    uint64_t count = 0;
    tree->ScanFrom(0, [&](uint64_t key, uint64_t value) {
      const auto at = found.find(key);
      if (at == found.end() || at->second != value) wrong_ = "wrong after more writes";
      ++count;
      return true;
    });
    if (count != found.size()) wrong_ = "lost something after more writes";
    if (const Status verified = tree->Verify(); !verified.ok()) wrong_ = verified.ToString();
  }

  test::Random random_;
  SimArea memory_;
  SimArea durable_;
  SimPersist sim_;
  FaultyHook hook_;
  const WbTreeOptions options_;
  Model before_;
  Model after_;
  std::string wrong_;
  uint64_t images_ = 0;
  uint64_t nested_ = 0;
  uint64_t redone_ = 0;
  uint64_t rebuilt_ = 0;
  uint64_t splits_ = 0;
};

/// So that leaves are split, and a crash lies in the middle of that.
constexpr uint64_t kFewestSteps = 100;

class WbTreeCrashTest : public ::testing::TestWithParam<MediaClass> {};

TEST_P(WbTreeCrashTest, EveryImageHoldsWhatWasAcknowledged) {
  SCOPED_TRACE(test::ReplayLine());
  CrashRun run(test::BaseSeed(), GetParam(), Fault::kNone, false);
  EXPECT_EQ(run.Run(std::max<uint64_t>(test::Sized(600, 6'000), kFewestSteps), 900), "");
  std::printf(
      "[ crashes  ] %llu images, %llu inside recovery, %llu splits, %llu redone, %llu slots "
      "rebuilt\n",
      static_cast<unsigned long long>(run.images()), static_cast<unsigned long long>(run.nested()),
      static_cast<unsigned long long>(run.splits()), static_cast<unsigned long long>(run.redone()),
      static_cast<unsigned long long>(run.rebuilt()));
  EXPECT_GT(run.splits(), 0u);
  EXPECT_GT(run.redone(), 0u);
  EXPECT_GT(run.rebuilt(), 0u);
  EXPECT_GT(run.nested(), 0u);
}

TEST_P(WbTreeCrashTest, EveryImageHoldsWhatWasAcknowledgedWithUpdatesInPlace) {
  SCOPED_TRACE(test::ReplayLine());
  CrashRun run(test::BaseSeed(), GetParam(), Fault::kNone, true);
  EXPECT_EQ(run.Run(test::Sized(300, 6'000), 150), "");
}

INSTANTIATE_TEST_SUITE_P(Media, WbTreeCrashTest,
                         ::testing::Values(MediaClass::kCacheLine, MediaClass::kByte),
                         [](const auto& param_info) {
                           return std::string(MediaClassName(param_info.param));
                         });

class WbTreeFaultTest : public ::testing::TestWithParam<Fault> {};

TEST_P(WbTreeFaultTest, IsFound) {
  SCOPED_TRACE(test::ReplayLine());
  CrashRun run(test::BaseSeed(), MediaClass::kCacheLine, GetParam(), false);
  EXPECT_NE(run.Run(2'000, 900), "");
}

std::string FaultName(const ::testing::TestParamInfo<Fault>& tested) {
  switch (tested.param) {
    case Fault::kNone:
      return "None";
    case Fault::kRedoRecordNotFlushed:
      return "RedoRecordNotFlushed";
    case Fault::kNewLeafNotFlushed:
      return "NewLeafNotFlushed";
    case Fault::kEntryNotFlushed:
      return "EntryNotFlushed";
    case Fault::kSlotsNotFlushed:
      return "SlotsNotFlushed";
    case Fault::kInvalidSlotsNotFlushed:
      return "InvalidSlotsNotFlushed";
    case Fault::kBitmapNotFlushed:
      return "BitmapNotFlushed";
    case Fault::kFirstFence:
      return "FirstFence";
    case Fault::kSecondFence:
      return "SecondFence";
    case Fault::kThirdFence:
      return "ThirdFence";
  }
  return "Unknown";
}

INSTANTIATE_TEST_SUITE_P(Faults, WbTreeFaultTest,
                         ::testing::Values(Fault::kRedoRecordNotFlushed, Fault::kNewLeafNotFlushed,
                                           Fault::kEntryNotFlushed, Fault::kSlotsNotFlushed,
                                           Fault::kInvalidSlotsNotFlushed, Fault::kBitmapNotFlushed,
                                           Fault::kFirstFence, Fault::kSecondFence,
                                           Fault::kThirdFence),
                         FaultName);

}  // namespace
}  // namespace braid::bench::wbtree

#endif  // BRAID_CRASHSIM
