// The parts of a store of the default design, put together without an engine, its threads and its
// recovery: for tests of what the parts do, one step at a time.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "design/design.h"
#include "engine/arranger.h"
#include "engine/collector.h"
#include "engine/flusher.h"
#include "engine/kept_dropper.h"
#include "engine/lookup_filler.h"
#include "engine/merger.h"
#include "engine/reader.h"
#include "engine/table_indexes.h"
#include "engine/verifier.h"
#include "engine/writer.h"
#include "support/test_pool.h"

namespace braid::test {

/// For one thread.
class StoreParts : private engine::Writer::Host {
 public:
  using Change = std::function<void(Options*)>;

  /// `change` may choose parts; the rest is the design's.
  explicit StoreParts(const Change& change = [](Options*) {}) : options(Chosen(change)) {
    const engine::VersionSet::Locked locked = versions.Lock();
    ExpectOk(locked.manifest().Load());
    auto version = std::make_shared<level::Version>();
    version->l1 = std::make_shared<level::PmemTable>(pool.get(), locked.record().tables[0], true);
    ExpectOk(indexes.Begin(*version, false));
    engine::ReadState first;
    first.version = std::move(version);
    const uint64_t id = locked.record().next_table_id;
    first.active = NewMemTable(id);
    locked.Begin(std::move(first), id + 1);
  }
  StoreParts(const StoreParts&) = delete;
  StoreParts& operator=(const StoreParts&) = delete;
  ~StoreParts() { closed.store(true); }

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
  void Seal() {
    const engine::VersionSet::Locked locked = versions.Lock();
    engine::NextState next = locked.Next();
    const std::shared_ptr<engine::LoggedMemTable> active = locked.state().active;
    next.Seal(NewMemTable(locked.NewTableId()));
    active->table->Advance(memtable::State::kSealed);
    active->sealed.store(true);
    locked.Show(std::move(next));
  }
  /// The oldest sealed memtable becomes a table of L0.
  engine::Flusher::Outcome FlushOldest() {
    Result<engine::Flusher::Outcome> flushed = flusher.FlushOldest(flusher.HoldFlushes());
    ExpectOk(flushed.status());
    return flushed.ok() ? std::move(flushed).value() : engine::Flusher::Outcome{};
  }
  /// What was put until now becomes a table of L0.
  void Flush() {
    Seal();
    while (FlushOldest().state == engine::Flusher::Outcome::State::kFlushed) {
    }
  }
  /// The oldest table of L0 goes into L1.
  engine::Merger::Merged Merge() {
    Result<engine::Merger::Merged> merged = merger.MergeOldest();
    ExpectOk(merged.status());
    return merged.ok() ? *merged : engine::Merger::Merged{};
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
  engine::Occasion Asked() const {
    return {.at_rest = true, .awaited = true, .in_round = true, .may_begin = true, .merged = 0};
  }
  /// What is wrong, by the complete check.
  VerifyReport Verify() {
    engine::Verifier verifier({.pool = pool.get(),
                               .usage = &usage,
                               .versions = &versions,
                               .reclaimer = &reclaimer,
                               .large_values = &large_values,
                               .sequence = &sequence,
                               .open_merge = &merger.open_merge(),
                               .progress = &no_progress});
    EXPECT_TRUE(verifier.CheckTables([] { return false; }));
    verifier.CheckSpace();
    VerifyReport report;
    ExpectOk(verifier.Report(&report));
    return report;
  }
  const engine::ReadState& state() const { return versions.Lock().state(); }
  uint64_t l1_entries() const { return versions.Lock().l1()->entries(); }
  static void ExpectOk(const Status& s) { EXPECT_TRUE(s.ok()) << s.ToString(); }

  const Options options;
  TestPool pool{[](pmem::PmemPool* fresh) { return level::Manifest(fresh).Create(); }, options};
  pmem::ChunkUsage usage{pool->media().reserved_bytes() / pool->chunk_bytes()};
  engine::MemoryBudget budget{options, pool.get(), nullptr};
  engine::WriteController controller{options};
  std::shared_ptr<engine::ViewRegistry> views = std::make_shared<engine::ViewRegistry>();
  space::Reclaimer reclaimer{pool.get(), [this] { return views->OldestPin(); }, [] {}};
  engine::VersionSet versions{pool.get(), &reclaimer};
  std::atomic<uint64_t> sequence{0};
  std::atomic<bool> closed{false};
  std::atomic<bool> stop_merges{false};
  std::atomic<uint32_t> jobs_asleep{0};
  engine::WriteErrors errors;
  engine::LargeValues large_values{pool.get()};
  engine::Reader reader{
      {&options, pool.get(), &versions, views, &reclaimer, nullptr, &sequence, &closed}};
  engine::TableIndexes indexes{{&options, pool.get(), &versions, &reclaimer, &budget}};
  engine::SpaceAccounts accounts{{&options, pool.get(), &usage, &versions, &reclaimer, nullptr}};
  engine::Flusher flusher{{.options = &options,
                           .pool = pool.get(),
                           .usage = &usage,
                           .versions = &versions,
                           .views = views.get(),
                           .reclaimer = &reclaimer,
                           .accounts = &accounts,
                           .budget = &budget,
                           .lookup_cache = nullptr,
                           .sequence = &sequence}};
  engine::Merger merger{{.options = &options,
                         .pool = pool.get(),
                         .usage = &usage,
                         .versions = &versions,
                         .views = views.get(),
                         .reclaimer = &reclaimer,
                         .accounts = &accounts,
                         .indexes = &indexes,
                         .budget = &budget,
                         .errors = &errors,
                         .stop = &stop_merges}};
  engine::Arranger arranger{{&options, pool.get(), &usage, &versions, &indexes, &merger}};
  engine::KeptDropper dropper{{&options, pool.get(), &versions, views.get(), &indexes, &merger}};
  engine::Collector collector{
      {&options, pool.get(), &usage, &accounts, &reclaimer, &merger, &errors}};
  engine::Writer writer{{.pool = pool.get(),
                         .versions = &versions,
                         .reader = &reader,
                         .reclaimer = &reclaimer,
                         .budget = &budget,
                         .large_values = &large_values,
                         .controller = &controller,
                         .errors = &errors,
                         .sequence = &sequence,
                         .jobs_asleep = &jobs_asleep,
                         .host = this},
                        2};
  // What writes have asked for.
  int wakes = 0;
  int seals = 0;
  int syncs = 0;
  int waits_for_space = 0;

 private:
  static Options Chosen(const Change& change) {
    Options chosen = PoolOfSmallChunks(256);
    change(&chosen);
    if (!chosen.cache.lookup_bytes) chosen.cache.lookup_bytes = 0;
    design::kBraid.choose(&chosen);
    return chosen;
  }
  std::shared_ptr<engine::LoggedMemTable> NewMemTable(uint64_t id) {
    return std::make_shared<engine::LoggedMemTable>(pool.get(), id, 2, options);
  }
  void Wake() noexcept override { ++wakes; }
  void SealFull(const engine::LoggedMemTable*) override { ++seals; }
  bool WaitForSpace(uint64_t) override {
    ++waits_for_space;
    return false;
  }
  Status Sync() override {
    ++syncs;
    return Status::OK();
  }
  void Fail(const Status& reason) noexcept override { errors.Fail(reason); }

  const std::function<void(double)> no_progress;
};

}  // namespace braid::test
