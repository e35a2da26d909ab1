// Measures DramBTree: inserts and lookups of random 8-byte keys and 16-digit decimal keys, one
// thread and several, next to std::map. Keys lie in one large buffer as they would in a log.
//
//   dram_btree_bench [thousands of keys, default 1000] [threads, default 4] [rounds, default 3]
//                    [kind of key: random8 decimal16 ascending8, default all]
//
// Prints nanoseconds an operation (median of the rounds, and the least and largest) and ratios.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "base/prefetch.h"
#include "base/random.h"
#include "index/dram_btree.h"

namespace {

struct Entry {
  uint32_t key_size;
  char key[16];
  uint32_t value;
};

Entry* EntryOf(uint64_t ref) { return reinterpret_cast<Entry*>(ref); }

struct EntryKey {
  std::string_view operator()(uint64_t ref) const {
    return {EntryOf(ref)->key, EntryOf(ref)->key_size};
  }
  void Prefetch(uint64_t ref) const { braid::base::Prefetch(EntryOf(ref)); }
};

using Tree = braid::index::DramBTree<EntryKey>;

enum class Kind { kRandom8, kDecimal16, kSequential8 };

const char* NameOf(Kind kind) {
  switch (kind) {
    case Kind::kRandom8:
      return "random8";
    case Kind::kDecimal16:
      return "decimal16";
    case Kind::kSequential8:
      return "ascending8";
  }
  return "";
}

void WriteKey(Kind kind, uint64_t i, Entry* entry) {
  entry->value = static_cast<uint32_t>(i);
  if (kind == Kind::kDecimal16) {
    uint64_t number = braid::Mix64(i + 1) % 10'000'000'000'000'000u;
    for (int at = 15; at >= 0; --at, number /= 10) {
      entry->key[at] = static_cast<char>('0' + number % 10);
    }
    entry->key_size = 16;
    return;
  }
  const uint64_t number = __builtin_bswap64(kind == Kind::kRandom8 ? braid::Mix64(i + 1) : i + 1);
  std::memcpy(entry->key, &number, sizeof(number));
  entry->key_size = 8;
}

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Runs work(begin, end) over the parts of [0, n), one thread a part; returns seconds.
double Parallel(uint64_t n, uint64_t threads, const std::function<void(uint64_t, uint64_t)>& work) {
  if (threads == 1) return SecondsOf([&] { work(0, n); });
  return SecondsOf([&] {
    std::vector<std::thread> running;
    for (uint64_t t = 0; t < threads; ++t) {
      running.emplace_back(work, n * t / threads, n * (t + 1) / threads);
    }
    for (auto& thread : running) thread.join();
  });
}

void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "dram_btree_bench: wrong result: %s\n", what);
  std::exit(1);
}

struct Series {
  std::vector<double> nanoseconds;

  double Median() {
    std::sort(nanoseconds.begin(), nanoseconds.end());
    return nanoseconds[nanoseconds.size() / 2];
  }
  double Print(const char* what) {
    const double median = Median();
    std::printf("  %-28s %8.1f ns  (%.1f to %.1f)\n", what, median, nanoseconds.front(),
                nanoseconds.back());
    return median;
  }
};

struct Measured {
  Series insert, overwrite, find, find_many, scan;
  size_t bytes = 0;
};

uint64_t Scattered(uint64_t i, uint64_t n) { return braid::Mix64(i + 0x5eed) % n; }

void FindAll(const Tree& tree, Entry* entries, uint64_t n, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; ++i) {
    Entry probe = entries[0];
    // The probe is made anew, so that the entry is touched by the lookup alone.
    WriteKey(static_cast<Kind>(entries[n].value), Scattered(i, n), &probe);
    const uint64_t ref = tree.Find({probe.key, probe.key_size});
    Require(ref != 0 && EntryOf(ref)->value == probe.value, "Find");
  }
}

void FindGroups(const Tree& tree, Entry* entries, uint64_t n, uint64_t begin, uint64_t end) {
  constexpr uint64_t kGroup = 8;
  Entry probes[kGroup];
  std::string_view keys[kGroup];
  uint64_t refs[kGroup];
  for (uint64_t i = begin; i + kGroup <= end; i += kGroup) {
    for (uint64_t j = 0; j < kGroup; ++j) {
      WriteKey(static_cast<Kind>(entries[n].value), Scattered(i + j, n), &probes[j]);
      keys[j] = {probes[j].key, probes[j].key_size};
    }
    tree.FindMany(keys, refs, kGroup);
    for (uint64_t j = 0; j < kGroup; ++j) {
      Require(refs[j] != 0 && EntryOf(refs[j])->value == probes[j].value, "FindMany");
    }
  }
}

uint64_t ScanAll(const Tree& tree) {
  uint64_t refs[64];
  uint64_t total = 0;
  size_t n = tree.ScanFromStart(refs, 64);
  while (n != 0) {
    total += n;
    n = tree.ScanForward(EntryKey{}(refs[n - 1]), false, refs, 64);
  }
  return total;
}

void RunRound(Kind kind, uint64_t n, uint64_t threads, std::vector<Entry>& entries, Measured& out) {
  std::fill(entries.begin(), entries.end(), Entry{});
  entries[n].value = static_cast<uint32_t>(kind);
  auto tree = std::make_unique<Tree>();
  const auto add = [&](Series& series, double seconds) {
    series.nanoseconds.push_back(seconds * 1e9 / static_cast<double>(n));
  };
  const auto put = [&](uint64_t begin, uint64_t end) {
    for (uint64_t i = begin; i < end; ++i) {
      Entry made;
      WriteKey(kind, i, &made);
      tree->Upsert({made.key, made.key_size}, [&](uint64_t) {
        entries[i] = made;  // as a log would append it
        return reinterpret_cast<uint64_t>(&entries[i]);
      });
    }
  };
  add(out.insert, Parallel(n, threads, put));
  Require(tree->size() == n, "size after inserts");
  add(out.find, Parallel(n, threads, [&](uint64_t begin, uint64_t end) {
        FindAll(*tree, entries.data(), n, begin, end);
      }));
  add(out.find_many, Parallel(n, threads, [&](uint64_t begin, uint64_t end) {
        FindGroups(*tree, entries.data(), n, begin, end);
      }));
  add(out.overwrite, Parallel(n, threads, [&](uint64_t begin, uint64_t end) {
        for (uint64_t i = begin; i < end; ++i) {
          Entry probe;
          WriteKey(kind, Scattered(i, n), &probe);
          tree->Upsert({probe.key, probe.key_size}, [](uint64_t old_ref) { return old_ref; });
        }
      }));
  Require(tree->size() == n, "size after overwrites");
  add(out.scan, SecondsOf([&] { Require(ScanAll(*tree) == n, "full scan"); }));
  out.bytes = tree->memory_bytes();
}

double MapInsert(Kind kind, uint64_t n) {
  std::map<std::string_view, uint64_t> map;
  std::vector<Entry> entries(n);
  return SecondsOf([&] {
           for (uint64_t i = 0; i < n; ++i) {
             WriteKey(kind, i, &entries[i]);
             map.emplace(std::string_view{entries[i].key, entries[i].key_size}, i);
           }
         }) *
         1e9 / static_cast<double>(n);
}

void EmptyTrees() {
  constexpr int kTrees = 200'000;
  const double seconds = SecondsOf([] {
    for (int i = 0; i < kTrees; ++i) {
      const Tree tree;
      Require(tree.size() == 0, "empty tree");
    }
  });
  std::printf("make and free an empty tree: %.0f ns\n", seconds * 1e9 / kTrees);
}

void RunKind(Kind kind, uint64_t n, uint64_t threads, int rounds) {
  std::vector<Entry> entries(n + 1);
  Measured one;
  Measured many;
  for (int round = 0; round < rounds; ++round) {
    RunRound(kind, n, 1, entries, one);
    if (threads > 1) RunRound(kind, n, threads, entries, many);
  }
  std::printf("%s keys, %" PRIu64 " of them\n", NameOf(kind), n);
  const double insert = one.insert.Print("insert");
  const double find = one.find.Print("find");
  const double find_many = one.find_many.Print("find, groups of 8");
  const double overwrite = one.overwrite.Print("overwrite");
  one.scan.Print("scan, a key");
  std::printf("  %-28s %8.1f bytes a key\n", "memory",
              static_cast<double>(one.bytes) / static_cast<double>(n));
  std::printf("  std::map inserts take %.2f times as long\n", MapInsert(kind, n) / insert);
  if (threads > 1) {
    const auto scaling = [](double single, double several) { return single / several; };
    std::printf("  %" PRIu64
                " threads are faster by: insert %.2f, find %.2f, groups %.2f, "
                "overwrite %.2f\n",
                threads, scaling(insert, many.insert.Median()), scaling(find, many.find.Median()),
                scaling(find_many, many.find_many.Median()),
                scaling(overwrite, many.overwrite.Median()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t n = 1000 * (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000);
  const uint64_t threads = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 3;
  if (n == 0 || n >= uint64_t{1} << 32 || threads == 0 || rounds <= 0) {
    std::fprintf(stderr, "usage: dram_btree_bench [thousands of keys] [threads] [rounds] [kind]\n");
    return 2;
  }
  EmptyTrees();
  for (const Kind kind : {Kind::kRandom8, Kind::kDecimal16, Kind::kSequential8}) {
    if (argc <= 4 || std::string_view(argv[4]) == NameOf(kind)) RunKind(kind, n, threads, rounds);
  }
  return 0;
}
