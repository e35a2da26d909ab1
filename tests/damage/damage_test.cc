// A damaged pool gives the right answer or an error: never a wrong answer, a missing key without an
// error, a crash or a hang. Each trial harms one place of one file and runs in a process of its
// own.
#include <array>
#include <tuple>

#include "examiner.h"
#include "pool_map.h"
#include "support/child_process.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

struct Count {
  uint64_t open_failed = 0;
  uint64_t errors = 0;
  uint64_t verify_only = 0;  // reads were wrong without an error, verify told
  uint64_t torn = 0;         // taken for the torn end of a log
  uint64_t right = 0;
  std::array<uint64_t, kByteUses> unnoticed{};  // bytes changed in the trials that were right

  std::string ToString() const {
    std::string text = std::to_string(open_failed) + " refused, " + std::to_string(errors) +
                       " reported by verify, " + std::to_string(verify_only) + " by verify only, " +
                       std::to_string(torn) + " torn ends, " + std::to_string(right) +
                       " right (bytes changed:";
    for (int use = 0; use < kByteUses; ++use) {
      const uint64_t bytes = unnoticed[static_cast<size_t>(use)];
      if (bytes == 0) continue;
      text +=
          std::string(" ") + ByteUseName(static_cast<ByteUse>(use)) + " " + std::to_string(bytes);
    }
    return text + ")";
  }
};

class DamageTest : public ::testing::TestWithParam<std::tuple<int, int>> {
 protected:
  PoolState state() const { return static_cast<PoolState>(std::get<0>(GetParam())); }
  Harm harm() const { return static_cast<Harm>(std::get<1>(GetParam())); }

  /// Mostly a file with data: small ones, such as the lock, are harmed once in twenty trials.
  static PoolFile& PickFile(PoolImage* image, Random* random) {
    const bool any = random->OneIn(20);
    while (true) {
      PoolFile& file = image->files[random->Below(image->files.size())];
      if (any || file.bytes.size() >= kPageBytes) return file;
    }
  }

  /// What a log whose end is damaged may also hold; see PoolMap.
  static BuiltPool TornPool(const BuiltPool& pool, Model content) {
    BuiltPool torn;
    torn.deleted = pool.deleted;
    for (const auto& [key, unused] : pool.content) torn.deleted[key] = "";
    for (const auto& [key, unused] : content) torn.deleted.erase(key);
    torn.content = std::move(content);
    return torn;
  }

  /// A first open in which all was right: the bytes that changed must be of no use, or spare.
  void CheckUnnoticed(const PoolMap& map, const PoolImage& harmed, const std::string& place,
                      Count* count) {
    const std::vector<uint64_t> changed = map.Changed(harmed);
    for (size_t use = 0; use < changed.size(); ++use) count->unnoticed[use] += changed[use];
    EXPECT_EQ(changed[static_cast<size_t>(ByteUse::kNeeded)], 0u)
        << place << ": verify missed damage to bytes that are needed\n  " << ReplayLine();
  }

  /// One open of the harmed pool.
  ChildOutcome Open(const BuiltPool& pool, const PoolMap& map, const PoolImage& harmed,
                    const Options& options, const std::string& path, bool* torn) {
    const Model content = map.WithoutTornEnds(harmed, pool.content, torn);
    const auto examine = [&](const BuiltPool& expected) {
      return RunInChild(kAlarmSeconds,
                        [&](int fd) { return Examine(expected, options, path, fd); });
    };
    if (!*torn) return examine(pool);
    const ChildOutcome as_torn = examine(TornPool(pool, content));
    if (as_torn.exit_code < kSilent) return as_torn;
    // Other damage beside may have let recovery see more.
    return harmed.WriteTo(path) ? examine(pool) : as_torn;
  }

  static bool SameFiles(const PoolImage& a, const PoolImage& b) {
    return std::equal(a.files.begin(), a.files.end(), b.files.begin(), b.files.end(),
                      [](const PoolFile& x, const PoolFile& y) {
                        return x.name == y.name && x.bytes == y.bytes;
                      });
  }

  /// One trial; false when it showed a fault.
  bool Trial(const BuiltPool& pool, const PoolMap& map, const std::string& path, uint64_t seed,
             Count* count) {
    Random random(seed);
    PoolImage harmed = pool.image;
    PoolFile& file = PickFile(&harmed, &random);
    const std::string place = Damage(&file, harm(), &random, DamageOptions().pool.chunk_bytes,
                                     pool.earlier.BytesOf(file.name));
    Options options = DamageOptions();
    options.create_if_missing = random.OneIn(2);
    options.verify_on_open = random.OneIn(4) ? VerifyOnOpen::kFull : VerifyOnOpen::kQuick;
    options.background_threads = random.OneIn(2);
    options.read_only = random.OneIn(3);
    if (!harmed.WriteTo(path)) {
      ADD_FAILURE() << "cannot write the damaged pool to " << path;
      return false;
    }
    // The second round opens what the first may have repaired, or made worse.
    const int rounds = random.OneIn(4) ? 2 : 1;
    for (int round = 0; round < rounds; ++round) {
      bool torn = false;
      const ChildOutcome outcome = Open(pool, map, harmed, options, path, &torn);
      if (options.read_only && !SameFiles(PoolImage(path), harmed)) {
        ADD_FAILURE() << place << ": a reader has changed the pool, trial seed " << seed << "\n  "
                      << ReplayLine();
        return false;
      }
      if (outcome.exit_code == kAllRight) {
        ++(torn ? count->torn : count->right);
        if (round == 0 && !torn) CheckUnnoticed(map, harmed, place, count);
      } else if (outcome.exit_code == kOpenFailed) {
        ++count->open_failed;
      } else if (outcome.exit_code == kError) {
        ++count->errors;
      } else if (outcome.exit_code == kSilentRead && harm() == Harm::kStalePage) {
        // Every check in an old page matches: only the whole tells that it is old.
        ++count->verify_only;
      } else {
        ADD_FAILURE() << place << ", open " << round + 1 << ": "
                      << (outcome.exit_code == kSilent ? "SILENT " : "") << outcome.ToString()
                      << "\n  create_if_missing=" << options.create_if_missing
                      << " background_threads=" << options.background_threads
                      << " read_only=" << options.read_only
                      << " verify_on_open=" << static_cast<int>(options.verify_on_open)
                      << " trial seed " << seed << "\n  " << ReplayLine();
        return false;
      }
    }
    return !HasFailure();
  }
};

std::string TrialName(const ::testing::TestParamInfo<std::tuple<int, int>>& trial) {
  return std::string(PoolStateName(static_cast<PoolState>(std::get<0>(trial.param)))) +
         HarmName(static_cast<Harm>(std::get<1>(trial.param)));
}
INSTANTIATE_TEST_SUITE_P(Pools, DamageTest,
                         ::testing::Combine(::testing::Range(0, kPoolStates),
                                            ::testing::Range(0, kHarms)),
                         TrialName);

// All states and kinds of harm share the trials.
TEST_P(DamageTest, GivesTheRightAnswerOrAnError) {
  const uint64_t trials = Sized(2'000, 100'000, 1'000'000) / (kPoolStates * kHarms) + 1;
  TempFolder folder;
  const uint64_t part = 600 + static_cast<uint64_t>(std::get<0>(GetParam()) * kHarms) +
                        static_cast<uint64_t>(std::get<1>(GetParam()));
  const BuiltPool pool = BuildPool(state(), folder.Sub("sound"), DeriveSeed(part));
  ASSERT_FALSE(HasFailure()) << ReplayLine();
  ASSERT_FALSE(pool.image.files.empty());
  const PoolMap map(pool.image);
  Count count;
  uint64_t faults = 0;
  Random seeds(DeriveSeed(part + 100));
  for (uint64_t trial = 0; trial < trials && faults < 5; ++trial) {
    if (!Trial(pool, map, folder.Sub("harmed"), seeds.Next(), &count)) ++faults;
  }
  std::printf("[ damage   ] %s, %llu faults\n", count.ToString().c_str(),
              static_cast<unsigned long long>(faults));
  RecordProperty("right", std::to_string(count.right));
  RecordProperty("errors", std::to_string(count.open_failed + count.errors));
  RecordProperty("faults", std::to_string(faults));
}

TEST(UndamagedTest, EveryStateIsRightWhenNothingIsHarmed) {
  // The control: the same examination of sound pools finds no error, also in a copy.
  for (int state = 0; state < kPoolStates; ++state) {
    TempFolder folder;
    const BuiltPool pool =
        BuildPool(static_cast<PoolState>(state), folder.Sub("sound"), DeriveSeed(590));
    ASSERT_TRUE(pool.image.WriteTo(folder.Sub("copy")));
    const ChildOutcome outcome = RunInChild(kAlarmSeconds, [&](int fd) {
      return Examine(pool, DamageOptions(), folder.Sub("copy"), fd);
    });
    EXPECT_EQ(outcome.exit_code, kAllRight)
        << PoolStateName(static_cast<PoolState>(state)) << ": " << outcome.ToString() << "\n"
        << ReplayLine();
  }
}

TEST(UndamagedTest, TheExaminationSeesASilentFault) {
  // The control of the control: the pool is sound, but it should hold more, or other values.
  TempFolder folder;
  BuiltPool pool = BuildPool(PoolState::kMixed, folder.Sub("sound"), DeriveSeed(591));
  const auto examine = [&](const BuiltPool& expected) {
    return RunInChild(
               kAlarmSeconds,
               [&](int fd) { return Examine(expected, DamageOptions(), folder.Sub("sound"), fd); })
        .exit_code;
  };
  BuiltPool more = pool;
  more.content["key that was lost"] = "value";
  EXPECT_EQ(examine(more), kSilent);
  BuiltPool other = pool;
  other.content.begin()->second += "x";
  EXPECT_EQ(examine(other), kSilent);
  BuiltPool fewer = pool;
  fewer.content.erase(fewer.content.begin());
  EXPECT_EQ(examine(fewer), kSilent);
}

/// How many chunks hold data: not those of headers, of which a region that grows gets more.
uint64_t UsedChunks(const PoolMap& map) {
  uint64_t used = 0;
  for (uint64_t chunk = 0; chunk < map.chunks(); ++chunk) {
    const format::ChunkKind kind = map.state(chunk).kind();
    if (kind != format::ChunkKind::kFree && kind != format::ChunkKind::kMeta) ++used;
  }
  return used;
}

/// Deletes every second key of a closed pool, and gives back what that frees.
void Thin(BuiltPool* pool, const std::string& path) {
  pool->earlier = pool->image;
  Options options = DamageOptions();
  // No crash leaves the state of before a free where pages were given back: it is durable by then.
  // So nothing is.
  options.pool.initial_bytes = 1ull << 30;
  const std::unique_ptr<DB> db = OpenOrFail(options, path);
  ASSERT_NE(db, nullptr);
  bool goes = false;
  for (auto it = pool->content.begin(); it != pool->content.end(); goes = !goes) {
    const auto pair = it++;
    if (!goes) continue;
    BRAID_EXPECT_OK(db->Delete(pair->first));
    pool->deleted[pair->first] = "";
    pool->content.erase(pair);
  }
  BRAID_EXPECT_OK(db->Compact());
  EXPECT_EQ(db->GetStatistics().given_back_bytes, 0u);
  BRAID_EXPECT_OK(db->Close());
  pool->image = PoolImage(path);
}

// What an old page of states shows when all that changed in it since was freed.
TEST(FreedChunkTest, AStateOfBeforeTheFreeIsWhatACrashLeavesAndIsFreedAgain) {
  uint64_t extents = 0;
  uint64_t of_entries = 0;
  for (const PoolState pool_state :
       {PoolState::kCollected, PoolState::kExtents, PoolState::kRegions}) {
    SCOPED_TRACE(PoolStateName(pool_state));
    TempFolder folder;
    BuiltPool pool = BuildPool(pool_state, folder.Sub("sound"), DeriveSeed(592));
    ASSERT_NO_FATAL_FAILURE(Thin(&pool, folder.Sub("sound")));
    const PoolMap map(pool.image);
    PoolImage all = pool.image;
    for (uint64_t chunk = map.chunks(); chunk-- > 0;) {  // bodies of an extent before its head
      map.CopyState(chunk, pool.earlier, &all);
      if (!map.IsStateBeforeFree(all, chunk)) {
        map.CopyState(chunk, pool.image, &all);
        continue;
      }
      ++(format::HoldsEntries(map.StateIn(all, chunk).kind()) ? of_entries : extents);
    }
    EXPECT_EQ(map.Changed(all)[static_cast<size_t>(ByteUse::kNeeded)], 0u);
    ASSERT_TRUE(all.WriteTo(folder.Sub("harmed")));
    const ChildOutcome outcome = RunInChild(kAlarmSeconds, [&](int fd) {
      return Examine(pool, DamageOptions(), folder.Sub("harmed"), fd);
    });
    EXPECT_EQ(outcome.exit_code, kAllRight) << outcome.ToString() << "\n" << ReplayLine();
    const std::unique_ptr<DB> db = OpenOrFail(DamageOptions(), folder.Sub("harmed"));
    ASSERT_NE(db, nullptr);
    BRAID_EXPECT_OK(db->Compact());
    BRAID_EXPECT_OK(db->Close());
    EXPECT_LE(UsedChunks(PoolMap(PoolImage(folder.Sub("harmed")))), UsedChunks(map));
  }
  EXPECT_GT(of_entries, 0u) << ReplayLine();
  EXPECT_GT(extents, 0u) << ReplayLine();
}

}  // namespace
}  // namespace braid::test
