#include "crash/image_checker.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "crash/bare_database.h"
#include "format/layout.h"
#include "fuzz/fuzz_common.h"
#include "pmem/pool_facts.h"
#include "pmem/sim_media.h"

namespace braid::crash {
namespace {

constexpr uint64_t kNestedOneIn = 16;
constexpr uint64_t kNestedPointOneIn = 3;
constexpr pmem::ImageLimits kNestedImages{6, 5};
constexpr uint64_t kContinueOneIn = 32;
constexpr int kContinuedOperations = 32;
constexpr uint64_t kOtherSettingsOneIn = 4;
constexpr uint64_t kDumpOneIn = 499;

/// BRAID_CRASH_DUMP=<folder>: keeps some images there, as inputs of fuzz_pool.
void DumpSome(const pmem::SimArea& area, uint64_t number) {
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
  for (size_t i = 0; i < 3; ++i) nested[i] += other.nested[i];
  process_crashes += other.process_crashes;
  continued += other.continued;
  duplicates += other.duplicates;
  points += other.points;
  runs += other.runs;
  operations += other.operations;
}

std::string CheckStructure(DB* db) {
  const Statistics found = db->GetStatistics();
  if (found.clean_open != 0 && found.recovered_entries != 0) {
    return "the pool was marked as closed, and a log of entries was in it";
  }
  VerifyReport report;
  const Status status = db->Verify(&report);
  if (status.ok() && report.problems.empty()) return {};
  std::string wrong = "Verify: " + status.ToString();
  for (size_t i = 0; i < report.problems.size() && i < 3; ++i) wrong += "; " + report.problems[i];
  return wrong;
}

namespace {

/// Headers and state tables, and the two redo chunks. The chunk size is the pool's own: one that an
/// image did not hold yet was made by the open that followed.
uint64_t UsedByAnEmptyPool(const pmem::SimArea& area) {
  format::PoolHeader header;
  std::memcpy(&header, area.base() + format::kPoolHeaderOffset[0], sizeof header);
  uint64_t used = 2 * header.chunk_bytes;
  for (size_t i = 0; i < area.segments().size(); ++i) {
    const uint64_t table = i == 0 ? format::kFirstStateTableOffset : format::kOtherStateTableOffset;
    const uint64_t end = table + area.segments()[i] / header.chunk_bytes * sizeof(uint64_t);
    used += (end + header.chunk_bytes - 1) / header.chunk_bytes * header.chunk_bytes;
  }
  return used;
}

/// The pool header counts the segments that there are.
std::string CheckSegments(const pmem::SimArea& area) {
  format::PoolHeader copies[2];
  for (int i = 0; i < 2; ++i) {
    std::memcpy(&copies[i], area.base() + format::kPoolHeaderOffset[i], sizeof copies[i]);
  }
  Result<format::PoolHeader> header = pmem::ChooseHeader(copies, "the pool");
  if (!header.ok()) return header.status().ToString();
  if (header->segments == area.segments().size()) return {};
  return "the pool header counts " + std::to_string(header->segments) + " segments, there are " +
         std::to_string(area.segments().size());
}

}  // namespace

std::string CheckEmptied(DB* db, const std::set<std::string>& keys, const pmem::SimArea& area) {
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
    if (used == UsedByAnEmptyPool(area)) return {};
  }
  return "an emptied pool uses " + std::to_string(used) + " bytes, an empty one " +
         std::to_string(UsedByAnEmptyPool(area));
}

ImageChecker::ImageChecker(pmem::SimArea* area) : area_(area) {
  for (size_t depth = 0; depth <= kMaxDepth; ++depth) {
    sims_.push_back(std::make_unique<pmem::SimPersist>(area, nullptr, depth + 1));
    sims_.back()->set_tracking(false);
  }
}

void ImageChecker::Begin(const Workload& workload, const Options& options,
                         const std::string& boot_id) {
  workload_ = &workload;
  options_ = options;
  boot_id_ = boot_id;
  seen_.clear();
  nested_failure_.clear();
  for (const auto& sim : sims_) {
    sim->AdoptThread();
    sim->set_media_class(workload.media_class);
  }
}

bool ImageChecker::IsNew(const Image& image) {
  // What was right under the demands of an earlier version must be looked at again.
  if (image.version != seen_version_) seen_.clear();
  seen_version_ = image.version;
  if (seen_.insert(image.hash ^ Mix64(image.allowed.mask * 2 + image.process_crash)).second) {
    return true;
  }
  ++counts_.duplicates;
  return false;
}

Result<std::unique_ptr<DB>> ImageChecker::Open(size_t depth, const Options& options,
                                               const std::string& boot_id) {
  return OpenBare(options, std::make_unique<pmem::SimMedia>(sims_[depth].get(), boot_id));
}

void ImageChecker::Abandon(std::unique_ptr<DB> db) {
  area_->PushFrame();
  db.reset();
  area_->PopFrame();
}

std::string ImageChecker::CheckAtDepth(const Image& image, size_t depth) {
  ++counts_.images;
  DumpSome(*area_, counts_.images);
  if (depth > 0) ++counts_.nested[depth];
  if (image.process_crash) ++counts_.process_crashes;
  Random random(image.seed);
  const std::string boot_id =
      image.process_crash ? boot_id_ : boot_id_ + "+" + std::to_string(depth + 1);
  const Options options =
      random.OneIn(kOtherSettingsOneIn) ? OtherSettings(options_, &random) : options_;
  pmem::SimPersist& sim = *sims_[depth];
  const bool nest = depth < kMaxDepth && random.OneIn(kNestedOneIn);
  Allowed allowed = image.allowed;
  if (nest) {
    sim.Start(image.hash);
    Random nested_random(random.Next());
    sim.set_on_point([&, nested_random](pmem::PointKind) mutable {
      NestedPoint(image, allowed, depth, &nested_random);
    });
  }
  const auto end_nesting = [&] {
    sim.set_on_point({});
    sim.set_tracking(false);
  };

  Result<std::unique_ptr<DB>> opened = Open(depth, options, boot_id);
  std::string wrong;
  if (!opened.ok()) {
    wrong = "open: " + opened.status().ToString();
  } else {
    wrong = CheckContent(opened->get(), &allowed);
    const std::string structure = CheckStructure(opened->get());
    if (!structure.empty()) wrong += (wrong.empty() ? "" : "; ") + structure;
    if (wrong.empty()) wrong = CheckSegments(*area_);
    // A reader has seen the recovered state: another crash must not take it back.
    if (nest && wrong.empty()) sim.Acknowledge();
  }
  if (nest) {
    end_nesting();
    if (wrong.empty()) wrong = sim.violation();
    if (wrong.empty()) std::swap(wrong, nested_failure_);
  }
  if (!wrong.empty()) {
    if (opened.ok()) Abandon(std::move(*opened));
    return wrong;
  }

  Abandon(std::move(*opened));
  Result<std::unique_ptr<DB>> again = Open(depth, options, boot_id);
  if (!again.ok()) return "second recovery: open: " + again.status().ToString();
  wrong = CheckContent(again->get(), &allowed);
  if (!wrong.empty()) {
    Abandon(std::move(*again));
    return "second recovery: " + wrong;
  }
  if (depth == 0 && random.OneIn(kContinueOneIn)) {
    ++counts_.continued;
    // In a thread of its own: what a write draws at random comes from a stream of its thread, and
    // the running database's stream must not depend on which images were looked at.
    std::thread worker([&] {
      sim.AdoptThread();
      wrong = ContinueAndReopen(std::move(*again), allowed, depth, boot_id, &random);
    });
    worker.join();
    sim.AdoptThread();
    return wrong;
  }
  Abandon(std::move(*again));
  return {};
}

void ImageChecker::NestedPoint(const Image& outer, const Allowed& allowed, size_t depth,
                               Random* random) {
  if (!nested_failure_.empty() || !random->OneIn(kNestedPointOneIn)) return;
  const ReadSectionPause pause;
  pmem::SimPersist& sim = *sims_[depth];
  const uint64_t seed = random->Next();
  const pmem::WritebackUnits units = sim.Units();
  const pmem::ImagePlan plan(units.counts(), kNestedImages, seed);
  std::vector<uint32_t> choice;
  for (uint64_t number = 0; number < plan.size() && nested_failure_.empty(); ++number) {
    plan.Choose(number, &choice);
    const std::vector<uint32_t> prefixes = units.LinePrefixes(choice, 0);
    Image image;
    image.hash = sim.ImageHash(prefixes);
    image.seed = Mix64(seed + number);
    image.version = outer.version;
    image.allowed = allowed;
    if (!IsNew(image)) continue;
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
  if (!wrong.empty()) return "32 operations after recovery: " + wrong;
  if (const Status status = db->Close(); !status.ok()) {
    return "close after recovery: " + status.ToString();
  }
  db.reset();
  Result<std::unique_ptr<DB>> reopened = Open(depth, options_, boot_id);
  if (!reopened.ok()) return "open after close: " + reopened.status().ToString();
  wrong = CheckContent(reopened->get(), &allowed);
  if (wrong.empty()) wrong = CheckStructure(reopened->get());
  if (!wrong.empty()) return "after close and open: " + wrong;
  std::set<std::string> keys = *found.keys;
  keys.insert(allowed.keys->begin(), allowed.keys->end());
  return CheckEmptied(reopened->get(), keys, *area_);
}

}  // namespace braid::crash
