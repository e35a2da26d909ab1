// Damaged pools of every design and combination of parts: opened and repaired. By what was written
// and nothing else; damage_test.cc and repair_test.cc look more closely at the default store's.
#include <algorithm>
#include <tuple>

#include "examiner.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr unsigned kKindSeconds = kSanitizer ? 120 : 30;
enum KindVerdict : int { kSame = 0, kRefused = 1, kFault = 2 };

class KindsTest : public ::testing::TestWithParam<std::tuple<size_t, PoolState>> {
 protected:
  const StoreKind& store() const { return StoreKinds()[std::get<0>(GetParam())]; }
  PoolState state() const { return std::get<1>(GetParam()); }
  bool closed() const { return state() != PoolState::kKilled; }
  uint64_t Seed(uint64_t part) const {
    return DeriveSeed(920 + part + 10 * std::get<0>(GetParam()));
  }
  BuiltPool Build() { return BuildPool(state(), folder_.Sub("sound"), Seed(0), store()); }

  /// One place of one file, and where.
  PoolImage Harmed(const BuiltPool& pool, Harm harm, uint64_t seed, std::string* place) const {
    PoolImage harmed = pool.image;
    Random random(seed);
    PoolFile* file = nullptr;
    while (file == nullptr || file->bytes.size() < kPageBytes) {
      file = &harmed.files[random.Below(harmed.files.size())];
    }
    *place = Damage(file, harm, &random, DamageOptions().pool.chunk_bytes,
                    pool.earlier.BytesOf(file->name)) +
             ", trial seed " + std::to_string(seed) + " " + ReplayLine();
    return harmed;
  }

  TempFolder folder_;
};

std::string FindingsText(const RepairReport& report) {
  std::string text = std::to_string(report.findings.size()) + " findings";
  for (size_t i = 0; i < report.findings.size() && i < 8; ++i) {
    text += std::string("\n    ") + (report.findings[i].lost ? "lost " : "note ") +
            report.findings[i].ToString();
  }
  return text;
}

/// What is wrong with `got`, which a repair has brought back; empty: nothing.
std::string FaultOfRepair(const BuiltPool& pool, const Model& got, const RepairReport& report,
                          bool closed) {
  for (const auto& [key, value] : got) {
    const auto past = pool.history.find(key);
    if (past == pool.history.end() ||
        std::find(past->second.begin(), past->second.end(), value) == past->second.end()) {
      return "invented: " + Printable(key) + " = " + Printable(value);
    }
    if (pool.deleted.contains(key) && report.findings.empty()) {
      return "deleted, and back without a finding: " + Printable(key);
    }
  }
  // The end of a log that nobody has closed may be a torn write: that is no loss, but remarked.
  const bool told = closed ? report.losses() > 0 : !report.findings.empty();
  for (const auto& [key, value] : pool.content) {
    const auto found = got.find(key);
    if (found == got.end() && !told) return "missing without a finding: " + Printable(key);
    if (found != got.end() && found->second != value && report.findings.empty()) {
      return "old without a finding: " + Printable(key);
    }
  }
  return {};
}

Status ReadRecords(const Options& options, const std::string& path, Model* got) {
  Result<std::unique_ptr<DB>> opened = DB::Open(options, path);
  if (!opened.ok()) return opened.status();
  const auto it = opened.value()->NewIterator({});
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    (*got)[std::string(it->key())] = std::string(it->value());
  }
  return it->status();
}

int RepairAndCompare(const BuiltPool& pool, const Options& options, const std::string& path,
                     const std::string& target, bool closed, int fd) {
  RepairReport report;
  const Status status = DB::Repair(options, path, target, &report);
  if (!status.ok()) {
    SayTo(fd, status.ToString());
    return status.message().empty() ? kFault : kRefused;
  }
  Model got;
  const Status read = ReadRecords(options, target, &got);
  std::string fault = read.ok() ? FaultOfRepair(pool, got, report, closed) : read.ToString();
  if (fault.empty() && got.size() != report.records) fault = "the report counts other records";
  SayTo(fd, fault + "; " + FindingsText(report));
  return fault.empty() ? kSame : kFault;
}

TEST_P(KindsTest, ADamagedPoolGivesTheRightAnswerOrAnError) {
  if (!closed()) GTEST_SKIP() << "what a log's end may lose is for damage_test.cc";
  const BuiltPool pool = Build();
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  Random seeds(Seed(1));
  const uint64_t rounds = Sized(1, 20, 200);
  for (uint64_t trial = 0; trial < rounds * kHarms && !HasFailure(); ++trial) {
    const auto harm = static_cast<Harm>(trial % kHarms);
    // Every check in an old page matches, and what is changed in place has no history.
    if (harm == Harm::kStalePage) continue;
    std::string place;
    const PoolImage harmed = Harmed(pool, harm, seeds.Next(), &place);
    ASSERT_TRUE(harmed.WriteTo(folder_.Sub("harmed")));
    const ChildOutcome outcome = RunInChild(kKindSeconds, [&](int fd) {
      return Examine(pool, DamageOptions(store()), folder_.Sub("harmed"), fd);
    });
    EXPECT_TRUE(outcome.exit_code == kAllRight || outcome.exit_code == kOpenFailed ||
                outcome.exit_code == kError)
        << place << ": " << outcome.ToString();
  }
}

TEST_P(KindsTest, ARepairInventsNothingAndTellsWhatItLeavesOut) {
  const BuiltPool pool = Build();
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  Random seeds(Seed(2));
  const uint64_t rounds = Sized(1, 20, 200);
  for (uint64_t trial = 0; trial < rounds * kHarms && !HasFailure(); ++trial) {
    const auto harm = static_cast<Harm>(trial % kHarms);
    // What an older page hides of logs looks like a torn write (docs/guide/limitations.md).
    if (harm == Harm::kStalePage) continue;
    std::string place;
    const PoolImage harmed = Harmed(pool, harm, seeds.Next(), &place);
    ASSERT_TRUE(harmed.WriteTo(folder_.Sub("harmed")));
    const std::string target = folder_.Sub("repaired");
    const ChildOutcome outcome = RunInChild(kKindSeconds, [&](int fd) {
      return RepairAndCompare(pool, DamageOptions(store()), folder_.Sub("harmed"), target, closed(),
                              fd);
    });
    EXPECT_TRUE(outcome.exit_code == kSame || outcome.exit_code == kRefused)
        << place << ": " << outcome.ToString();
    std::filesystem::remove_all(target);
  }
}

TEST_P(KindsTest, ARepairOfASoundPoolIsTheSamePoolWithoutALoss) {
  const BuiltPool pool = Build();
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  RepairReport report;
  ASSERT_TRUE(
      IsOk(DB::Repair(DamageOptions(store()), folder_.Sub("sound"), folder_.Sub("new"), &report)));
  EXPECT_EQ(report.losses(), 0u) << FindingsText(report);
  EXPECT_TRUE(!closed() || report.findings.empty()) << FindingsText(report);
  Model got;
  ASSERT_TRUE(IsOk(ReadRecords(DamageOptions(store()), folder_.Sub("new"), &got)));
  EXPECT_TRUE(got == pool.content);
}

INSTANTIATE_TEST_SUITE_P(Stores, KindsTest,
                         ::testing::Combine(::testing::Range(size_t{1}, StoreKinds().size()),
                                            ::testing::Values(PoolState::kMixed,
                                                              PoolState::kKilled)),
                         [](const auto& param) {
                           return StoreKinds()[std::get<0>(param.param)].name +
                                  PoolStateName(std::get<1>(param.param));
                         });

}  // namespace
}  // namespace braid::test
