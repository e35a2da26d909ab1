// A database whose data goes to a tier does what a std::map does; and one whose tier is missing,
// damaged or another's says so.
#include <filesystem>
#include <fstream>

#include "braid/c.h"
#include "model_runner.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"
#include "tier/memory_store.h"
#include "tier/open_store.h"

namespace braid::test {
namespace {

constexpr const char* kMemory = "memory:model";
constexpr uint64_t kPoolBytes = 40 << 10;

struct Tiered {
  std::string design;
  bool on_rocksdb;
  bool background;
};

void PrintTo(const Tiered& tiered, std::ostream* out) { *out << tiered.design; }

std::string NameOf(const ::testing::TestParamInfo<Tiered>& info) {
  return info.param.design + (info.param.on_rocksdb ? "_RocksDB" : "_Memory") +
         (info.param.background ? "_background" : "_inline");
}

bool HasRocksDb() {
#if defined(BRAID_HAVE_ROCKSDB_TIER)
  return true;
#else
  return false;
#endif
}

class TierModelTest : public ::testing::TestWithParam<Tiered> {
 protected:
  void SetUp() override {
    if (GetParam().on_rocksdb && !HasRocksDb()) GTEST_SKIP() << "built without RocksDB";
    tier::SetPoolBytes(kPoolBytes);
  }
  void TearDown() override { tier::SetPoolBytes(0); }
  std::string TierPath(const std::string& name = "tier") const {
    return GetParam().on_rocksdb ? folder_.Sub(name) : kMemory;
  }
  std::string PoolPath() const { return folder_.Sub("pool"); }
  Options TierOptions() const {
    Options options = TinyOptions();
    options.design = GetParam().design;
    options.background_threads = GetParam().background;
    options.tier.path = TierPath();
    options.pool.max_bytes = 64 << 20;  // no matter: SetPoolBytes
    return options;
  }
  /// A closed pool much of which is in the tier.
  void MakePool() {
    std::unique_ptr<DB> db = OpenOrFail(TierOptions(), PoolPath());
    ASSERT_NE(db, nullptr);
    for (int i = 0; i < 3000; ++i) {
      BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), std::string(100, 'v')));
    }
    BRAID_ASSERT_OK(db->Compact());
    const Statistics found = db->GetStatistics();
    ASSERT_GT(found.tier_entries, 1000u);
    ASSERT_GT(found.tier_moved_entries, 1000u);
    ASSERT_LE(found.l0_bytes + found.l1_bytes, kPoolBytes);
    BRAID_ASSERT_OK(db->Close());
  }
  /// All that MakePool has put.
  void Overwrite() {
    std::unique_ptr<DB> db = OpenOrFail(TierOptions(), PoolPath());
    ASSERT_NE(db, nullptr);
    for (int i = 0; i < 3000; ++i) {
      BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), std::string(100, 'w')));
    }
    BRAID_ASSERT_OK(db->Compact());
    BRAID_ASSERT_OK(db->Close());
  }

  TempFolder folder_;
  tier::MemoryDevice memory_{kMemory};
};

std::vector<Tiered> AllTiered() {
  std::vector<Tiered> all;
  for (const bool on_rocksdb : {false, true}) {
    for (const bool background : {true, false}) all.push_back({"braid", on_rocksdb, background});
  }
  for (const char* design : {"listdb", "zipperdb", "novelsm"}) all.push_back({design, false, true});
  for (const bool background : {true, false}) all.push_back({"tlsm", false, background});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Tiers, TierModelTest, ::testing::ValuesIn(AllTiered()), NameOf);

TEST_P(TierModelTest, TablesThatAreCutUnderAStoreAreAnErrorThatNamesTheTier) {
  if (!GetParam().on_rocksdb) GTEST_SKIP() << "memory has no tables";
  MakePool();
  for (const bool maps : {true, false}) {
    Options options = TierOptions();
    options.pool.catch_sigbus = maps;
    std::unique_ptr<DB> db = OpenOrFail(options, PoolPath());
    ASSERT_NE(db, nullptr);
    const auto walk = [&db](Status* outcome) {
      uint64_t keys = 0;
      const std::unique_ptr<Iterator> it = db->NewIterator({});
      for (it->SeekToFirst(); it->Valid(); it->Next()) ++keys;
      *outcome = it->status();
      return keys;
    };
    Status outcome;
    EXPECT_EQ(walk(&outcome), 3000u) << "and so all of it is in memory";
    BRAID_EXPECT_OK(outcome);
    std::vector<std::pair<std::filesystem::path, std::string>> tables;
    for (const auto& file : std::filesystem::directory_iterator(TierPath())) {
      if (file.path().extension() != ".sst") continue;
      std::ifstream in(file.path(), std::ios::binary);
      tables.emplace_back(file.path(), std::string(std::istreambuf_iterator<char>(in), {}));
    }
    ASSERT_FALSE(tables.empty());
    for (const auto& [path, bytes] : tables) std::filesystem::resize_file(path, 0);
    EXPECT_LT(walk(&outcome), 3000u);
    EXPECT_TRUE(outcome.IsCorruption() || outcome.IsIOError()) << outcome.ToString();
    EXPECT_NE(outcome.message().find(TierPath()), std::string_view::npos) << outcome.ToString();
    BRAID_EXPECT_OK(db->Put("key7", "value"));
    std::string value;
    BRAID_EXPECT_OK(db->Get("key7", &value));
    (void)db->Close();
    for (const auto& [path, bytes] : tables) std::ofstream(path, std::ios::binary) << bytes;
  }
}

TEST_P(TierModelTest, AgreesWithAMap) {
  const uint64_t operations = Sized(GetParam().on_rocksdb ? 6'000 : 20'000, 1'000'000);
  Random random(DeriveSeed(420));
  Options options;
  const auto open = [&] {
    options = RandomTinyOptions(&random);
    options.design = GetParam().design;
    options.background_threads = GetParam().background;
    options.tier.path = TierPath();
    options.pool.max_bytes = 64 << 20;
    tier::SetPoolBytes(random.Between(2, 60) << 10);
    return OpenOrFail(options, PoolPath());
  };
  std::unique_ptr<DB> db = open();
  ASSERT_NE(db, nullptr);
  ModelRunner runner(&db, KeySpace(KeyShape::kShortRandom, 1500, random.Next()), "",
                     {.reopen = true, .compact = true}, open, random.Next());
  ASSERT_TRUE(runner.Run(operations)) << runner.failure() << "\n"
                                      << Describe(options) << "\n"
                                      << ReplayLine();
  ExpectVerified(db.get());
  BRAID_ASSERT_OK(db->Close());
  // So little that something must go, whatever limits were drawn.
  tier::SetPoolBytes(1 << 10);
  db = OpenOrFail(options, PoolPath());
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Compact());
  EXPECT_GT(db->GetStatistics().tier_bytes, 0u);
  EXPECT_GT(db->GetStatistics().tier_entries, 0u);
  ExpectVerified(db.get());
  BRAID_ASSERT_OK(db->Close());
  db = open();
  ASSERT_NE(db, nullptr);
  EXPECT_TRUE(SamePairs(ScanForward(db.get()), runner.model())) << ReplayLine();
}

TEST_P(TierModelTest, WithoutItsTierThePoolSaysWhereItWas) {
  MakePool();
  Options options = TierOptions();
  options.tier.path.clear();
  const auto opened = DB::Open(options, PoolPath());
  ASSERT_TRUE(HasCode(opened.status(), Status::Code::kInvalidArgument));
  EXPECT_NE(opened.status().message().find(TierPath()), std::string::npos);
  // What the pool alone holds goes into a new one, which has no tier; the report says so.
  RepairReport report;
  BRAID_ASSERT_OK(DB::Repair(options, PoolPath(), folder_.Sub("repaired"), &report));
  EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), [&](const auto& finding) {
    return finding.lost && finding.problem.find(TierPath()) != std::string::npos;
  }));
  std::unique_ptr<DB> db = OpenOrFail(options, folder_.Sub("repaired"));
  ASSERT_NE(db, nullptr);
  const Pairs left = ScanForward(db.get());
  EXPECT_GT(left.size(), 0u);
  EXPECT_LT(left.size(), 3000u);
}

TEST_P(TierModelTest, ARepairReadsTheTier) {
  MakePool();
  {
    std::unique_ptr<DB> db = OpenOrFail(TierOptions(), PoolPath());
    ASSERT_NE(db, nullptr);
    for (int i = 0; i < 3000; i += 7) BRAID_ASSERT_OK(db->Delete("key" + std::to_string(i)));
    for (int i = 0; i < 3000; i += 5) BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), "new"));
    BRAID_ASSERT_OK(db->Close());
  }
  RepairReport report;
  RepairOptions how;
  if (GetParam().on_rocksdb) how.new_tier = TierPath("tier of the new one");
  BRAID_ASSERT_OK(DB::Repair(TierOptions(), PoolPath(), folder_.Sub("repaired"), &report, how));
  EXPECT_EQ(report.losses(), 0u) << report.findings.front().ToString();
  EXPECT_GT(report.tier_records, 1000u);
  Options options = TierOptions();
  options.tier.path = how.new_tier;
  std::unique_ptr<DB> db = OpenOrFail(options, folder_.Sub("repaired"));
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Compact());
  EXPECT_EQ(db->GetStatistics().tier_entries > 0, GetParam().on_rocksdb);
  uint64_t expected = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string value;
    const Status s = db->Get("key" + std::to_string(i), &value);
    const bool is_deleted = i % 7 == 0 && i % 5 != 0;
    ASSERT_EQ(s.IsNotFound(), is_deleted) << i << ": " << s.ToString();
    if (is_deleted) continue;
    ++expected;
    ASSERT_EQ(value, i % 5 == 0 ? "new" : std::string(100, 'v')) << i;
  }
  EXPECT_EQ(report.records, expected);
  // What it has read is as it was.
  db = OpenOrFail(TierOptions(), PoolPath());
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(ScanForward(db.get()).size(), expected);
}

/// A writer was killed while it made the tier.
TEST_P(TierModelTest, AReaderOfAPoolWithoutATierYetIsToldSo) {
  if (!GetParam().on_rocksdb) GTEST_SKIP() << "a device in memory is made at once";
  Options options = TierOptions();
  options.tier.path.clear();
  {
    std::unique_ptr<DB> db = OpenOrFail(options, PoolPath());
    ASSERT_NE(db, nullptr);
    BRAID_ASSERT_OK(db->Put("key", "value"));
    BRAID_ASSERT_OK(db->Close());
  }
  std::filesystem::create_directories(TierPath());
  std::ofstream(TierPath() + "/CURRENT") << "MANIFEST-000005\n";
  options.read_only = true;
  options.tier.path = TierPath();
  const auto opened = DB::Open(options, PoolPath());
  ASSERT_TRUE(HasCode(opened.status(), Status::Code::kNotFound)) << opened.status().ToString();
  EXPECT_NE(opened.status().message().find(TierPath()), std::string::npos);
  options.tier.path.clear();
  std::unique_ptr<DB> db = OpenOrFail(options, PoolPath());
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(GetText(db.get(), "key"), "value");
}

TEST_P(TierModelTest, ARepairFromCPutsATierBelowTheNewPool) {
  MakePool();
  // One device in memory belongs to one pool.
  if (!GetParam().on_rocksdb) GTEST_SKIP() << "there is one place for tiers only";
  const std::string new_tier = TierPath("tier of the new one");
  char* error = nullptr;
  const auto set = [&error](braid_options_t* options, const char* name, const std::string& value) {
    braid_options_set(options, name, value.c_str(), &error);
    ASSERT_EQ(error, nullptr) << error;
  };
  braid_options_t* const options = braid_options_create();
  set(options, "tier.path", TierPath());
  braid_repair_db_with_tier(options, PoolPath().c_str(), new_tier.c_str(), &error);
  ASSERT_NE(error, nullptr) << "a pool without a bound has no tier";
  EXPECT_NE(std::string(error).find("pool.max_bytes"), std::string::npos) << error;
  braid_free(error);
  error = nullptr;
  set(options, "pool.max_bytes", "64M");
  braid_repair_db_with_tier(options, PoolPath().c_str(), new_tier.c_str(), &error);
  braid_options_destroy(options);
  ASSERT_EQ(error, nullptr) << error;
  Options of_new = TierOptions();
  of_new.tier.path = new_tier;
  std::unique_ptr<DB> db = OpenOrFail(of_new, PoolPath());
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Compact());
  EXPECT_GT(db->GetStatistics().tier_entries, 0u);
  EXPECT_EQ(ScanForward(db.get()).size(), 3000u);
}

/// What is harmed of a file: places from `from` on, but for so many bytes at its end.
struct Harmed {
  uint64_t from = 0;
  uint64_t part = ~0ull;  // one place in so many bytes
  /// What stands there, and without which RocksDB does not open a table.
  uint64_t spared = 1500;
};
/// The filter and the index of a table as well: without them it shows nothing at all.
constexpr uint64_t kIndexes = 12 << 10;

/// Of files whose name has `kind` in it, some bytes are changed of one in `one_in` parts.
void Harm(const std::string& folder, const std::string& kind, const Harmed& what, uint64_t one_in,
          Random* random) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename();
    if (name.find(kind) == std::string::npos) continue;
    const uint64_t size = file.file_size();
    if (size < what.from + 2048) continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    const uint64_t part = what.part;
    const uint64_t end = size - std::min(size / 2, what.spared);
    for (uint64_t at = what.from; at < end; at += std::min(part, end - at)) {
      if (!random->OneIn(one_in)) continue;
      bytes.seekp(static_cast<std::streamoff>(random->Between(at, at + std::min(part, end - at))));
      bytes.write("\xA5\x5A\xA5\x5A", 4);
    }
  }
}

/// A pool whose first thirds have gone twice.
class TierRepairTest : public TierModelTest {
 protected:
  static constexpr int kKeys = 3000;
  static constexpr uint64_t kPart = 64 << 10;  // of a table that is harmed

  /// Which RocksDB can't make smaller, so that tables have bytes to harm.
  static std::string ValueOf(int i, char version) {
    return std::to_string(i) +
           Random(static_cast<uint64_t>(i) * 256 + static_cast<uint64_t>(version)).Bytes(100);
  }
  void MakeTwice() {
    std::unique_ptr<DB> db = OpenOrFail(TierOptions(), PoolPath());
    ASSERT_NE(db, nullptr);
    for (const char version : {'v', 'w'}) {
      for (int i = 0; i < kKeys; i += version == 'v' ? 1 : 3) {
        BRAID_ASSERT_OK(db->Put(NumberedKey(static_cast<uint64_t>(i)), ValueOf(i, version)));
      }
      BRAID_ASSERT_OK(db->Compact());
    }
    BRAID_ASSERT_OK(db->Close());
  }
  /// How many keys the new pool lacks; what it has was written.
  void Judge(const std::string& target, const RepairReport& report, bool most_is_found,
             uint64_t* missing) {
    Options options = TierOptions();
    options.tier.path.clear();
    std::unique_ptr<DB> db = OpenOrFail(options, target);
    ASSERT_NE(db, nullptr);
    const Pairs all = ScanForward(db.get());
    const Model found(all.begin(), all.end());
    EXPECT_EQ(found.size(), report.records);
    if (most_is_found) {
      EXPECT_GT(found.size(), kKeys / 2u) << "damage hides more than it must";
    }
    *missing = 0;
    for (int i = 0; i < kKeys; ++i) {
      const auto at = found.find(NumberedKey(static_cast<uint64_t>(i)));
      if (at == found.end()) {
        ++*missing;
        continue;
      }
      const bool is_newest = at->second == ValueOf(i, i % 3 == 0 ? 'w' : 'v');
      // The older one only where the newer one is lost.
      EXPECT_TRUE(is_newest || (at->second == ValueOf(i, 'v') && report.losses() > 0))
          << i << ": " << Printable(at->second);
    }
    EXPECT_LE(found.size() + *missing, static_cast<size_t>(kKeys));
    if (*missing > 0) {
      EXPECT_GT(report.losses(), 0u);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Tiers, TierRepairTest,
                         ::testing::Values(Tiered{"braid", false, true},
                                           Tiered{"braid", true, true}),
                         NameOf);

/// A scan over damage shows everything, or says what it has met; it does not end early as if there
/// were no more, nor leave out keys.
TEST_P(TierRepairTest, AScanOverADamagedTierIsWholeOrSaysSo) {
  if (!GetParam().on_rocksdb) GTEST_SKIP() << "memory is not damaged";
  MakeTwice();
  Random random(DeriveSeed(434));
  SCOPED_TRACE(ReplayLine());
  uint64_t ended = 0;
  for (uint64_t round = 0; round < Sized(8, 200); ++round) {
    const std::string pool = folder_.Sub("copy");
    Options options = TierOptions();
    options.tier.path = TierPath("harmed tier");
    options.read_only = true;
    std::filesystem::copy(PoolPath(), pool, std::filesystem::copy_options::recursive);
    std::filesystem::copy(TierPath(), options.tier.path, std::filesystem::copy_options::recursive);
    // The first time all tables, which can be opened all the same.
    const uint64_t one_in = round == 0 ? 1 : random.Between(1, 20);
    Harm(options.tier.path, ".sst", {.part = kPart, .spared = round == 0 ? kIndexes : 1500}, one_in,
         &random);
    if (const auto opened = DB::Open(options, pool); opened.ok()) {
      for (const bool forward : {true, false}) {
        const std::unique_ptr<Iterator> it = (*opened)->NewIterator({});
        int seen = 0;
        for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
             forward ? it->Next() : it->Prev(), ++seen) {
          const int i = forward ? seen : kKeys - 1 - seen;
          ASSERT_EQ(it->key(), NumberedKey(static_cast<uint64_t>(i)));
          ASSERT_EQ(it->value(), ValueOf(i, i % 3 == 0 ? 'w' : 'v'));
        }
        ended += it->status().ok() ? 0 : 1;
        if (it->status().ok()) {
          ASSERT_EQ(seen, kKeys);
        } else {
          EXPECT_TRUE(HasCode(it->status(), Status::Code::kCorruption));
        }
      }
    }
    std::filesystem::remove_all(pool);
    std::filesystem::remove_all(options.tier.path);
  }
  EXPECT_GT(ended, 0u);
}

/// Bytes of the pool and of the tier's tables are changed: whatever is read was written, and what
/// is not there is covered by a finding.
TEST_P(TierRepairTest, OfADamagedPoolAndTierInventsNothing) {
  MakeTwice();
  Random random(DeriveSeed(433));
  SCOPED_TRACE(ReplayLine());
  uint64_t lost = 0;
  uint64_t repairs = 0;
  const uint64_t rounds = Sized(6, 100);
  for (uint64_t round = 0; round < rounds; ++round) {
    const std::string number = std::to_string(round);
    const std::string pool = folder_.Sub("harmed" + number);
    bool most_is_found = true;
    std::filesystem::copy(PoolPath(), pool, std::filesystem::copy_options::recursive);
    Options options = TierOptions();
    if (GetParam().on_rocksdb) {
      options.tier.path = TierPath("harmed tier" + number);
      std::filesystem::copy(TierPath(), options.tier.path,
                            std::filesystem::copy_options::recursive);
      const bool harms_indexes = round + 1 == rounds && rounds > 1;
      Harm(options.tier.path, ".sst", {.part = kPart, .spared = harms_indexes ? 1500 : kIndexes},
           round == 0 || harms_indexes ? 1 : 4, &random);
      most_is_found = !harms_indexes;
    }
    if (round % 2 == 1) Harm(pool, "segment", {.from = 64 << 10}, 1, &random);
    RepairReport report;
    const std::string target = folder_.Sub("repaired" + number);
    const Status repaired = DB::Repair(options, pool, target, &report);
    if (!repaired.ok()) {
      // RocksDB finds a table that it can't open.
      EXPECT_NE(repaired.message().find(options.tier.path), std::string::npos)
          << repaired.ToString();
      continue;
    }
    ++repairs;
    uint64_t missing = 0;
    Judge(target, report, most_is_found, &missing);
    lost += missing;
    std::filesystem::remove_all(target);
  }
  if (GetParam().on_rocksdb) {
    EXPECT_GT(lost, 0u);
  }
  EXPECT_GT(repairs, rounds / 2);
}

TEST_P(TierModelTest, ARepairRefusesTheTierOfAnotherPool) {
  MakePool();
  if (!GetParam().on_rocksdb) GTEST_SKIP() << "there is one in memory";
  Options options = TierOptions();
  options.tier.path = TierPath("tier2");
  std::unique_ptr<DB> second = OpenOrFail(options, folder_.Sub("second"));
  ASSERT_NE(second, nullptr);
  BRAID_ASSERT_OK(second->Put("key", "value"));
  BRAID_ASSERT_OK(second->Close());
  RepairReport report;
  const Status other = DB::Repair(options, PoolPath(), folder_.Sub("repaired"), &report);
  EXPECT_TRUE(HasCode(other, Status::Code::kInvalidArgument));
  EXPECT_NE(other.message().find("not that of the damaged pool"), std::string::npos);
  options.tier.path = TierPath("nowhere");
  EXPECT_TRUE(DB::Repair(options, PoolPath(), folder_.Sub("repaired"), &report).IsNotFound());
  RepairOptions how;
  how.new_tier = TierPath();
  EXPECT_TRUE(HasCode(DB::Repair(TierOptions(), PoolPath(), folder_.Sub("repaired"), &report, how),
                      Status::Code::kInvalidArgument));
  EXPECT_FALSE(std::filesystem::exists(folder_.Sub("repaired")));
}

TEST_P(TierModelTest, OpensForReadingWithItsTier) {
  MakePool();
  Options options = TierOptions();
  options.read_only = true;
  std::unique_ptr<DB> db = OpenOrFail(options, PoolPath());
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(ScanForward(db.get()).size(), 3000u);
  std::string value;
  BRAID_EXPECT_OK(db->Get("key17", &value));
}

TEST_P(TierModelTest, AReaderDoesNotKeepEntriesOfAFullPoolFromGoing) {
  if (!GetParam().background) GTEST_SKIP() << "a writer does the work itself";
  tier::SetPoolBytes(0);
  Options options = TierOptions();
  options.pool.initial_bytes = options.pool.max_bytes = 1 << 20;
  std::unique_ptr<DB> db = OpenOrFail(options, PoolPath());
  ASSERT_NE(db, nullptr);
  const std::string value(1000, 'v');
  for (int i = 0; i < 200; ++i) BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), value));
  Options to_read = options;
  to_read.read_only = true;
  std::unique_ptr<DB> reader = OpenOrFail(to_read, PoolPath());
  ASSERT_NE(reader, nullptr);
  // Six times what the pool may hold.
  for (int i = 200; i < 6000; ++i) BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), value));
  EXPECT_GT(db->GetStatistics().tier_entries, 3000u);
  reader.reset();
  EXPECT_EQ(ScanForward(db.get()).size(), 6000u);
}

TEST_P(TierModelTest, AMissingTierIsNamed) {
  MakePool();
  if (GetParam().on_rocksdb) {
    std::filesystem::remove_all(TierPath());
  } else {
    memory_.set_state({});
  }
  const auto opened = DB::Open(TierOptions(), PoolPath());
  ASSERT_TRUE(opened.status().IsNotFound()) << opened.status().ToString();
  EXPECT_NE(opened.status().message().find(TierPath()), std::string::npos);
}

TEST_P(TierModelTest, TheTierOfAnotherPoolIsRefused) {
  MakePool();
  Options options = TierOptions();
  const auto other = DB::Open(options, folder_.Sub("other"));
  ASSERT_TRUE(HasCode(other.status(), Status::Code::kInvalidArgument));
  EXPECT_NE(other.status().message().find("another pool"), std::string::npos);
  if (!GetParam().on_rocksdb) return;
  // One more pool with a tier of its own, which is not this pool's.
  options.tier.path = TierPath("tier2");
  std::unique_ptr<DB> second = OpenOrFail(options, folder_.Sub("second"));
  ASSERT_NE(second, nullptr);
  BRAID_ASSERT_OK(second->Close());
  second.reset();
  const auto swapped = DB::Open(options, PoolPath());
  ASSERT_TRUE(HasCode(swapped.status(), Status::Code::kInvalidArgument));
  EXPECT_NE(swapped.status().message().find("not that of the pool"), std::string::npos);
}

TEST_P(TierModelTest, AnOlderCopyOfThePoolIsRefused) {
  MakePool();
  std::filesystem::copy(PoolPath(), folder_.Sub("copy"), std::filesystem::copy_options::recursive);
  ASSERT_NO_FATAL_FAILURE(Overwrite());
  const auto opened = DB::Open(TierOptions(), folder_.Sub("copy"));
  ASSERT_TRUE(HasCode(opened.status(), Status::Code::kInvalidArgument));
  EXPECT_NE(opened.status().message().find("older copy"), std::string::npos);
  BRAID_EXPECT_OK(DB::Open(TierOptions(), PoolPath()).status());
}

/// An open refuses the two; a repair takes the newer version of each key, wherever it lies.
TEST_P(TierModelTest, ARepairOfAnOlderCopyTakesWhatIsNewer) {
  MakePool();
  const std::string copy = folder_.Sub("copy");
  std::filesystem::copy(PoolPath(), copy, std::filesystem::copy_options::recursive);
  ASSERT_NO_FATAL_FAILURE(Overwrite());
  RepairReport report;
  BRAID_ASSERT_OK(DB::Repair(TierOptions(), copy, folder_.Sub("repaired"), &report));
  tier::OpenRequest request;
  request.path = TierPath();
  request.read_only = true;
  const auto store = tier::OpenStore(request);
  ASSERT_TRUE(store.ok());
  Options options = TierOptions();
  options.tier.path.clear();
  std::unique_ptr<DB> db = OpenOrFail(options, folder_.Sub("repaired"));
  ASSERT_NE(db, nullptr);
  uint64_t newer = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string key = "key" + std::to_string(i);
    tier::Found found;
    BRAID_ASSERT_OK((*store)->Get(key, &found));
    const bool has_newer =
        found.result().has_version() && found.result().value.bytes().starts_with('w');
    newer += has_newer ? 1 : 0;
    std::string value;
    BRAID_ASSERT_OK(db->Get(key, &value));
    ASSERT_EQ(value, std::string(100, has_newer ? 'w' : 'v')) << key;
  }
  EXPECT_GT(newer, 2000u);
}

TEST_P(TierModelTest, ADamagedTierIsNamed) {
  if (!GetParam().on_rocksdb) GTEST_SKIP() << "memory is not damaged";
  MakePool();
  uint64_t damaged = 0;
  for (const auto& file : std::filesystem::directory_iterator(TierPath())) {
    if (file.path().extension() != ".sst") continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(file.file_size() / 3));
    bytes.write("\xA5\x5A\xA5\x5A", 4);
    ++damaged;
  }
  ASSERT_GT(damaged, 0u);
  const auto opened = DB::Open(TierOptions(), PoolPath());
  if (!opened.ok()) {
    EXPECT_NE(opened.status().message().find(TierPath()), std::string::npos);
    return;
  }
  VerifyReport report;
  const Status verified = (*opened)->Verify(&report);
  ASSERT_TRUE(HasCode(verified, Status::Code::kCorruption));
  EXPECT_NE(verified.message().find(TierPath()), std::string::npos);
}

/// As many as went, whatever RocksDB has looked at, also right after an open; fewer once it has put
/// versions of a key together; never none.
TEST_P(TierModelTest, ItsEntriesAreCounted) {
  MakePool();
  std::unique_ptr<DB> db = OpenOrFail(TierOptions(), PoolPath());
  ASSERT_NE(db, nullptr);
  const auto in_pool = [&] {
    const Statistics now = db->GetStatistics();
    return now.memtable_entries + now.l0_entries + now.l1_entries;
  };
  // Each key was written once, so it is in one of the two.
  const uint64_t first = db->GetStatistics().tier_entries;
  EXPECT_EQ(first + in_pool(), 3000u);
  // Each key goes once more at most.
  for (int i = 0; i < 3000; ++i) {
    BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), std::string(100, 'w')));
    if (i % 300 == 0) {
      EXPECT_GT(db->GetStatistics().tier_entries, 0u);
    }
  }
  BRAID_ASSERT_OK(db->Compact());
  const Statistics twice = db->GetStatistics();
  EXPECT_GE(twice.tier_entries + in_pool(), 3000u);
  EXPECT_LE(twice.tier_entries, first + twice.tier_moved_entries);
  BRAID_ASSERT_OK(db->Close());
}

TEST_P(TierModelTest, WhatWasWrittenLastStaysInThePool) {
  if (GetParam().design == "tlsm") GTEST_SKIP() << "lists go in turn";
  if (GetParam().background) GTEST_SKIP() << "reclustering puts old entries into new chunks";
  std::unique_ptr<DB> db = OpenOrFail(TierOptions(), PoolPath());
  ASSERT_NE(db, nullptr);
  constexpr int kKeys = 3000;
  constexpr int kLast = 100;
  // In another order than that of the keys.
  const auto key = [](int i) { return "key" + std::to_string(i * 1009 % kKeys); };
  for (int i = 0; i < kKeys; ++i) BRAID_ASSERT_OK(db->Put(key(i), std::string(100, 'v')));
  BRAID_ASSERT_OK(db->Compact());
  ASSERT_GT(db->GetStatistics().tier_moved_entries, 2000u);
  const auto get = [&](int i) {
    std::string value;
    BRAID_EXPECT_OK(db->Get({}, key(i), &value));
    EXPECT_EQ(value, std::string(100, 'v'));
  };
  for (int i = kKeys - kLast; i < kKeys; ++i) get(i);
  EXPECT_EQ(db->GetStatistics().tier_gets, 0u);
  for (int i = 0; i < kLast; ++i) get(i);
  EXPECT_EQ(db->GetStatistics().tier_gets, uint64_t{kLast});
  EXPECT_EQ(db->GetStatistics().tier_gets_cached, 0u);
  for (int i = 0; i < kLast; ++i) get(i);
  EXPECT_EQ(db->GetStatistics().tier_gets_cached, uint64_t{kLast});
  BRAID_ASSERT_OK(db->Close());
}

// Writers that find the pool full go on with a part of what the tier makes free, or with all of it.
TEST_P(TierModelTest, APoolThatIsAlwaysFullLosesAndRefusesNothing) {
  tier::SetPoolBytes(0);  // half of the pool
  Options options = TierOptions();
  options.pool.max_bytes = 2 << 20;
  Random random(DeriveSeed(426));
  std::unique_ptr<DB> db = OpenOrFail(options, PoolPath());
  ASSERT_NE(db, nullptr);
  Model model;
  uint64_t written = 0;
  const uint64_t rounds = Sized(GetParam().design == "tlsm" ? 15 : 60, 2'000);
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + ", " + ReplayLine());
    for (uint64_t i = random.Between(100, 600); i > 0; --i) {
      const std::string key = NumberedKey(random.Below(4000));
      if (random.OneIn(8)) {
        BRAID_ASSERT_OK(db->Delete(key));
        model.erase(key);
      } else {
        model[key] = random.Bytes(random.Between(1, 2000));
        BRAID_ASSERT_OK(db->Put(key, model[key]));
        written += model[key].size();
      }
    }
    if (random.OneIn(3)) {
      BRAID_ASSERT_OK(db->Compact());
    }
  }
  EXPECT_TRUE(SamePairs(ScanForward(db.get()), model));
  if (written > 2 * options.pool.max_bytes) {  // not in a part of a push
    EXPECT_GT(db->GetStatistics().tier_moved_entries, 0u);
  }
  EXPECT_LE(db->GetStatistics().pool_bytes, options.pool.max_bytes);
  ExpectVerified(db.get());
  BRAID_ASSERT_OK(db->Close());
}

// Its filters and indexes may take more memory than it has: they share a cache with blocks then.
TEST_P(TierModelTest, ATierReadsTheSameWithLittleMemory) {
  if (!GetParam().on_rocksdb) GTEST_SKIP() << "memory has no tables";
  MakePool();
  uint64_t with_much = 0;
  std::vector<std::string> taken_in;
  for (const uint64_t cache_bytes : {64u << 20, 8u << 10, 64u << 20}) {
    tier::OpenRequest request;
    request.path = TierPath();
    request.cache_bytes = cache_bytes;
    Result<std::unique_ptr<tier::Store>> store = tier::OpenStore(request);
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    if (cache_bytes == 8u << 10) {
      EXPECT_EQ((*store)->memory_bytes(), cache_bytes / 2);
    } else {
      EXPECT_GT((*store)->memory_bytes(), 0u);
      EXPECT_LT((*store)->memory_bytes(), 64u << 10) << "of some hundred KiB";
    }
    uint64_t found = 0;
    for (int i = 0; i < 3000; ++i) {
      tier::Found record;
      BRAID_ASSERT_OK((*store)->Get("key" + std::to_string(i), &record));
      found += record.result().has_version() ? 1 : 0;
    }
    EXPECT_GT(found, 1000u);
    if (with_much == 0) with_much = found;
    EXPECT_EQ(found, with_much);
    // What one kind of open takes in, the other reads.
    taken_in.push_back("new" + std::to_string(taken_in.size()));
    const std::vector<tier::RunEntry> run = {{taken_in.back(), "value", 1u << 20, false}};
    BRAID_ASSERT_OK((*store)->Ingest(run));
    for (const std::string& key : taken_in) {
      tier::Found record;
      BRAID_ASSERT_OK((*store)->Get(key, &record));
      EXPECT_TRUE(record.result().has_version()) << key;
    }
    (*store)->Close();
  }
}

// A chunk may name more than memory or a table of the tier has room for.
TEST_P(TierModelTest, LargeValuesGoInSeveralRuns) {
  if (GetParam().on_rocksdb) GTEST_SKIP() << "the device in memory tells how many runs there were";
  if (GetParam().design == "tlsm") GTEST_SKIP() << "a list goes as a whole";
  constexpr int kKeys = 200;
  constexpr uint64_t kValueBytes = 64 << 10;
  tier::SetPoolBytes(1 << 20);
  Options options = TierOptions();
  options.pool.max_bytes = 64 << 20;
  std::unique_ptr<DB> db = OpenOrFail(options, PoolPath());
  ASSERT_NE(db, nullptr);
  const auto value = [](int i) {
    return std::string(kValueBytes, static_cast<char>('a' + i % 26));
  };
  for (int i = 0; i < kKeys; ++i) BRAID_ASSERT_OK(db->Put("key" + std::to_string(i), value(i)));
  BRAID_ASSERT_OK(db->Compact());
  const Statistics now = db->GetStatistics();
  ASSERT_GT(now.tier_moved_bytes, kKeys * kValueBytes * 8 / 10);
  // A quarter of a MiB each, and what the chunk's last value has more.
  EXPECT_GE(memory_.state().last_run, now.tier_moved_bytes / (512 << 10));
  for (int i = 0; i < kKeys; ++i) {
    std::string found;
    BRAID_ASSERT_OK(db->Get({}, "key" + std::to_string(i), &found));
    EXPECT_EQ(found, value(i)) << i;
  }
  BRAID_ASSERT_OK(db->Close());
}

TEST_P(TierModelTest, AnIteratorAndASnapshotSeeWhatTheySaw) {
  std::unique_ptr<DB> db = OpenOrFail(TierOptions(), PoolPath());
  ASSERT_NE(db, nullptr);
  const auto fill = [&](char value) {
    for (int i = 0; i < 1000; ++i) {
      BRAID_EXPECT_OK(db->Put("key" + std::to_string(i), std::string(100, value)));
    }
  };
  fill('a');
  const std::unique_ptr<Iterator> it = db->NewIterator({});
  const std::shared_ptr<const Snapshot> snapshot = db->GetSnapshot();
  it->SeekToFirst();
  for (int i = 0; i < 100; ++i) it->Next();
  BRAID_ASSERT_OK(db->Compact());  // most of what it goes through leaves the pool
  ASSERT_GT(db->GetStatistics().tier_entries, 100u);
  fill('b');
  for (int i = 0; i < 500; ++i) BRAID_EXPECT_OK(db->Delete("key" + std::to_string(i)));
  BRAID_ASSERT_OK(db->Compact());
  uint64_t seen = 100;
  for (; it->Valid(); it->Next(), ++seen) ASSERT_EQ(it->value(), std::string(100, 'a'));
  BRAID_EXPECT_OK(it->status());
  EXPECT_EQ(seen, 1000u);
  ReadOptions old;
  old.snapshot = snapshot.get();
  std::string value;
  for (int i = 0; i < 1000; ++i) {
    BRAID_ASSERT_OK(db->Get(old, "key" + std::to_string(i), &value));
    ASSERT_EQ(value, std::string(100, 'a'));
  }
  EXPECT_EQ(ScanForward(db.get()).size(), 500u);
}

TEST(TierTest, WithoutRocksDbTheOptionIsRefusedByName) {
  if (HasRocksDb()) GTEST_SKIP() << "built with RocksDB";
  TempFolder folder;
  Options options = TinyOptions();
  options.pool.max_bytes = 64 << 20;
  options.tier.path = folder.Sub("tier");
  const auto opened = DB::Open(options, folder.Sub("pool"));
  ASSERT_TRUE(HasCode(opened.status(), Status::Code::kNotSupported));
  EXPECT_NE(opened.status().message().find("tier.path"), std::string::npos);
}

TEST(TierTest, AStoreOfLeavesHasNone) {
  TempFolder folder;
  Options options;
  options.design = "nvskiplist";
  options.pool.max_bytes = 1 << 30;
  options.tier.path = folder.Sub("tier");
  const auto opened = DB::Open(options, folder.Sub("pool"));
  ASSERT_TRUE(HasCode(opened.status(), Status::Code::kNotSupported));
}

}  // namespace
}  // namespace braid::test
