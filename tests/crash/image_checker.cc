#include "crash/image_checker.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "base/thread_random.h"
#include "crash/bare_database.h"
#include "db/key_tree.h"
#include "format/layout.h"
#include "fuzz/fuzz_common.h"
#include "pool/pool_facts.h"
#include "repair/salvage.h"
#include "sim/sim_media.h"

namespace braid::crash {
namespace {

constexpr uint64_t kNestedOneIn[kMaxDepth] = {16, 8, 8};  // by depth of the image
constexpr uint64_t kNestedPointOneIn = 3;
constexpr sim::ImageLimits kNestedImages{6, 5};
constexpr uint64_t kContinueOneIn = 32;
constexpr int kContinuedOperations = 32;
constexpr uint64_t kOtherSettingsOneIn = 4;
constexpr uint64_t kDumpOneIn = 499;

/// What a database draws at random comes from a stream of its thread: here from one of its own, so
/// that the stream of the running one does not depend on which images were looked at, and a replay,
/// which looks at one, comes by the same.
class OwnDraws {
 public:
  explicit OwnDraws(uint64_t seed) : before_(base::ThreadStream()) {
    base::ThreadStream() = SplitMix64(seed);
  }
  OwnDraws(const OwnDraws&) = delete;
  OwnDraws& operator=(const OwnDraws&) = delete;
  ~OwnDraws() { base::ThreadStream() = before_; }

 private:
  SplitMix64 before_;
};

/// What is done to the tier of an image is taken back: a crash inside recovery has its own.
class TierAsBefore {
 public:
  explicit TierAsBefore(tier::MemoryDevice* device) : device_(device) {
    if (device_ != nullptr) before_ = device_->state();
  }
  TierAsBefore(const TierAsBefore&) = delete;
  TierAsBefore& operator=(const TierAsBefore&) = delete;
  ~TierAsBefore() {
    if (device_ != nullptr) device_->set_state(std::move(before_));
  }

 private:
  tier::MemoryDevice* const device_;
  tier::MemoryDevice::State before_;
};

/// BRAID_CRASH_DUMP=<folder>: keeps some images there, as inputs of fuzz_pool.
void DumpSome(const sim::SimArea& area, uint64_t number) {
  const char* folder = std::getenv("BRAID_CRASH_DUMP");
  if (folder == nullptr || number % kDumpOneIn != 0) return;
  fuzz::PoolBytes pool;
  pool.segments = area.segments();
  if (pool.segments.size() > fuzz::kMaxFuzzSegments ||
      area.published_bytes() > fuzz::kMaxFuzzPool) {
    return;
  }
  pool.seed = static_cast<uint8_t>(number / kDumpOneIn);
  pool.bytes.assign(area.base(), area.base() + area.published_bytes());
  std::ofstream out(std::string(folder) + "/crash-image-" + std::to_string(number),
                    std::ios::binary);
  out << fuzz::EncodePool(pool);
}

}  // namespace

void Counts::Add(const Counts& other) {
  images += other.images;
  pruned += other.pruned;
  for (size_t i = 0; i <= kMaxDepth; ++i) nested[i] += other.nested[i];
  process_crashes += other.process_crashes;
  continued += other.continued;
  duplicates += other.duplicates;
  readers += other.readers;
  repaired += other.repaired;
  rechecked += other.rechecked;
  points += other.points;
  complete += other.complete;
  runs += other.runs;
  operations += other.operations;
}

std::string CheckStructure(DB* db, VerifyReport* into) {
  const Statistics found = db->GetStatistics();
  if (found.clean_open != 0 && found.recovered_entries != 0) {
    return "the pool was marked as closed, and a log of entries was in it";
  }
  VerifyReport own;
  VerifyReport& report = into != nullptr ? *into : own;
  const Status status = db->Verify(&report);
  if (status.ok() && report.problems.empty()) return {};
  std::string wrong = "Verify: " + status.ToString();
  for (size_t i = 0; i < report.problems.size() && i < 3; ++i) wrong += "; " + report.problems[i];
  return wrong;
}

namespace {

/// Headers and state tables, and redo chunks: two, and as many again for each other merge that ever
/// was open beside the first. The chunk size is the pool's own: one that an
/// image did not hold yet was made by the open that followed.
uint64_t UsedByAnEmptyPool(const sim::SimArea& area) {
  format::PoolHeader header;
  std::memcpy(&header, area.base() + format::kPoolHeaderOffset[0], sizeof header);
  uint64_t redo_chunks = 0;
  uint64_t segment = 0;  // where it begins
  uint64_t used = 0;
  for (size_t i = 0; i < area.segments().size(); ++i) {
    const uint64_t table = format::StateTableOffset(static_cast<uint32_t>(i), header.regions);
    const uint64_t end = table + area.segments()[i] / header.chunk_bytes * sizeof(uint64_t);
    used += (end + header.chunk_bytes - 1) / header.chunk_bytes * header.chunk_bytes;
    for (uint64_t at = table; at < end; at += sizeof(uint64_t)) {
      format::ChunkState state;
      std::memcpy(&state.raw, area.base() + segment + at, sizeof state.raw);
      redo_chunks += state.kind() == format::ChunkKind::kRedo ? 1 : 0;
    }
    segment += area.segments()[i];
  }
  return used + std::clamp<uint64_t>(redo_chunks, 2, 2 * format::kMaxMerges) * header.chunk_bytes;
}

/// The pool header counts the segments that there are.
std::string CheckSegments(const sim::SimArea& area) {
  format::PoolHeader copies[2];
  for (int i = 0; i < 2; ++i) {
    std::memcpy(&copies[i], area.base() + format::kPoolHeaderOffset[i], sizeof copies[i]);
  }
  Result<format::PoolHeader> header = pool::ChooseHeader(copies, "the pool");
  if (!header.ok()) return header.status().ToString();
  if (header->segments == area.segments().size()) return {};
  return "the pool header counts " + std::to_string(header->segments) + " segments, there are " +
         std::to_string(area.segments().size());
}

}  // namespace

std::string CheckEmptied(DB* db, const std::set<std::string>& keys, const sim::SimArea& area,
                         uint64_t most_left) {
  uint64_t used = 0;
  // A merge drops a few old versions of a key at a time, so one round may leave some.
  for (int round = 0; round < 4; ++round) {
    for (const std::string& key : keys) {
      const Status status = db->Delete(key);
      if (status.IsOutOfSpace()) return {};
      if (!status.ok()) return "emptying: " + status.ToString();
    }
    if (const Status status = db->Compact(); !status.ok()) return "emptying: " + status.ToString();
    used = db->GetStatistics().pool_used_bytes;
    const uint64_t empty = UsedByAnEmptyPool(area);
    if (used >= empty && used <= empty + most_left) return {};
  }
  return "an emptied pool uses " + std::to_string(used) + " bytes, an empty one " +
         std::to_string(UsedByAnEmptyPool(area));
}

ImageChecker::ImageChecker(sim::SimArea* area) : area_(area) {
  const char* prune = std::getenv("BRAID_CRASH_PRUNE");
  may_prune_ = sim::ReadsAreHooked() && (prune == nullptr || *prune != '0');
  for (size_t depth = 0; depth <= kMaxDepth; ++depth) {
    levels_[depth].sim = std::make_unique<sim::SimPersist>(area, nullptr, depth + 1);
    levels_[depth].sim->set_tracking(false);
    levels_[depth].tracker = std::make_unique<sim::ReadTracker>(*area);
  }
}

void ImageChecker::Begin(const Workload& workload, const Options& options,
                         const std::string& boot_id) {
  workload_ = &workload;
  options_ = options;
  if (workload.tier_bytes != 0) options_.tier.path = kImageTier;
  run_tier_.set_state({});
  tier::SetPoolBytes(workload.tier_bytes);
  boot_id_ = boot_id;
  seen_.clear();
  nested_failure_.clear();
  prunes_ = may_prune_ && workload.media_class == MediaClass::kCacheLine;
  for (const Level& level : levels_) {
    level.sim->AdoptThread();
    level.sim->set_media_class(workload.media_class);
  }
}

bool ImageChecker::IsNew(const Image& image) {
  // What was right under the demands of an earlier version must be looked at again.
  if (image.version != seen_version_) seen_.clear();
  seen_version_ = image.version;
  const uint64_t tier = run_tier_.state().changes;
  if (seen_.insert(image.hash ^ Mix64(image.allowed.mask * 2 + image.process_crash) ^ Mix64(tier))
          .second) {
    return true;
  }
  ++counts_.duplicates;
  return false;
}

Result<std::unique_ptr<DB>> ImageChecker::Open(size_t depth, const Options& options,
                                               const std::string& boot_id) {
  return OpenBare(options, std::make_unique<sim::SimMedia>(levels_[depth].sim.get(), boot_id),
                  workload_->compared);
}

void ImageChecker::TakeTier(bool process_crash) {
  if (workload_->tier_bytes == 0) return;
  tier::MemoryDevice::State state = run_tier_.state();
  if (!process_crash) state.LosePower();
  image_tier_.set_state(std::move(state));
}

void ImageChecker::Abandon(std::unique_ptr<DB> db) {
  area_->PushFrame();
  db.reset();
  area_->PopFrame();
}

bool ImageChecker::WillCrashAgain(const Image& image, size_t depth) {
  if (image.cache != nullptr) return true;
  return depth < kMaxDepth && Random(Mix64(image.seed + 11)).OneIn(kNestedOneIn[depth]);
}

std::string ImageChecker::CheckAtDepth(const Image& image, size_t depth) {
  DumpSome(*area_, counts_.images);
  const OwnDraws draws(image.seed);
  const TierAsBefore tier(depth > 0 ? &image_tier_ : nullptr);
  if (image.process_crash) ++counts_.process_crashes;
  Random settings_random(image.settings_seed);
  Random random(image.seed);
  const std::string boot_id =
      image.process_crash ? boot_id_ : boot_id_ + "+" + std::to_string(depth + 1);
  const Options options = settings_random.OneIn(kOtherSettingsOneIn)
                              ? OtherSettings(options_, &settings_random)
                              : options_;
  sim::SimPersist& sim = *levels_[depth].sim;
  // Not while reads are noted: what recovery inside recovery reads is its own.
  const bool nest = !levels_[depth].tracked && WillCrashAgain(image, depth);
  Allowed allowed = image.allowed;
  if (nest) {
    sim.Start(image.hash);
    if (image.cache != nullptr) sim.Inherit(*image.cache);
    Random nested_random(random.Next());
    sim.set_on_point([&, nested_random](sim::PointKind) mutable {
      NestedPoint(image, allowed, depth, &nested_random);
    });
  }

  Level& level = levels_[depth];
  std::string wrong = CheckRepair(image, boot_id);
  if (wrong.empty() && !nest) wrong = CheckReader(image, options, boot_id, depth, &allowed);
  if (!wrong.empty()) return wrong;
  if (level.tracked) level.tracker->Begin();
  Result<std::unique_ptr<DB>> opened = Open(depth, options, boot_id);
  VerifyReport report;
  if (!opened.ok()) {
    wrong = "open: " + opened.status().ToString();
  } else {
    wrong = CheckContent(opened->get(), &allowed);
    const std::string structure = CheckStructure(opened->get(), &report);
    if (!structure.empty()) wrong += (wrong.empty() ? "" : "; ") + structure;
    if (wrong.empty()) wrong = CheckSegments(*area_);
    // A reader has seen the recovered state: another crash must not take it back.
    if (nest && wrong.empty()) sim.Acknowledge();
  }
  if (nest) {
    sim.set_on_point({});
    sim.set_tracking(false);
    if (wrong.empty()) wrong = sim.violation();
    if (wrong.empty()) std::swap(wrong, nested_failure_);
  }
  std::unique_ptr<DB> db = opened.ok() ? std::move(*opened) : nullptr;
  const bool again = wrong.empty();
  if (again) wrong = CheckAgain(options, boot_id, depth, &allowed, &db);
  level.tracker->End();
  level.outcome = Mix64(Mix64(Mix64(allowed.mask) + report.entries) + report.live_entries) +
                  report.links * report.chunks;
  if (wrong.empty() && depth == 0 && random.OneIn(kContinueOneIn)) {
    ++counts_.continued;
    // In a thread of its own, as another process would be.
    std::thread worker([&] {
      const OwnDraws worker_draws(image.seed);
      sim.AdoptThread();
      wrong = ContinueAndReopen(std::move(db), allowed, depth, boot_id, &random);
    });
    worker.join();
    sim.AdoptThread();
  }
  if (db != nullptr) Abandon(std::move(db));
  if (again) area_->PopFrame();
  return wrong;
}

std::string ImageChecker::CheckReader(const Image& image, Options options,
                                      const std::string& boot_id, size_t depth, Allowed* allowed) {
  // Not while reads are noted: it does the same work as the open that follows.
  if (!WillRead(image) || levels_[depth].tracked) return {};
  ++counts_.readers;
  options.read_only = true;
  area_->PushFrame();
  std::string wrong;
  {
    Result<std::unique_ptr<DB>> reader =
        OpenBare(options, std::make_unique<sim::SimMedia>(levels_[depth].sim.get(), boot_id, true),
                 workload_->compared);
    if (reader.ok()) {
      wrong = CheckContent(reader->get(), allowed);
      if (wrong.empty()) wrong = CheckStructure(reader->get());
    } else if (!reader.status().IsNotFound() && !reader.status().IsNotSupported()) {
      // These two: the crash was before the pool was made.
      wrong = "open: " + reader.status().ToString();
    }
  }
  area_->PopFrame();
  return wrong.empty() ? wrong : "opened for reading: " + wrong;
}

std::string ImageChecker::CheckRepair(const Image& image, const std::string& boot_id) {
  return WillRepair(image) ? CheckSalvage(boot_id, image.allowed, false) : std::string();
}

std::string ImageChecker::CheckSalvage(const std::string& boot_id, Allowed allowed, bool closed) {
  const sim::ReadPause pause;
  if (area_->published_bytes() == 0) return {};  // the crash was before the pool was made
  ++counts_.repaired;
  Result<std::unique_ptr<repair::Salvage>> read = repair::Salvage::Read(
      media::PoolImage::OfMemory(area_->base(), area_->segments()), {}, boot_id,
      image_tier_.state().id ? options_.tier.path : std::string());  // it was made before the crash
  if (!read.ok()) return "repair: " + read.status().ToString();
  Pairs found;
  const Status taken = (*read)->ForEachRecord([&](std::string_view key, std::string_view value) {
    // With a comparator what is salvaged are the values; the next open makes their order again.
    if (workload_->compared && !key.starts_with(kValues[0])) return Status::OK();
    found.emplace_back(key.substr(workload_->compared ? kValues[0].size() : 0), value);
    return Status::OK();
  });
  if (!taken.ok()) return "repair: " + taken.ToString();
  const RepairReport report = (*read)->TakeReport();
  std::string wrong = CheckPairs(found, &allowed);
  if (wrong.empty() && report.losses() != 0) wrong = "it says that something is lost";
  // What a power loss has taken from the page cache leaves traces that are remarked upon.
  closed = closed && workload_->media_class != MediaClass::kPage;
  // Behind the end of a log may lie what the chunk held in its earlier life.
  const bool all_of_ends =
      std::all_of(report.findings.begin(), report.findings.end(), [](const RepairFinding& finding) {
        return finding.problem.starts_with("the log ends here");
      });
  if (wrong.empty() && closed && !all_of_ends) wrong = "it finds fault with the pool";
  if (wrong.empty()) return {};
  wrong = "repair: " + wrong;
  for (size_t i = 0; i < report.findings.size() && i < 4; ++i) {
    wrong += "; " + report.findings[i].ToString();
  }
  return wrong;
}

/// A second recovery finds everything done: it changes nothing but the pool header, whose count of
/// updates grows.
std::string ImageChecker::CheckBytes() const {
  const sim::ReadPause pause;
  for (const uint64_t line : area_->ChangedLines()) {
    const uint64_t offset = line * media::kLineBytes;
    if (offset >= format::kPoolHeaderOffset[0] && offset < format::kManifestOffset[0]) continue;
    return "second recovery: it changes the line at offset " + std::to_string(offset) +
           ", which the first left otherwise";
  }
  return {};
}

std::string ImageChecker::CheckAgain(const Options& options, const std::string& boot_id,
                                     size_t depth, Allowed* allowed, std::unique_ptr<DB>* db) {
  levels_[depth].tracker->set_stores_stay(false);
  Abandon(std::move(*db));
  levels_[depth].tracker->set_stores_stay(true);
  area_->PushFrame();  // until the end of the check
  Result<std::unique_ptr<DB>> again = Open(depth, options, boot_id);
  if (!again.ok()) return "second recovery: open: " + again.status().ToString();
  *db = std::move(*again);
  // What stands above a recovery may write: the tree of a comparator is made again.
  const std::string changed = workload_->compared ? std::string() : CheckBytes();
  if (!changed.empty()) return changed;
  const std::string wrong = CheckContent(db->get(), allowed);
  return wrong.empty() ? wrong : "second recovery: " + wrong;
}

void ImageChecker::NestedPoint(const Image& outer, const Allowed& allowed, size_t depth,
                               Random* random) {
  if (!nested_failure_.empty() || !random->OneIn(kNestedPointOneIn)) return;
  const ReadSectionPause pause;
  const sim::ReadPause reads_pause;
  sim::SimPersist& sim = *levels_[depth].sim;
  const uint64_t seed = random->Next();
  const sim::WritebackUnits units = sim.Units();
  if (prunes_) {
    Image demands;
    demands.seed = seed;
    demands.settings_seed = seed;
    demands.version = outer.version;
    demands.allowed = allowed;
    const std::string wrong = Explore(&sim, demands, kNestedImages, depth + 1, nullptr);
    if (!wrong.empty()) {
      nested_failure_ =
          "crash inside recovery (fence " + std::to_string(sim.fences()) + "): " + wrong;
    }
    return;
  }
  const sim::ImagePlan plan(units.counts(), kNestedImages, seed);
  std::vector<uint32_t> choice;
  for (uint64_t number = 0; number < plan.size() && nested_failure_.empty(); ++number) {
    plan.Choose(number, &choice);
    const std::vector<uint32_t> prefixes = units.LinePrefixes(choice, 0);
    Image image;
    image.hash = sim.ImageHash(prefixes);
    image.seed = Mix64(seed + number);
    image.version = outer.version;
    image.allowed = allowed;
    image.settings_seed = image.seed;
    if (!IsNew(image)) continue;
    ++counts_.images;
    ++counts_.nested[depth + 1];
    area_->PushFrame();
    sim.MakeImage(prefixes);
    // A nested check that fails deeper reports through nested_failure_ too, so it starts empty.
    const std::string wrong = CheckAtDepth(image, depth + 1);
    area_->PopFrame();
    if (!wrong.empty()) {
      nested_failure_ = "crash inside recovery (fence " + std::to_string(sim.fences()) +
                        ", image " + std::to_string(number) + "): " + wrong;
    }
  }
}

std::string ImageChecker::ContinueAndReopen(std::unique_ptr<DB> db, const Allowed& found,
                                            size_t depth, const std::string& boot_id,
                                            Random* random) {
  Oracle oracle;
  oracle.Adopt(StateLeft(found));
  Generator generator(*workload_, random->Next());
  for (int i = 0; i < kContinuedOperations; ++i) {
    const Action action = generator.NextAction();
    if (action == Action::kFlush || action == Action::kCompact) {
      const Status status = action == Action::kFlush ? db->Flush() : db->Compact();
      if (!status.ok() && !status.IsOutOfSpace()) return "after recovery: " + status.ToString();
      continue;
    }
    std::vector<Update> updates = generator.Updates(
        action == Action::kDelete || action == Action::kBatch ? action : Action::kPut);
    WriteBatch batch;
    for (const Update& update : updates) {
      if (update.value.has_value()) {
        batch.Put(update.key, *update.value);
      } else {
        batch.Delete(update.key);
      }
    }
    oracle.Begin(std::move(updates));
    const Status status = db->Write(batch);
    if (status.ok()) {
      oracle.Acknowledge();
    } else if (status.IsOutOfSpace() && workload_->max_bytes != 0) {
      oracle.Refuse();
    } else {
      return "after recovery, write: " + status.ToString();
    }
  }
  Allowed allowed = oracle.allowed();
  std::string wrong = CheckContent(db.get(), &allowed);
  if (wrong.empty() && random->OneIn(2)) {
    // With every merge done there is no excuse for an entry in two tables or in none.
    const Status compacted = db->Compact();
    if (!compacted.ok() && !compacted.IsOutOfSpace()) wrong = "compact: " + compacted.ToString();
    if (wrong.empty()) wrong = CheckContent(db.get(), &allowed);
  }
  if (wrong.empty()) wrong = CheckStructure(db.get());
  if (!wrong.empty()) return "32 operations after recovery: " + wrong;
  if (const Status status = db->Close(); !status.ok()) {
    return "close after recovery: " + status.ToString();
  }
  db.reset();
  if (std::string bad = CheckSalvage(boot_id, allowed, true); !bad.empty()) {
    return "after close, " + bad;
  }
  Result<std::unique_ptr<DB>> reopened = Open(depth, options_, boot_id);
  if (!reopened.ok()) return "open after close: " + reopened.status().ToString();
  wrong = CheckContent(reopened->get(), &allowed);
  if (wrong.empty()) wrong = CheckStructure(reopened->get());
  if (!wrong.empty()) return "after close and open: " + wrong;
  std::set<std::string> keys = *found.keys;
  keys.insert(allowed.keys->begin(), allowed.keys->end());
  // The tree of a comparator has a root and facts, whose chunks and merges take some.
  const uint64_t most_left = workload_->compared ? 4 * kChunkBytes : 0;
  return CheckEmptied(reopened->get(), keys, *area_, most_left);
}

}  // namespace braid::crash
