// Parts that the default design does not pick, under several threads with flushes and merges all
// the time: values of a key never go back, snapshots do not move, nothing is lost. Made for
// -fsanitize=thread as well.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

using Settings = std::vector<std::pair<std::string, std::string>>;
struct Parts {
  const char* name;
  Settings settings;
};

class PartsStressTest : public ::testing::TestWithParam<Parts> {};

constexpr size_t kPartKeys = 40;
constexpr size_t kPartWriters = 2;

std::string KeyOf(size_t i) { return "key" + std::to_string(100 + i); }
uint64_t NumberOf(const Slice value) { return std::stoull(std::string(value)); }

TEST_P(PartsStressTest, ValuesNeverGoBackAndSnapshotsDoNotMove) {
  TempFolder folder;
  Options options = TinyOptions();
  options.background_threads = true;
  options.memtable.bytes = 4096;
  for (const auto& [name, value] : GetParam().settings) {
    const Status set = options.Set(name, value);
    ASSERT_TRUE(set.ok()) << set.ToString();
  }
  const auto db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  std::atomic<uint64_t> failures{0};
  std::atomic<size_t> writing{kPartWriters};
  const auto require = [&](bool condition) { failures.fetch_add(condition ? 0 : 1); };
  std::vector<std::thread> threads;
  // A writer owns every other key, so that its values grow.
  for (size_t writer = 0; writer < kPartWriters; ++writer) {
    threads.emplace_back([&, writer] {
      Random random(writer + 1);
      for (uint64_t n = 1; n <= 4000; ++n) {
        const size_t key = random.Below(kPartKeys / kPartWriters) * kPartWriters + writer;
        const std::string padding(random.OneIn(400) ? 9000 : random.Below(120), ' ');
        require(db->Put(KeyOf(key), std::to_string(n) + padding).ok());
      }
      writing.fetch_sub(1);
    });
  }
  for (uint64_t reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&, reader] {
      Random random(100 + reader);
      std::vector<uint64_t> seen(kPartKeys, 0);
      while (writing.load() != 0) {
        const size_t key = random.Below(kPartKeys);
        std::string value;
        if (!db->Get(KeyOf(key), &value).ok()) {
          require(seen[key] == 0);
          continue;
        }
        require(NumberOf(value) >= seen[key]);
        seen[key] = NumberOf(value);
      }
    });
  }
  threads.emplace_back([&] {
    while (writing.load() != 0) {
      const auto snapshot = db->GetSnapshot();
      ReadOptions at;
      at.snapshot = snapshot.get();
      std::vector<std::string> first;
      for (int pass = 0; pass < 2; ++pass) {
        std::vector<std::string> values;
        const auto all = db->NewIterator(at);
        for (all->SeekToFirst(); all->Valid(); all->Next()) {
          values.push_back(std::string(all->key()) + "=" + std::string(all->value()));
        }
        require(all->status().ok());
        if (pass == 0) first = values;
        require(values == first);
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures.load(), 0u);
  BRAID_ASSERT_OK(db->Compact());
  VerifyReport report;
  BRAID_EXPECT_OK(db->Verify(&report));
  BRAID_ASSERT_OK(db->Close());
}

INSTANTIATE_TEST_SUITE_P(
    Stress, PartsStressTest,
    ::testing::Values(
        Parts{"SkipList", {{"memtable.kind", "skiplist"}}},
        Parts{"Lazy", {{"flush.group_tables", "3"}, {"compaction.l0_trigger", "5"}}},
        Parts{"WriteAhead", {{"log.kind", "write-ahead"}, {"cache.lookup_bytes", "512"}}},
        Parts{"CopyMerge", {{"compaction.kind", "copy"}, {"cache.lookup_bytes", "512"}}},
        Parts{"InPlace", {{"memtable.kind", "persistent"}, {"cache.lookup_bytes", "512"}}},
        Parts{"Alternating", {{"memtable.kind", "alternating"}, {"log.kind", "write-ahead"}}},
        Parts{"CopyTwice",
              {{"compaction.kind", "copy"},
               {"log.kind", "write-ahead"},
               {"memtable.kind", "skiplist"}}}),
    [](const auto& parts) { return std::string(parts.param.name); });

}  // namespace
}  // namespace braid::test
