// "It was fast when it was new": a store that has seen far more records than it holds is as small
// and as fast as a young one. Each pattern keeps about the same live records all the time; what the
// last tenth of its operations finds is compared with the second (the first fills the store):
// bytes of the pool for live bytes, DRAM, processor time of an operation (mean, and the one in a
// thousand that takes longest) and of a seek to the first key. Push size does some 200,000
// operations a pattern, BRAID_TEST_SIZE=night many millions. Each tenth prints a line, from which
// scripts/reliability draws curves.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "support/database.h"
#include "support/processor_time.h"
#include "support/records.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kLive = 10'000;
constexpr size_t kValueBytes = 100;
constexpr size_t kTenths = 10;

/// One operation of a pattern: the i-th.
struct Pattern {
  const char* name;
  Status (*step)(DB* db, uint64_t i, Random* random);
};

std::string Value(uint64_t i) { return std::string(kValueBytes, static_cast<char>('a' + i % 26)); }

/// Puts one record and deletes the one that was put kLive operations before.
Status PassThrough(DB* db, uint64_t i, const std::function<std::string(uint64_t)>& key) {
  if (Status s = db->Put(key(i), Value(i)); !s.ok()) return s;
  return i < kLive ? Status::OK() : db->Delete(key(i - kLive));
}

/// The consumer finds what is oldest by itself, a batch at a time.
Status QueueStep(DB* db, uint64_t i, Random*) {
  constexpr uint64_t kBatch = 250;
  if (Status s = db->Put(NumberedKey(i), Value(i)); !s.ok()) return s;
  if (i < kLive || (i + 1) % kBatch != 0) return Status::OK();
  std::vector<std::string> keys;
  {
    const auto oldest = db->NewIterator({});
    oldest->SeekToFirst();
    for (; oldest->Valid() && keys.size() < kBatch; oldest->Next()) {
      keys.emplace_back(oldest->key());
    }
    if (!oldest->status().ok()) return oldest->status();
  }
  for (uint64_t n = 0; n < kBatch; ++n) {
    if (n >= keys.size() || keys[n] != NumberedKey(i + 1 - kLive - kBatch + n)) {
      return Status::Corruption("not the oldest record");
    }
    if (Status s = db->Delete(keys[n]); !s.ok()) return s;
  }
  return Status::OK();
}

Status TimeSeriesStep(DB* db, uint64_t i, Random*) {
  return PassThrough(db, i, [](uint64_t n) {
    return "sensor-" + std::to_string(n % 50) + "/" + NumberedKey(n / 50);
  });
}

Status WindowStep(DB* db, uint64_t i, Random*) {
  return PassThrough(db, i, [](uint64_t n) { return NumberedKey(n * 0x9E3779B97F4A7C15ull); });
}

Status HotKeysStep(DB* db, uint64_t i, Random* random) {
  const uint64_t key = random->OneIn(10) ? random->Between(0, kLive - 1) : random->Between(0, 15);
  return db->Put(NumberedKey(key), Value(i));
}

Status OverwritesStep(DB* db, uint64_t, Random* random) {
  return db->Put(NumberedKey(random->Between(0, kLive - 1)),
                 std::string(random->Between(0, 199), 'v'));
}

constexpr std::array<Pattern, 5> kPatterns = {{{"Queue", QueueStep},
                                               {"TimeSeries", TimeSeriesStep},
                                               {"SlidingWindow", WindowStep},
                                               {"HotKeys", HotKeysStep},
                                               {"Overwrites", OverwritesStep}}};

/// What a tenth of the operations found: the most of each.
struct Tenth {
  uint64_t used_bytes = 0;
  uint64_t memory_bytes = 0;
  double micros_an_operation = 0;
  double micros_of_slow_ones = 0;  // p99.9, in the thread that calls
  double micros_a_seek = 0;

  void Print(const std::string& name, size_t number) const {
    std::printf("[ ageing   ] %s %zu: %" PRIu64 " pool %" PRIu64
                " dram %.3f us/op %.3f us/p99.9 "
                "%.3f us/seek\n",
                name.c_str(), number, used_bytes, memory_bytes, micros_an_operation,
                micros_of_slow_ones, micros_a_seek);
  }
};

struct AgeingCase {
  Pattern pattern;
  std::string design;
  bool background_threads;
};

std::vector<AgeingCase> AgeingCases() {
  std::vector<AgeingCase> all;
  for (const Pattern& pattern : kPatterns) {
    all.push_back({pattern, "braid", false});
    all.push_back({pattern, "braid", true});
    all.push_back({pattern, "listdb", false});
    all.push_back({pattern, "zipperdb", false});
    all.push_back({pattern, "novelsm", false});
    all.push_back({pattern, "tlsm", false});
    all.push_back({pattern, "nvskiplist", false});
  }
  return all;
}

std::string NameOf(const AgeingCase& setup) {
  return std::string(setup.pattern.name) + "_" + setup.design +
         (setup.background_threads ? "" : "_inline");
}

class AgeingTest : public ::testing::TestWithParam<AgeingCase> {
 protected:
  static Options OptionsFor(const AgeingCase& setup) {
    Options options;
    options.design = setup.design;
    options.background_threads = setup.background_threads;
    options.pool.initial_bytes = 4 << 20;
    options.pool.chunk_bytes = 64 << 10;
    options.memtable.bytes = 256 << 10;
    options.memory_budget_bytes = 32 << 20;
    options.log.shards = 2;
    return options;
  }

  Tenth Run(DB* db, uint64_t begin, uint64_t end, Random* random) {
    Tenth tenth;
    const uint64_t sampled = std::max<uint64_t>((end - begin) / 10, 1);
    std::vector<float> micros;
    micros.reserve(end - begin);
    const double before = ProcessorSeconds();
    double last = ThreadSeconds();
    for (uint64_t i = begin; i < end; ++i) {
      const Status s = GetParam().pattern.step(db, i, random);
      const double now = ThreadSeconds();
      micros.push_back(static_cast<float>((now - last) * 1e6));
      last = now;
      if (!s.ok()) {
        ADD_FAILURE() << "operation " << i << ": " << s.ToString();
        return tenth;
      }
      if (i % sampled == 0 && !GetParam().background_threads) {
        Sample(db, &tenth);
        last = ThreadSeconds();
      }
    }
    tenth.micros_an_operation =
        (ProcessorSeconds() - before) * 1e6 / static_cast<double>(end - begin);
    const auto slow = micros.end() - static_cast<ptrdiff_t>(micros.size() / 1000) - 1;
    std::nth_element(micros.begin(), slow, micros.end());
    tenth.micros_of_slow_ones = static_cast<double>(*slow);
    // What merges have not come to yet is no age.
    BRAID_EXPECT_OK(db->Compact());
    Sample(db, &tenth);
    constexpr int kSeeks = 200;
    const double seeks_begin = ProcessorSeconds();
    for (int i = 0; i < kSeeks; ++i) {
      const auto it = db->NewIterator({});
      it->SeekToFirst();
      EXPECT_TRUE(it->Valid());
    }
    tenth.micros_a_seek = (ProcessorSeconds() - seeks_begin) * 1e6 / kSeeks;
    return tenth;
  }

  static void Sample(DB* db, Tenth* tenth) {
    const Statistics now = db->GetStatistics();
    tenth->used_bytes = std::max(tenth->used_bytes, now.pool_used_bytes);
    tenth->memory_bytes = std::max(tenth->memory_bytes, now.memory_bytes);
  }
};

INSTANTIATE_TEST_SUITE_P(Patterns, AgeingTest, ::testing::ValuesIn(AgeingCases()),
                         [](const auto& setup) { return NameOf(setup.param); });

/// What age has made larger or slower; empty: nothing.
std::string WorseWithAge(const std::vector<Tenth>& tenths) {
  const Tenth& young = tenths[4];
  const Tenth& old = tenths.back();
  std::string worse;
  const auto expect_at_most = [&](const std::string& what, double found, double most) {
    if (found <= most) return;
    worse += what + ": " + std::to_string(found) + ", at most " + std::to_string(most) +
             " are as it was; ";
  };
  // The most of each half: a list that was written in one go takes half the DRAM of one that was
  // merged into, and which of them a tenth ends with is chance.
  const auto expect_as_large = [&](const char* what, uint64_t Tenth::*bytes, uint64_t slack) {
    const auto most_of = [&](size_t first) {
      uint64_t most = 0;
      for (size_t i = first; i < first + kTenths / 2; ++i) most = std::max(most, tenths[i].*bytes);
      return most;
    };
    const uint64_t young_most = most_of(0);
    expect_at_most(what, static_cast<double>(most_of(kTenths / 2)),
                   static_cast<double>(young_most + young_most / 4 + slack));
  };
  expect_as_large("bytes of the pool", &Tenth::used_bytes, 1 << 20);
  expect_as_large("bytes of DRAM", &Tenth::memory_bytes, 64 << 10);
  if (kSanitizer) return worse;
  // The processor is shared with others: three times as much is no noise any more.
  // A queue's consumer passes what it has deleted until the next merge, which in a large memtable
  // is three tenths away: the slowest of three.
  const auto slowest = [&](size_t last) {
    return std::max({tenths[last - 2].micros_an_operation, tenths[last - 1].micros_an_operation,
                     tenths[last].micros_an_operation});
  };
  expect_at_most("us an operation", slowest(kTenths - 1), 3 * slowest(4));
  expect_at_most("us a seek", old.micros_a_seek, 3 * young.micros_a_seek + 5);
  // Once in a thousand an operation meets a flush, or a page that is touched for the first time;
  // what the tenths around have met counts, too.
  expect_at_most("us one in a thousand",
                 std::min(old.micros_of_slow_ones, tenths[kTenths - 2].micros_of_slow_ones),
                 3 * std::max(young.micros_of_slow_ones, tenths[3].micros_of_slow_ones) + 20);
  return worse;
}

// Indexes and caches of 200,000 operations are as large as they become after some tenths; a leak
// doubles from the fifth on.
TEST_P(AgeingTest, TheLastTenthIsLikeTheFifth) {
  // Of designs to compare with half as many will do.
  const uint64_t share = GetParam().design == "braid" ? 1 : 2;
  // As many in each push: in a part of them a tenth would be shorter than what comes and goes.
  const uint64_t whole = Sized(200'000, 20'000'000) * (kSanitizer ? 1 : PartOfPush());
  const uint64_t operations = std::max<uint64_t>(whole / share, 6 * kLive);
  // What others do to the processor comes once; age shows in each life.
  std::string worse;
  for (int life = 1; life <= 3; ++life) {
    TempFolder folder;
    const auto db = OpenOrFail(OptionsFor(GetParam()), folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    Random random(BaseSeed());
    std::vector<Tenth> tenths;
    for (size_t i = 0; i < kTenths && !HasFailure(); ++i) {
      tenths.push_back(
          Run(db.get(), operations * i / kTenths, operations * (i + 1) / kTenths, &random));
      tenths.back().Print(NameOf(GetParam()), i + 1);
    }
    ASSERT_EQ(tenths.size(), kTenths);
    worse = WorseWithAge(tenths);
    if (worse.empty() || HasFailure()) break;
    std::printf("[ ageing   ] %s\n", worse.c_str());
  }
  EXPECT_EQ(worse, "");
}

}  // namespace
}  // namespace braid::test
