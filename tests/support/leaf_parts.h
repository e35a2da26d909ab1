// The parts of a store of leaves, put together without an engine and its threads: for tests of what
// the parts do, one step at a time.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/epoch.h"
#include "base/resources.h"
#include "design/design.h"
#include "leaf/leaf_recovery.h"
#include "leaf/leaf_store.h"
#include "support/test_pool.h"

namespace braid::test {

class LeafParts : private TestPool, public leaf::LeafStore {
 public:
  using Change = std::function<void(Options*)>;

  /// `change` may choose options; the rest is the design's.
  explicit LeafParts(const Change& change = [](Options*) {})
      : TestPool(
            [](pool::PmemPool* fresh) {
              if (Status s = fresh->RequireFeature(format::kIncompatLeaves); !s.ok()) return s;
              leaf::LeafList::Create(fresh);
              return level::Manifest(fresh).Create();
            },
            Chosen(change)),
        LeafStore(Chosen(change), TakePool(), *base::JoinBudget(Chosen(change), 0)) {
    leaf::LeafRecovery job(pool.get(), &manifest, &list, &usage);
    const Result<leaf::RecoveredLeaves> found = job.Run();
    ExpectOk(found.status());
    writer.Begin(found->last_sequence, found->entries);
  }
  LeafParts(const LeafParts&) = delete;
  LeafParts& operator=(const LeafParts&) = delete;
  ~LeafParts() {
    closed.store(true);
    scheduler.Stop();
    leaf::LeafList::Forget(list.TakeGarbage());
  }

  void Put(std::string_view key, std::string_view value) { ExpectOk(writer.Put({}, key, value)); }
  void Delete(std::string_view key) { ExpectOk(writer.Delete({}, key)); }
  /// Where the entry is; 0 where there is none.
  uint64_t Find(std::string_view key) {
    const base::EpochGuard guard;
    base::MutexHold lock;
    leaf::LeafNode* node = nullptr;
    ExpectOk(list.Lock(key, &lock, &node));
    if (node->offset == 0) return 0;
    const leaf::LeafLookup found = list.Find(*node, key, base::Hash64(key));
    return found.state == leaf::LeafLookup::State::kFound ? found.offset : 0;
  }
  /// "-" where there is none. Beside nobody who moves or frees.
  std::string Get(std::string_view key) {
    const uint64_t entry = Find(key);
    if (entry == 0) return "-";
    std::string_view value;
    ExpectOk(list.ValueOf(entry, &value));
    return std::string(value);
  }
  /// An entry in the heap that no leaf names.
  uint64_t NewEntry(std::string_view key, std::string_view value) {
    log::PendingEntry pending;
    pending.key = key;
    pending.value = value;
    pending.key_hash = base::Hash64(key);
    ExpectOk(heap.Reserve(0, &pending, pool::AllocationClass::kWrite));
    heap.Write(&pending, 1);
    return pending.offset;
  }
  uint64_t ChunksOf(format::ChunkKind kind) const {
    uint64_t count = 0;
    for (uint64_t chunk = 0; chunk < pool->chunks(); ++chunk) {
      count += pool->StateOf(chunk).kind() == kind ? 1 : 0;
    }
    return count;
  }
  /// What is wrong, by the complete check: in one text, empty where nothing is.
  std::string Problems(bool image_served = true) {
    const std::function<void(double)> no_progress;
    VerifyReport report;
    const Status s = leaf::LeafVerifier(ToVerify(image_served, &no_progress)).Run(&report);
    EXPECT_EQ(s.ok(), report.problems.empty()) << s.ToString();
    std::string text;
    for (const std::string& problem : report.problems) text += problem + "\n";
    return text;
  }
  /// The design's parts, in a pool of small chunks.
  static Options Chosen(const Change& change) {
    Options chosen = PoolOfSmallChunks(1024);
    chosen.background_threads = false;
    change(&chosen);
    design::kNvSkipList.choose(&chosen);
    return chosen;
  }
  static void ExpectOk(const Status& s) { EXPECT_TRUE(s.ok()) << s.ToString(); }
};

}  // namespace braid::test
