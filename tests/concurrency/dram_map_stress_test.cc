// The ordered maps in DRAM under several threads: nothing that was inserted is lost, values of a
// key only grow, scans are sorted and complete, and readers wait for commits under way. Seeds are
// printed; BRAID_SEED repeats one (the threads' interleaving stays free). Made for
// -fsanitize=thread as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/compare.h"
#include "base/epoch.h"
#include "base/random.h"
#include "index/dram_btree.h"
#include "index/dram_skiplist.h"
#include "index/entry_index.h"
#include "support/environment.h"

namespace braid::index {
namespace {

// Entries live as long as the test: the epochs of a real caller, at their longest.
struct Entry {
  std::string key;
  size_t key_number;
  uint64_t value;
};

const Entry& EntryOf(uint64_t ref) { return *reinterpret_cast<const Entry*>(ref); }

struct EntryKey {
  std::string_view operator()(uint64_t ref) const { return EntryOf(ref).key; }
};

/// ThreadSanitizer is slow, and its share of the work finds as many races.
constexpr size_t Share(size_t work) { return work / (test::kThreadSanitizer ? 5 : 1); }

uint64_t NewSeed() {
  const char* given = std::getenv("BRAID_SEED");
  const uint64_t seed =
      given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
  std::printf("BRAID_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// Key number i in order, of a kind that changes with i: heads that decide, heads that tie, and
// prefixes that shrink when a neighbour of another kind comes.
std::string KeyOfNumber(size_t i) {
  std::string digits = std::to_string(1'000'000 + i);
  switch (i / 50 % 3) {
    case 0:
      return digits;
    case 1:
      return digits + std::string(i % 7, '\0');
    default:
      return digits.substr(0, 5) + std::string(60, '\xff') + digits.substr(5);
  }
}

std::vector<std::string> SortedKeys(size_t n) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < n; ++i) keys.push_back(KeyOfNumber(i));
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

void RunThreads(size_t n, const std::function<void(size_t)>& body) {
  std::vector<std::thread> threads;
  for (size_t t = 0; t < n; ++t) threads.emplace_back(body, t);
  for (auto& thread : threads) thread.join();
}

// What the threads of a test share. A failed check is counted, since gtest's own macros would
// serialize the threads.
template <class Map>
class Arena {
 public:
  // Every lasting-th key is never erased.
  Arena(size_t keys, size_t threads, size_t lasting = 3)
      : keys_(SortedKeys(keys)),
        lasting_(lasting),
        announced_(keys_.size()),
        entries_(threads),
        puts_(threads),
        erased_(threads) {
    for (auto& counts : puts_) counts.resize(keys_.size());
    for (auto& sums : erased_) sums.resize(keys_.size());
  }

  size_t size() const { return keys_.size(); }
  const std::string& key(size_t i) const { return keys_[i]; }
  Map& tree() { return tree_; }
  bool Lasting(size_t i) const { return i % lasting_ == 0; }
  size_t lasting() const { return lasting_; }

  void Require(bool condition, const char* what) {
    if (condition) return;
    failures_.fetch_add(1);
    first_failure_.store(what);
  }
  void ExpectNoFailures() { EXPECT_EQ(failures_.load(), 0u) << first_failure_.load(); }

  // Stores one more than the value before, or 1. The value is announced before it is published.
  void Increment(size_t thread, size_t i, bool dawdle = false) {
    tree_.Upsert(keys_[i], [&](uint64_t old_ref) {
      const uint64_t value = old_ref == 0 ? 1 : EntryOf(old_ref).value + 1;
      Require(old_ref == 0 || EntryOf(old_ref).key_number == i, "commit got another key's ref");
      if (Lasting(i)) announced_[i].store(value, std::memory_order_release);
      if (dawdle) std::this_thread::yield();
      entries_[thread].push_back({keys_[i], i, value});
      return reinterpret_cast<uint64_t>(&entries_[thread].back());
    });
    ++puts_[thread][i];
  }

  void Erase(size_t thread, size_t i) {
    tree_.EraseIf(keys_[i], [&](uint64_t ref) {
      Require(EntryOf(ref).key_number == i, "erase got another key's ref");
      erased_[thread][i] += EntryOf(ref).value;
      return true;
    });
  }

  // As a merge does: some of the keys from i on get copies of their entries, a leaf at a time.
  void CopySome(size_t thread, size_t i, Random& random) {
    uint64_t refs[kScanned];
    const size_t n = tree_.ScanForward(keys_[i], true, refs, kScanned);
    std::vector<Replacement> run;
    for (size_t r = 0; r < n; ++r) {
      if (random.Uniform(3) == 0) continue;
      entries_[thread].push_back(EntryOf(refs[r]));
      run.push_back({refs[r], reinterpret_cast<uint64_t>(&entries_[thread].back())});
    }
    for (size_t at = 0; at < run.size();) {
      const size_t done =
          tree_.ReplaceRun(EntryOf(run[at].to).key, run.data() + at, run.size() - at);
      Require(done <= run.size() - at, "more was replaced than there was");
      at += std::max<size_t>(done, 1);  // it has another one by now, or none
    }
  }

  // As a merge does: what comes before each of some keys in order, with a finger.
  void LookBefore(size_t i, Random& random) {
    constexpr size_t kMostLeftOut = 4;
    struct {
      const void* leaf = nullptr;
      uint64_t state = 0;
    } finger;
    for (size_t step = 0; step < 100 && i < size(); ++step, i += random.Uniform(4)) {
      std::vector<uint64_t> announced;  // from i down
      for (size_t back = 0; back <= std::min<size_t>(i, 40); ++back) {
        announced.push_back(Lasting(i - back) ? Announced(i - back) : 0);
      }
      uint64_t refs[8];
      const size_t n = tree_.ScanBefore(keys_[i], refs, std::size(refs), &finger);
      if (n == 0) {
        const auto seen = std::count_if(announced.begin() + 1, announced.end(),
                                        [](uint64_t value) { return value != 0; });
        Require(seen <= static_cast<ptrdiff_t>(kMostLeftOut), "all keys are left out");
      }
      size_t behind = i;
      for (size_t r = 0; r < n; ++r) {
        const size_t number = EntryOf(refs[r]).key_number;
        Require(number < behind, "what comes before a key is out of order");
        if (number >= behind) return;
        size_t missing = 0;
        for (size_t between = number + 1; between < behind; ++between) {
          if (i - between < announced.size() && announced[i - between] != 0) ++missing;
        }
        Require(missing <= (r == 0 ? kMostLeftOut : 0), "a key is left out before another");
        behind = number;
      }
    }
  }

  // What a reader that begins now must at least see of a lasting key.
  uint64_t Announced(size_t i) const { return announced_[i].load(std::memory_order_acquire); }

  void CheckFound(size_t i, uint64_t ref, uint64_t least) {
    Require(ref == 0 || EntryOf(ref).key_number == i, "found another key");
    Require((ref == 0 ? 0 : EntryOf(ref).value) >= least, "found an older value than announced");
  }

  // Several leaves a call.
  static constexpr size_t kScanned = 192;
  static_assert(kScanned <= KeyedRefs::kMost);

  size_t ScanPlain(const std::string& from, bool inclusive, bool backward, uint64_t* refs) const {
    return backward ? tree_.ScanBackward(from, inclusive, refs, kScanned)
                    : tree_.ScanForward(from, inclusive, refs, kScanned);
  }
  // With what the leaves know of the keys, where the map tells that.
  size_t ScanKeyed(const std::string& from, bool inclusive, bool backward, uint64_t* refs) {
    if constexpr (requires(KeyedRefs * out) { tree_.ScanKeyed(ScanStart{}, out, kScanned); }) {
      KeyedRefs copied;
      const size_t n = tree_.ScanKeyed({!backward, false, inclusive, from}, &copied, kScanned);
      for (size_t i = 0, part = 0; i < n; ++i) {
        if (i == copied.part[part].end) ++part;
        const LeafPart& leaf = copied.part[part];
        const std::string& key = EntryOf(copied.refs[i]).key;
        const std::string_view prefix = std::string_view(key).substr(0, leaf.prefix_length);
        bool known = copied.heads[i] == base::WordAt(key, leaf.prefix_length) &&
                     (leaf.length == LeafPart::kMixed || leaf.length == key.size());
        for (size_t word = 0; word < LeafPart::kWords; ++word) {
          known = known && leaf.prefix[word] == base::WordAt(prefix, 8 * word);
        }
        Require(known, "a leaf told of another key");
        refs[i] = copied.refs[i];
      }
      return n;
    } else {
      return ScanPlain(from, inclusive, backward, refs);
    }
  }

  // Scans from key i on (down to it, if backward), in at most `chunks` calls, and checks order and
  // that every lasting key of the range is there with at least the value announced before.
  void Scan(size_t start, bool backward, size_t chunks) {
    size_t expected = start;  // the next key number that may come
    uint64_t refs[kScanned];
    bool inclusive = true;
    const std::string* from = &keys_[start];
    for (size_t chunk = 0; chunk < chunks; ++chunk) {
      std::vector<uint64_t> announced;  // of the keys ahead, as far as a call may reach
      for (size_t i = 0; i < 400 && InRange(expected, backward, i); ++i) {
        announced.push_back(Announced(backward ? expected - i : expected + i));
      }
      const size_t n = chunk % 2 == 0 ? ScanKeyed(*from, inclusive, backward, refs)
                                      : ScanPlain(*from, inclusive, backward, refs);
      const size_t base = expected;
      for (size_t r = 0; r < n; ++r) {
        const size_t number = EntryOf(refs[r]).key_number;
        const bool ordered =
            backward ? number <= expected && expected < size() : number >= expected;
        Require(ordered, "scan is out of order");
        if (!ordered) return;
        for (; expected != number; expected += backward ? -1 : 1) CheckSkipped(expected);
        const size_t ahead = backward ? base - number : number - base;
        if (Lasting(number) && ahead < announced.size()) {
          Require(EntryOf(refs[r]).value >= announced[ahead], "scan saw an older value");
        }
        expected += backward ? -1 : 1;  // below 0 it wraps to the largest number: nothing more
      }
      if (n == 0) {
        for (; expected < size(); expected += backward ? -1 : 1) CheckSkipped(expected);
        return;
      }
      from = &EntryOf(refs[n - 1]).key;
      inclusive = false;
    }
  }

  void Preload() {
    for (size_t i = 0; i < size(); i += lasting_) Increment(0, i);
    preloaded_ = true;
  }

  // After the threads: the values that stand and those erased add up to all increments.
  void CheckBalance() {
    size_t present = 0;
    for (size_t i = 0; i < size(); ++i) {
      uint64_t put = 0;
      uint64_t gone = 0;
      for (size_t t = 0; t < puts_.size(); ++t) {
        put += puts_[t][i];
        gone += erased_[t][i];
      }
      const uint64_t ref = tree_.Find(keys_[i]);
      present += ref != 0;
      ASSERT_EQ(put, gone + (ref == 0 ? 0 : EntryOf(ref).value)) << "key number " << i;
    }
    EXPECT_EQ(tree_.size(), present);
    Scan(0, false, size());
    Scan(size() - 1, true, size());
    ExpectNoFailures();
  }

 private:
  bool InRange(size_t from, bool backward, size_t steps) const {
    return backward ? from < size() && from >= steps : from + steps < size();
  }
  void CheckSkipped(size_t i) {
    Require(!preloaded_ || !Lasting(i), "scan missed a key that was there all the time");
  }

  std::vector<std::string> keys_;
  size_t lasting_;
  Map tree_;
  std::vector<std::atomic<uint64_t>> announced_;
  std::vector<std::deque<Entry>> entries_;
  std::vector<std::vector<uint64_t>> puts_;
  std::vector<std::vector<uint64_t>> erased_;
  bool preloaded_ = false;
  std::atomic<uint64_t> failures_{0};
  std::atomic<const char*> first_failure_{""};
};

template <class Map>
void FindMany(const Map& map, const std::string_view* keys, uint64_t* refs, size_t n) {
  if constexpr (requires { map.FindMany(keys, refs, n); }) {
    map.FindMany(keys, refs, n);
  } else {
    for (size_t i = 0; i < n; ++i) refs[i] = map.Find(keys[i]);
  }
}

template <class Map>
void OneOperation(Arena<Map>& arena, Random& random, size_t thread) {
  const size_t i = random.Uniform(arena.size());
  switch (random.Uniform(14)) {
    case 0:
      arena.Scan(i, false, 3);
      break;
    case 1:
      arena.Scan(i, true, 3);
      break;
    case 2:
      if (!arena.Lasting(i)) arena.Erase(thread, i);
      break;
    case 3: {  // an abandoned upsert changes nothing
      arena.tree().Upsert(arena.key(i), [](uint64_t) { return uint64_t{0}; });
      break;
    }
    case 4: {
      const size_t lasting = i - i % arena.lasting();
      const uint64_t least = arena.Announced(lasting);
      arena.CheckFound(lasting, arena.tree().FindFloor(arena.key(lasting)), least);
      break;
    }
    case 5: {
      size_t numbers[11];
      std::string_view keys[11];
      uint64_t least[11];
      uint64_t refs[11];
      for (size_t k = 0; k < 11; ++k) {
        numbers[k] = random.Uniform(arena.size());
        keys[k] = arena.key(numbers[k]);
        least[k] = arena.Lasting(numbers[k]) ? arena.Announced(numbers[k]) : 0;
      }
      FindMany(arena.tree(), keys, refs, 11);
      for (size_t k = 0; k < 11; ++k) arena.CheckFound(numbers[k], refs[k], least[k]);
      break;
    }
    case 6:
      if constexpr (!std::is_same_v<Map, DramSkipList>) arena.CopySome(thread, i, random);
      break;
    case 7:
      if constexpr (!std::is_same_v<Map, DramSkipList>) arena.LookBefore(i, random);
      break;
    case 8:
    case 9: {
      const uint64_t least = arena.Lasting(i) ? arena.Announced(i) : 0;
      arena.CheckFound(i, arena.tree().Find(arena.key(i)), least);
      break;
    }
    default:
      arena.Increment(thread, i);
  }
}

template <class Map>
class DramMapStressTest : public testing::Test {};

struct MapName {
  template <class Map>
  static std::string GetName(int) {
    return std::is_same_v<Map, DramSkipList> ? "SkipList" : "BTree";
  }
};
using Maps = testing::Types<DramBTree<EntryKey>, DramSkipList>;
TYPED_TEST_SUITE(DramMapStressTest, Maps, MapName);

TYPED_TEST(DramMapStressTest, MixedOperationsLoseNothing) {
  using Map = TypeParam;
  constexpr size_t kThreads = 8;
  const uint64_t seed = NewSeed();
  // Few keys make threads meet in a leaf; many make them split.
  for (const size_t keys : {size_t{40}, size_t{1000}, size_t{30000}}) {
    Arena<Map> arena(keys, kThreads);
    arena.Preload();
    RunThreads(kThreads, [&](size_t thread) {
      Random random(seed + 1000 * keys + thread);
      for (size_t op = 0; op < Share(30000); ++op) OneOperation(arena, random, thread);
    });
    arena.CheckBalance();
  }
}

TYPED_TEST(DramMapStressTest, ReadersWaitForCommitsUnderWay) {
  using Map = TypeParam;
  constexpr size_t kThreads = 6;
  const uint64_t seed = NewSeed();
  Arena<Map> arena(60, kThreads);
  std::atomic<size_t> writers{2};
  RunThreads(kThreads, [&](size_t thread) {
    Random random(seed + thread);
    if (thread < 2) {
      for (size_t op = 0; op < Share(20000); ++op) {
        arena.Increment(thread, random.Uniform(arena.size() / 3) * 3, true);
      }
      writers.fetch_sub(1);
      return;
    }
    while (writers.load() != 0) {
      const size_t i = random.Uniform(arena.size() / 3) * 3;
      const uint64_t least = arena.Announced(i);
      uint64_t ref = 0;
      switch (random.Uniform(4)) {
        case 0:
          ref = arena.tree().Find(arena.key(i));
          break;
        case 1:
          arena.tree().ScanForward(arena.key(i), true, &ref, 1);
          break;
        case 2:
          ref = arena.tree().FindFloor(arena.key(i));
          break;
        default: {
          const std::string_view key = arena.key(i);
          FindMany(arena.tree(), &key, &ref, 1);
        }
      }
      if (least != 0) arena.CheckFound(i, ref, least);
    }
  });
  arena.CheckBalance();
}

TYPED_TEST(DramMapStressTest, InsertsAtBothEndsAndBetweenAllArrive) {
  using Map = TypeParam;
  constexpr size_t kThreads = 6;
  const uint64_t seed = NewSeed();
  Arena<Map> arena(Share(30000), kThreads);
  // Two threads climb, two descend, two insert at random places, all through the same keys.
  RunThreads(kThreads, [&](size_t thread) {
    Random random(seed + thread);
    const size_t n = arena.size();
    for (size_t step = thread % 2; step < n; step += 2) {
      if (thread < 2) {
        arena.Increment(thread, step);
      } else {
        arena.Increment(thread, thread < 4 ? n - 1 - step : random.Uniform(n));
      }
    }
  });
  arena.CheckBalance();
  for (size_t i = 0; i < arena.size(); ++i) ASSERT_NE(arena.tree().Find(arena.key(i)), 0u);
}

TYPED_TEST(DramMapStressTest, FullScansSeeEveryOldKeyWhileLeavesSplitAndEmpty) {
  using Map = TypeParam;
  constexpr size_t kThreads = 5;
  const uint64_t seed = NewSeed();
  // Splits are what endangers a scan, and most happen while a tree is young: so many young trees.
  for (size_t round = 0; round < Share(150) && !testing::Test::HasFailure(); ++round) {
    Arena<Map> arena(4000, kThreads);
    arena.Preload();
    std::atomic<size_t> writers{2};
    RunThreads(kThreads, [&](size_t thread) {
      Random random(seed + round * kThreads + thread);
      if (thread >= 2) {
        while (writers.load() != 0) {
          const bool backward = thread != 2;
          arena.Scan(backward ? arena.size() - 1 : 0, backward, arena.size());
        }
        return;
      }
      for (size_t op = 0; op < 8000; ++op) {
        // At first the tree fills all over, then whole stretches are emptied.
        const bool filling = op < 4000;
        const size_t i = filling ? random.Uniform(arena.size()) : op % arena.size();
        if (arena.Lasting(i)) continue;
        if (filling || random.OneIn(4)) {
          arena.Increment(thread, i);
        } else {
          arena.Erase(thread, i);
        }
      }
      writers.fetch_sub(1);
    });
    arena.CheckBalance();
  }
}

/// Stretches of keys come and go, so that leaves and inner nodes are joined, and made again of the
/// same memory, while others read, write and erase there.
TEST(DramBTreeStressTest, NodesGiveWayAndAreUsedAgainBesideReaders) {
  using Map = DramBTree<EntryKey>;
  constexpr size_t kWriters = 3;
  constexpr size_t kReaders = 3;
  constexpr size_t kStretch = 2500;
  const uint64_t seed = NewSeed();
  Arena<Map> arena(20'000, kWriters + kReaders + 1, 97);
  const size_t new_bytes = arena.tree().memory_bytes();
  arena.Preload();
  std::atomic<size_t> writers{kWriters};
  RunThreads(kWriters + kReaders + 1, [&](size_t thread) {
    Random random(seed + thread);
    if (thread < kWriters) {
      for (size_t round = 0; round < Share(60); ++round) {
        const size_t begin = random.Uniform(arena.size() - kStretch);
        for (size_t i = 0; i < kStretch; ++i) {
          const base::EpochGuard guard;
          arena.Increment(thread, begin + i);
        }
        const bool backward = random.OneIn(2);
        for (size_t i = 0; i < kStretch; ++i) {
          const size_t at = begin + (backward ? kStretch - 1 - i : i);
          const base::EpochGuard guard;
          if (!arena.Lasting(at)) arena.Erase(thread, at);
        }
      }
      writers.fetch_sub(1);
    } else if (thread < kWriters + kReaders) {
      while (writers.load() != 0) {
        for (int op = 0; op < 20; ++op) {
          const base::EpochGuard guard;
          OneOperation(arena, random, thread);
        }
        const base::EpochGuard guard;
        const bool backward = random.OneIn(2);
        arena.Scan(backward ? arena.size() - 1 : 0, backward, 200);
      }
    } else {
      while (writers.load() != 0) {
        const Map::Retired retired = arena.tree().TakeRetired();
        base::SynchronizeEpoch();
        arena.tree().Reuse(retired);
        std::this_thread::yield();
      }
    }
  });
  arena.CheckBalance();
  // Emptied, it is one leaf again, and the rest of a chunk of separators, whatever the threads met
  // on the way.
  for (size_t i = 0; i < arena.size(); ++i) arena.Erase(0, i);
  arena.tree().Reuse(arena.tree().TakeRetired());
  EXPECT_EQ(arena.tree().size(), 0u);
  EXPECT_LE(arena.tree().memory_bytes(), new_bytes + 512);
}

TYPED_TEST(DramMapStressTest, ManyThreadsGrowOneTreeFromTheFirstLeaf) {
  using Map = TypeParam;
  constexpr size_t kThreads = 8;
  // Again and again the first splits and the first roots, which happen once in a tree's life.
  for (size_t round = 0; round < Share(200); ++round) {
    Arena<Map> arena(300, kThreads);
    RunThreads(kThreads, [&](size_t thread) {
      for (size_t i = thread; i < arena.size(); i += kThreads) {
        arena.Increment(thread, (i * 97 + round) % arena.size());
        arena.Scan(i, i % 2 == 0, 4);
      }
    });
    arena.CheckBalance();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace braid::index
