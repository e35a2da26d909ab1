// What a repair of a damaged pool brings back: everything whose bytes are intact, nothing that was
// never written, nothing old or missing without a finding; and the damaged pool stays as it is.
#include <algorithm>
#include <cstring>
#include <filesystem>

#include "format/leaf.h"
#include "media/pool_image.h"
#include "pool_map.h"
#include "repair/geometry.h"
#include "support/child_process.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr unsigned kRepairSeconds = kSanitizer ? 120 : 30;
enum RepairVerdict : int { kGood = 0, kGaveUp = 10, kWrong = 20 };

bool SameFiles(const PoolImage& a, const PoolImage& b) {
  if (a.files.size() != b.files.size()) return false;
  for (size_t i = 0; i < a.files.size(); ++i) {
    if (a.files[i].name != b.files[i].name || a.files[i].bytes != b.files[i].bytes) return false;
  }
  return true;
}

std::string TextOf(const RepairReport& report) {
  std::string text = std::to_string(report.findings.size()) + " findings, " +
                     std::to_string(report.losses()) + " losses";
  for (size_t i = 0; i < report.findings.size() && i < 8; ++i) {
    text += "\n    " + std::string(report.findings[i].lost ? "lost " : "note ") +
            report.findings[i].ToString();
  }
  return text;
}

/// Compares what a repair brought back with what the pool held and what was left of it.
class Judge {
 public:
  Judge(const BuiltPool& pool, const PoolMap& map, const PoolImage& harmed)
      : pool_(pool), map_(map), harmed_(harmed) {
    torn_ = map.WithoutLastWrites(harmed, pool.content);
    broken_ = map.OfBrokenWrites(harmed);
    for (const MappedEntry& entry : map.entries()) {
      if (entry.flushed && !entry.live && entry.put) continue;
      std::vector<const MappedEntry*>& newest = newest_[std::string(entry.key)];
      if (!newest.empty() && newest[0]->sequence < entry.sequence) newest.clear();
      if (newest.empty() || newest[0]->sequence == entry.sequence) newest.push_back(&entry);
    }
  }

  /// Empty when all is right, else what is wrong.
  std::string Fault(const Model& got, const RepairReport& report) const {
    for (const auto& [key, value] : got) {
      const auto past = pool_.history.find(key);
      if (past == pool_.history.end() ||
          std::find(past->second.begin(), past->second.end(), value) == past->second.end()) {
        return "invented: " + Printable(key) + " = " + Printable(value);
      }
    }
    for (const auto& [key, value] : pool_.content) {
      const auto found = got.find(key);
      const bool right = found != got.end() && found->second == value;
      if (right) continue;
      const auto torn = torn_.find(key);
      const bool as_if_torn = found == got.end()
                                  ? torn == torn_.end()
                                  : torn != torn_.end() && torn->second == found->second;
      if (as_if_torn) continue;
      const std::string what = found == got.end() ? "missing: " : "old: ";
      // What the torn write hid may be damaged in its turn; then there is a finding.
      const bool in_torn = torn == torn_.end() || torn->second != value;
      if (!in_torn && IsIntact(key)) return what + "although intact: " + Printable(key);
      if (report.findings.empty() || (found == got.end() && report.losses() == 0)) {
        return what + "without a finding: " + Printable(key);
      }
    }
    for (const auto& [key, unused] : pool_.deleted) {
      if (!got.contains(key)) continue;
      const auto torn = torn_.find(key);
      if (torn != torn_.end() && torn->second == got.at(key)) continue;
      if (IsIntact(key)) return "deleted, and back although the delete is intact: " + key;
      if (report.findings.empty()) return "deleted, and back without a finding: " + key;
    }
    return {};
  }

  /// Whether any key that the pool held must come back.
  bool AnyIntact() const {
    return std::any_of(pool_.content.begin(), pool_.content.end(),
                       [this](const auto& pair) { return IsIntact(pair.first); });
  }

 private:
  /// The newest version of the key, put or delete, has its bytes, and its chunk tells its life.
  bool IsIntact(const std::string& key) const {
    const auto newest = newest_.find(key);
    if (newest == newest_.end()) return false;
    return std::any_of(newest->second.begin(), newest->second.end(), [&](const MappedEntry* entry) {
      return entry->live && !broken_.contains(entry->offset) &&
             map_.SameIn(harmed_, *entry, true) && !map_.LifeUnknownIn(harmed_, *entry);
    });
  }

  const BuiltPool& pool_;
  const PoolMap& map_;
  const PoolImage& harmed_;
  Model torn_;
  std::set<uint64_t> broken_;
  std::map<std::string, std::vector<const MappedEntry*>> newest_;
};

/// Repairs the pool at `path` into `target` and judges what came of it.
int RepairAndJudge(const Judge& judge, const std::string& path, const std::string& target,
                   const RepairOptions& how, int fd) {
  RepairReport report;
  const Status status = DB::Repair(DamageOptions(), path, target, &report, how);
  if (!status.ok()) {
    SayTo(fd, status.ToString());
    if (status.message().empty() || judge.AnyIntact()) return kWrong;
    return std::filesystem::exists(target) ? kWrong : kGaveUp;
  }
  Result<std::unique_ptr<DB>> opened = DB::Open(DamageOptions(), target);
  if (!opened.ok()) {
    SayTo(fd, "the new pool: " + opened.status().ToString());
    return kWrong;
  }
  Model got;
  const auto it = opened.value()->NewIterator({});
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    got[std::string(it->key())] = std::string(it->value());
  }
  std::string fault = it->status().ok() ? judge.Fault(got, report) : it->status().ToString();
  if (fault.empty() && got.size() != report.records) fault = "the report counts other records";
  if (fault.empty()) return kGood;
  SayTo(fd, fault + "; " + TextOf(report));
  return kWrong;
}

class RepairTest : public ::testing::TestWithParam<int> {
 protected:
  PoolState state() const { return static_cast<PoolState>(GetParam()); }
};

std::string StateName(const ::testing::TestParamInfo<int>& state) {
  return PoolStateName(static_cast<PoolState>(state.param));
}
INSTANTIATE_TEST_SUITE_P(Pools, RepairTest, ::testing::Range(0, kPoolStates), StateName);

TEST_P(RepairTest, BringsBackWhateverIsIntact) {
  const uint64_t trials = Sized(360, 20'000, 200'000) / kPoolStates;
  TempFolder folder;
  const BuiltPool pool =
      BuildPool(state(), folder.Sub("sound"), DeriveSeed(800 + static_cast<uint64_t>(GetParam())));
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  const PoolMap map(pool.image);
  Random seeds(DeriveSeed(850 + static_cast<uint64_t>(GetParam())));
  uint64_t gave_up = 0;
  for (uint64_t trial = 0; trial < trials; ++trial) {
    const uint64_t seed = seeds.Next();
    Random random(seed);
    PoolImage harmed = pool.image;
    std::string places;
    for (uint64_t harms = random.OneIn(4) ? random.Between(2, 6) : 1; harms > 0; --harms) {
      PoolFile& file = harmed.files[random.Below(harmed.files.size())];
      if (file.bytes.size() < kPageBytes && !random.OneIn(20)) continue;
      const auto harm = static_cast<Harm>(random.Below(kHarms));
      // What an older page hides of logs looks like a torn write (docs/guide/limitations.md).
      const bool has_logs = EndsUnclosed(state());
      if (harm == Harm::kStalePage && has_logs) continue;
      places += Damage(&file, harm, &random, DamageOptions().pool.chunk_bytes,
                       pool.earlier.BytesOf(file.name)) +
                "; ";
    }
    const std::string path = folder.Sub("harmed");
    const std::string target = folder.Sub("repaired");
    ASSERT_TRUE(harmed.WriteTo(path));
    const Judge judge(pool, map, harmed);
    const ChildOutcome outcome = RunInChild(
        kRepairSeconds, [&](int fd) { return RepairAndJudge(judge, path, target, {}, fd); });
    EXPECT_TRUE(outcome.exit_code == kGood || outcome.exit_code == kGaveUp)
        << places << outcome.ToString() << "\n  trial seed " << seed << " " << ReplayLine();
    EXPECT_TRUE(SameFiles(PoolImage(path), harmed)) << places << "the damaged pool was changed";
    gave_up += outcome.exit_code == kGaveUp ? 1 : 0;
    std::filesystem::remove_all(target);
    if (HasFailure()) break;
  }
  std::printf("[ repair   ] %llu trials, %llu with nothing left\n",
              static_cast<unsigned long long>(trials), static_cast<unsigned long long>(gave_up));
}

TEST_P(RepairTest, OfASoundPoolIsTheSamePoolWithoutALoss) {
  TempFolder folder;
  const BuiltPool pool = BuildPool(state(), folder.Sub("sound"), DeriveSeed(880));
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  RepairReport report;
  ASSERT_TRUE(IsOk(DB::Repair(DamageOptions(), folder.Sub("sound"), folder.Sub("new"), &report)));
  EXPECT_EQ(report.losses(), 0u) << TextOf(report);
  const bool closed = !EndsUnclosed(state());
  EXPECT_TRUE(!closed || report.findings.empty()) << TextOf(report);
  const auto db = OpenOrFail(DamageOptions(), folder.Sub("new"));
  ASSERT_NE(db, nullptr);
  ExpectContent(db.get(), pool.content);
  EXPECT_TRUE(SameFiles(PoolImage(folder.Sub("sound")), pool.image));
}

TEST_P(RepairTest, NeedsNoHeaderNoManifestAndNoLink) {
  TempFolder folder;
  const BuiltPool pool = BuildPool(state(), folder.Sub("sound"), DeriveSeed(881));
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  PoolImage harmed = pool.image;
  const PoolMap map(pool.image);
  for (PoolFile& file : harmed.files) {
    if (!file.name.starts_with("segment-")) continue;
    // Headers, manifests and heads of segment 0; the header of any other.
    const uint64_t pages = file.name == "segment-000000" ? 9 : 1;
    // The process may have ended while it made a segment, whose file is empty at first.
    std::memset(file.bytes.data(), 0xEE, std::min(pages * kPageBytes, file.bytes.size()));
  }
  ASSERT_TRUE(harmed.WriteTo(folder.Sub("harmed")));
  RepairReport report;
  ASSERT_TRUE(IsOk(DB::Repair(DamageOptions(), folder.Sub("harmed"), folder.Sub("new"), &report)));
  EXPECT_EQ(report.chunk_bytes, DamageOptions().pool.chunk_bytes);
  const auto db = OpenOrFail(DamageOptions(), folder.Sub("new"));
  ASSERT_NE(db, nullptr);
  ExpectContent(db.get(), pool.content);
}

/// Else the half of a batch that stands in such a chunk counts, and the other half does not.
TEST(RepairLogTest, AChunkThatLostItsHeaderStandsWhereItsWritesSay) {
  TempFolder folder;
  const BuiltPool pool = BuildPool(PoolState::kKilled, folder.Sub("sound"), DeriveSeed(887));
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  const uint64_t unit = DamageOptions().pool.chunk_bytes;
  int chunks = 0;
  int within_writes = 0;
  for (size_t file = 0; file < pool.image.files.size(); ++file) {
    const std::string& bytes = pool.image.files[file].bytes;
    for (uint64_t at = 0; at + unit <= bytes.size(); at += unit) {
      format::LogChunkHeader header;
      std::memcpy(&header, bytes.data() + at, sizeof header);
      if (header.magic != format::kLogChunkMagic) continue;
      ++chunks;
      within_writes += header.within_unit != 0 ? 1 : 0;
      PoolImage harmed = pool.image;
      std::memset(harmed.files[file].bytes.data() + at, 0, sizeof header);
      ASSERT_TRUE(harmed.WriteTo(folder.Sub("harmed")));
      std::filesystem::remove_all(folder.Sub("new"));
      RepairReport report;
      ASSERT_TRUE(
          IsOk(DB::Repair(DamageOptions(), folder.Sub("harmed"), folder.Sub("new"), &report)));
      const auto db = OpenOrFail(DamageOptions(), folder.Sub("new"));
      ASSERT_NE(db, nullptr);
      ExpectContent(db.get(), pool.content);
      ASSERT_FALSE(HasFailure()) << pool.image.files[file].name << " offset " << at << " "
                                 << TextOf(report) << " " << ReplayLine();
    }
  }
  EXPECT_GE(chunks, 10);
  EXPECT_GE(within_writes, 1) << "no write began in the chunk before its own last one";
}

/// Else the states of chunks are read where heads are, and what is free counts again.
TEST(RepairGeometryTest, WithoutHeadersChunkStatesTellTheRegions) {
  for (const PoolState state : {PoolState::kRegions, PoolState::kMixed}) {
    TempFolder folder;
    PoolImage harmed = BuildPool(state, folder.Sub("sound"), DeriveSeed(884)).image;
    for (PoolFile& file : harmed.files) {
      if (!file.name.starts_with("segment-")) continue;
      std::memset(file.bytes.data(), 0xEE, file.name == "segment-000000" ? 3 * kPageBytes : 64);
    }
    ASSERT_TRUE(harmed.WriteTo(folder.Sub("harmed")));
    Result<std::unique_ptr<media::PoolImage>> image = media::PoolImage::Open(folder.Sub("harmed"));
    ASSERT_TRUE(IsOk(image.status()));
    const Result<repair::Geometry> found = repair::FindGeometry(**image, 0);
    ASSERT_TRUE(IsOk(found.status()));
    EXPECT_EQ(found->regions, state == PoolState::kRegions ? 3u : 1u);
    for (const repair::SegmentPlace& place : found->segments) {
      EXPECT_EQ(place.regions, found->regions);
    }
  }
}

TEST(RepairErrorsTest, SomethingAtTheTargetIsNeverTouched) {
  TempFolder folder;
  BuildPool(PoolState::kMixed, folder.Sub("sound"), DeriveSeed(882));
  const BuiltPool other = BuildPool(PoolState::kMerged, folder.Sub("other"), DeriveSeed(883));
  RepairReport report;
  EXPECT_TRUE(
      HasCode(DB::Repair(DamageOptions(), folder.Sub("sound"), folder.Sub("other"), &report),
              Status::Code::kInvalidArgument));
  EXPECT_TRUE(SameFiles(PoolImage(folder.Sub("other")), other.image));
  EXPECT_TRUE(
      HasCode(DB::Repair(DamageOptions(), folder.Sub("sound"), folder.Sub("sound"), &report),
              Status::Code::kInvalidArgument));
}

TEST(RepairErrorsTest, AnOpenPoolIsRefusedAndAMissingOneIsNotMade) {
  TempFolder folder;
  const std::string path = folder.Sub("pool");
  const auto db = OpenOrFail(DamageOptions(), path);
  ASSERT_NE(db, nullptr);
  RepairReport report;
  const Status busy = DB::Repair(DamageOptions(), path, folder.Sub("new"), &report);
  EXPECT_TRUE(HasCode(busy, Status::Code::kBusy));
  EXPECT_NE(busy.message().find(std::to_string(::getpid())), std::string_view::npos)
      << busy.ToString();
  EXPECT_TRUE(HasCode(DB::Repair(DamageOptions(), folder.Sub("none"), folder.Sub("new"), &report),
                      Status::Code::kNotFound));
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("none")));
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("new")));
}

TEST(RepairErrorsTest, APoolThatIsTooSmallForTheSalvageLeavesNothingBehind) {
  TempFolder folder;
  BuildPool(PoolState::kSegments, folder.Sub("sound"), DeriveSeed(884));
  Options small = DamageOptions();
  small.pool.max_bytes = small.pool.initial_bytes;
  RepairReport report;
  EXPECT_TRUE(HasCode(DB::Repair(small, folder.Sub("sound"), folder.Sub("new"), &report),
                      Status::Code::kOutOfSpace));
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("new")));
  EXPECT_FALSE(std::filesystem::exists(folder.Sub("new.unfinished")));
}

TEST(RepairErrorsTest, AMissingSegmentIsNamedAndTheOthersAreSalvaged) {
  TempFolder folder;
  const BuiltPool pool = BuildPool(PoolState::kSegments, folder.Sub("sound"), DeriveSeed(885));
  ASSERT_GE(pool.image.files.size(), 4u) << "three segments and the lock";
  const PoolMap map(pool.image);
  int incomplete = 0;
  for (const PoolFile& gone : pool.image.files) {
    if (!gone.name.starts_with("segment-")) continue;
    PoolImage harmed = pool.image;
    std::erase_if(harmed.files, [&](const PoolFile& file) { return file.name == gone.name; });
    ASSERT_TRUE(harmed.WriteTo(folder.Sub("harmed")));
    std::filesystem::remove_all(folder.Sub("new"));
    RepairReport report;
    ASSERT_TRUE(
        IsOk(DB::Repair(DamageOptions(), folder.Sub("harmed"), folder.Sub("new"), &report)));
    EXPECT_TRUE(std::any_of(
        report.findings.begin(), report.findings.end(),
        [&](const RepairFinding& finding) { return finding.file == gone.name && finding.lost; }))
        << TextOf(report);
    const auto db = OpenOrFail(DamageOptions(), folder.Sub("new"));
    ASSERT_NE(db, nullptr);
    Model got;
    for (auto& [key, value] : ScanForward(db.get())) got[key] = value;
    EXPECT_EQ(Judge(pool, map, harmed).Fault(got, report), "") << gone.name;
    incomplete += got.size() < pool.content.size() ? 1 : 0;
  }
  EXPECT_GE(incomplete, 2) << "the segments held too little for this test";
}

/// Zeroes the chunk of log number `nth` of a pool of one segment, and the first leaf; false when
/// there are fewer.
bool LoseLogAndLeaf(PoolImage* image, size_t nth) {
  std::string& bytes = image->files[1].bytes;
  format::LeafPtr first;
  std::memcpy(&first, bytes.data() + format::kLeafHeadOffset, sizeof first);
  std::memset(bytes.data() + first.offset(), 0, sizeof(format::Leaf));
  const uint64_t unit = DamageOptions().pool.chunk_bytes;
  for (uint64_t at = 0; at + unit <= bytes.size(); at += unit) {
    format::LogChunkHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.magic != format::kLogChunkMagic || nth-- != 0) continue;
    std::memset(bytes.data() + at, 0, unit);
    return true;
  }
  return false;
}

TEST(RepairLeavesTest, AChunkOfEntriesThatIsGoneAlongWithALeafIsALoss) {
  TempFolder folder;
  StoreKind leaves = StoreKinds().front();
  leaves.design = "nvskiplist";
  const BuiltPool pool = BuildPool(PoolState::kMixed, folder.Sub("sound"), DeriveSeed(886), leaves);
  ASSERT_EQ(pool.image.files[1].name, "segment-000000");
  int incomplete = 0;
  for (size_t nth = 0;; ++nth) {
    PoolImage harmed = pool.image;
    if (!LoseLogAndLeaf(&harmed, nth)) break;
    ASSERT_TRUE(harmed.WriteTo(folder.Sub("harmed")));
    std::filesystem::remove_all(folder.Sub("new"));
    RepairReport report;
    ASSERT_TRUE(
        IsOk(DB::Repair(DamageOptions(leaves), folder.Sub("harmed"), folder.Sub("new"), &report)));
    const auto db = OpenOrFail(DamageOptions(leaves), folder.Sub("new"));
    ASSERT_NE(db, nullptr);
    if (ScanForward(db.get()).size() >= pool.content.size()) continue;
    ++incomplete;
    EXPECT_GT(report.losses(), 0u) << nth << ": " << TextOf(report);
  }
  EXPECT_GE(incomplete, 2) << "the logs held too little for this test";
}

}  // namespace
}  // namespace braid::test
