// The parts of a store of the default design, put together without an engine, its threads and its
// recovery: for tests of what the parts do, one step at a time.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/resources.h"
#include "design/design.h"
#include "level/level_sizes.h"
#include "lsm/lsm_store.h"
#include "lsm/verifier.h"
#include "support/test_pool.h"

namespace braid::test {

/// What writes and loads have asked for, and nobody has done.
class IdleHosts : public write::Writer::Host, public lsm::BulkLoader::Host {
 public:
  int wakes = 0;
  int seals = 0;
  int syncs = 0;
  int waits_for_space = 0;
  std::function<bool()> make_space = [] { return false; };

 private:
  void Wake() noexcept override { ++wakes; }
  void SwitchFullMemTable(const memtable::MemTable*) override { ++seals; }
  bool WaitForSpace(uint64_t) override {
    ++waits_for_space;
    return make_space();
  }
  Status Sync() override {
    ++syncs;
    return Status::OK();
  }
  void LetWork(bool) override {}
  void TellPressure(bool) override {}
};

/// For one thread.
class StoreParts : private TestPool, public IdleHosts, public lsm::LsmStore {
 public:
  using TestPool::path;
  using Change = std::function<void(Options*)>;

  /// `change` may choose parts; the rest is the design's. `tier` may be null.
  explicit StoreParts(
      const Change& change = [](Options*) {}, std::unique_ptr<tier::Store> tier = nullptr)
      : TestPool(
            [&change](pool::PmemPool* fresh) {
              return level::Manifest(fresh).Create(level::LevelsOfNewPool(Chosen(change).levels));
            },
            Chosen(change)),
        LsmStore(Chosen(change), TakePool(), std::move(tier), *base::JoinBudget(Chosen(change), 0),
                 this, this) {
    const level::VersionSet::Locked locked = versions.Lock();
    ExpectOk(locked.manifest().Load(level::LevelsOfPool(options.levels)));
    auto version = std::make_shared<level::Version>();
    version->levels.resize(locked.record().level_count);
    for (const format::TableRecord& table : locked.record().tables) {
      version->levels[table.level] = {std::make_shared<level::PmemTable>(pool.get(), table, true)};
    }
    ExpectOk(indexes.Begin(*version, false));
    level::ReadState first;
    first.version = std::move(version);
    const uint64_t id = locked.record().next_table_id;
    first.active = LsmStore::NewMemTable(id, nullptr);
    locked.Begin(std::move(first), id + 1);
  }
  StoreParts(const StoreParts&) = delete;
  StoreParts& operator=(const StoreParts&) = delete;
  virtual ~StoreParts() { closed.store(true); }

  void Put(std::string_view key, std::string_view value) { ExpectOk(writer.Put({}, key, value)); }
  void Delete(std::string_view key) { ExpectOk(writer.Delete({}, key)); }
  /// "-" where there is none.
  std::string Get(std::string_view key) {
    std::string value;
    const Status s = reader.Get({}, key, &value);
    if (s.IsNotFound()) return "-";
    ExpectOk(s);
    return value;
  }
  /// The active memtable becomes a sealed one.
  void SwitchMemTable() {
    const level::VersionSet::Locked locked = versions.Lock();
    level::NextState next = locked.Next();
    const std::shared_ptr<memtable::MemTable> active = locked.state().active;
    next.SwitchMemTable(LsmStore::NewMemTable(locked.NewTableId(), active.get()));
    active->Freeze();
    locked.Show(std::move(next));
  }
  /// The oldest immutable memtable becomes a table of L0.
  flush::Flusher::Outcome FlushOldest() {
    Result<flush::Flusher::Outcome> flushed = flusher.FlushOldest(flusher.HoldFlushes());
    ExpectOk(flushed.status());
    return flushed.ok() ? std::move(flushed).value() : flush::Flusher::Outcome{};
  }
  /// What was put until now becomes a table of L0.
  void Flush() {
    SwitchMemTable();
    while (FlushOldest().state == flush::Flusher::Outcome::State::kFlushed) {
    }
  }
  /// The oldest table of L0 goes into L1.
  compaction::Merger::Merged Merge(bool is_bottom = true) {
    Result<compaction::Merger::Merged> merged = merger.Merge(PlanOfMerge(is_bottom));
    ExpectOk(merged.status());
    return merged.ok() ? *merged : compaction::Merger::Merged{};
  }
  /// Of the oldest table of L0 into L1.
  compaction::Plan PlanOfMerge(bool is_bottom = true) const {
    compaction::Plan plan;
    plan.action = compaction::Action::kMerge;
    plan.to = 1;
    plan.inputs = {state().version->l0().back()->id()};
    const bool copies = *options.compaction.kind == MergeKind::kCopy;
    plan.method = copies ? compaction::MergeMethod::kCopyAndLink : compaction::MergeMethod::kLink;
    plan.is_bottom = is_bottom;
    return plan;
  }
  compaction::StoreFacts::OpenMerge open_merge() const {
    return compaction::Merger::OpenMergeOf(versions.Lock());
  }
  void Reclaim() {
    while (Worked(reclaimer.Reclaim(false))) {
    }
  }
  static bool Worked(const Result<bool>& step) {
    ExpectOk(step.status());
    return step.ok() && *step;
  }
  /// Somebody waits for all work.
  compaction::Occasion Asked() const {
    return {.at_rest = true, .awaited = true, .in_round = true, .may_begin = true, .merged = 0};
  }
  /// The complete check, which is to find nothing.
  VerifyReport Verify() {
    VerifyReport report = Examine();
    EXPECT_TRUE(report.problems.empty()) << report.problems.front();
    return report;
  }
  /// What is wrong, by the complete check.
  VerifyReport Examine() {
    lsm::Verifier verifier({.pool = pool.get(),
                            .usage = &usage,
                            .versions = &versions,
                            .reclaimer = &reclaimer,
                            .large_values = &large_values,
                            .sequence = &sequence,
                            .open_merges = &merger.open(),
                            .progress = &no_progress});
    EXPECT_TRUE(verifier.CheckTables([] { return false; }));
    verifier.CheckSpace();
    VerifyReport report;
    const Status s = verifier.Report(&report);
    EXPECT_EQ(s.ok(), report.problems.empty()) << s.ToString();
    return report;
  }
  /// Of the moment. Kept alive by the store until the next one is shown.
  const level::ReadState& state() const { return *versions.Lock().Keep(); }
  uint64_t l1_entries() const { return versions.Lock().bottom()->entries(); }
  /// The design's parts, in a small pool.
  static Options Chosen(const Change& change) {
    Options chosen = PoolOfSmallChunks(256);
    change(&chosen);
    if (!chosen.cache.lookup_bytes) chosen.cache.lookup_bytes = 0;
    design::kBraid.choose(&chosen);
    return chosen;
  }
  static void ExpectOk(const Status& s) { EXPECT_TRUE(s.ok()) << s.ToString(); }

 private:
  // What hosts are asked for and can do.
  std::shared_ptr<memtable::MemTable> NewMemTable(uint64_t id,
                                                  const memtable::MemTable* before) override {
    return LsmStore::NewMemTable(id, before);
  }
  void Fail(const Status& reason) noexcept override { errors.Fail(reason); }
  Status WhyNot() const override { return errors.ended() ? errors.WhyEnded() : Status::OK(); }
  Status FlushMemTables() override {
    Flush();
    return Status::OK();
  }
  bool FlushOldestHeld(const flush::Flusher::Lock& held) override {
    const Result<flush::Flusher::Outcome> flushed = flusher.FlushOldest(held);
    return flushed.ok() && flushed->state == flush::Flusher::Outcome::State::kFlushed;
  }
  Status WriteBackGroup() override { return flusher.WriteBackGroup(flusher.HoldGroups()); }
  void TellPressure(bool resume) override {
    const level::ReadState& now = state();
    if (resume) controller.Resume(now.version->l0().size(), now.immutables.size(), false);
  }

  const std::function<void(double)> no_progress;
};

}  // namespace braid::test
