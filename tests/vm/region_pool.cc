#include "region_pool.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "braid/db.h"
#include "media/thread_region.h"

namespace braid::test {
namespace {

constexpr uint32_t kNodes = 2;
constexpr uint64_t kKeysANode = 4000;

std::string KeyOf(uint64_t number) {
  std::string key = std::to_string(number * 7919 % (kKeysANode * kNodes));
  return "key" + std::string(6 - key.size(), '0') + key;
}

/// Runs work(node) on a processor of each node at once; true when all say so. The machine has one
/// processor a node, with the node's number.
template <class Work>
bool OnEachNode(const Work& work) {
  std::atomic<bool> right{true};
  std::vector<std::thread> threads;
  for (uint32_t node = 0; node < kNodes; ++node) {
    threads.emplace_back([&, node] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(node, &one);
      const bool there = ::sched_setaffinity(0, sizeof one, &one) == 0 &&
                         media::ThreadNode() == static_cast<int>(node);
      if (!there) std::printf("@fail no thread runs on node %u\n", node);
      if (!there || !work(node)) right = false;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return right;
}

int Fail(const std::string& what, const Status& status) {
  std::printf("@fail %s: %s\n", what.c_str(), status.ToString().c_str());
  return 1;
}

}  // namespace

int FillRegionsAndDie(const std::string& pool, const std::string& folder) {
  Options options;
  options.pool.regions = kNodes;
  options.pool.region_paths = {folder};
  options.pool.chunk_bytes = 64 << 10;
  options.pool.initial_bytes = 32 << 20;
  options.memtable.bytes = 256 << 10;
  Result<std::unique_ptr<DB>> db = DB::Open(options, pool);
  if (!db.ok()) return Fail("open", db.status());
  const bool written = OnEachNode([&](uint32_t node) {
    for (uint64_t i = 0; i < kKeysANode; ++i) {
      const std::string key = KeyOf(i * kNodes + node);
      const Status s = (*db)->Put(key, "value of " + key + std::string(100, '.'));
      if (!s.ok()) return Fail("put", s) == 0;
    }
    return true;
  });
  if (!written) return 1;
  if (const Status s = (*db)->Compact(); !s.ok()) return Fail("compact", s);
  const Statistics statistics = (*db)->GetStatistics();
  std::printf("@regions-filled fallbacks=%llu\n",
              static_cast<unsigned long long>(statistics.region_fallbacks));
  // Acknowledged, in the log only.
  if (const Status s = (*db)->Put("last", "acknowledged"); !s.ok()) return Fail("put", s);
  std::fflush(stdout);
  ::kill(::getpid(), SIGKILL);
  return 1;
}

int ReadRegions(const std::string& pool) {
  Options options;
  options.lists.count_visits = true;
  options.background_threads = false;  // so that no tree over the merged list is built meanwhile
  Result<std::unique_ptr<DB>> db = DB::Open(options, pool);
  if (!db.ok()) return Fail("open", db.status());
  std::string last;
  if (const Status s = (*db)->Get("last", &last); !s.ok()) return Fail("the last write", s);
  const Statistics before = (*db)->GetStatistics();
  const bool read = OnEachNode([&](uint32_t) {
    for (uint64_t number = 0; number < kKeysANode * kNodes; ++number) {
      const std::string key = KeyOf(number);
      std::string value;
      const Status s = (*db)->Get(key, &value);
      if (!s.ok() || value.substr(0, 9 + key.size()) != "value of " + key) {
        return Fail("get " + key, s) == 0;
      }
    }
    return true;
  });
  if (!read) return 1;
  VerifyReport report;
  if (const Status s = (*db)->Verify(&report); !s.ok()) return Fail("verify", s);
  const Statistics s = (*db)->GetStatistics();
  std::printf(
      "@regions-read keys=%llu upper-local=%llu upper-remote=%llu bottom-local=%llu "
      "bottom-remote=%llu\n",
      static_cast<unsigned long long>(report.live_entries - 1),
      static_cast<unsigned long long>(s.upper_visits_local - before.upper_visits_local),
      static_cast<unsigned long long>(s.upper_visits_remote - before.upper_visits_remote),
      static_cast<unsigned long long>(s.bottom_visits_local - before.bottom_visits_local),
      static_cast<unsigned long long>(s.bottom_visits_remote - before.bottom_visits_remote));
  return 0;
}

}  // namespace braid::test
