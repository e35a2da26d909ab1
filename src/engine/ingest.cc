// Purpose: bulk load: records become a table of L0 without passing log and memtable. Thread safety,
// invariants, persistence: see lsm_engine.h and flush/sorted_load.h.
//
// Steps of a run of sorted records:
//  1. Choose the table's id and its one sequence number far above those of now, so that all tables
//     and writes that come while it is written stay below them. The entries carry both.
//  2. Write the entries; reads and writes go on. What is written belongs to nobody yet.
//  3. Flush the memtables. When little is left, hold the writers, and flush the rest.
//  4. Commit the table with the manifest, draw its number, and show it, as the newest of L0 below a
//     fresh memtable; let the writers go on. The commit is the moment at which the records are in
//     the store, and the swap of the state the one at which others see them.
#include <algorithm>
#include <cstdio>

#include "base/activity.h"
#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/lsm_engine.h"
#include "engine/record_run.h"
#include "flush/sorted_load.h"

namespace braid::engine {

namespace {

/// Numbers and ids that are left to those who write beside a load. A pool has 2^56 of each.
constexpr uint64_t kSequenceGap = 1ull << 32;
constexpr uint64_t kTableIdGap = 1ull << 24;
/// Entries in the memtable for whose flush writers are held.
constexpr uint64_t kFewEntries = 4096;
/// Flushes after which they are held anyhow.
constexpr int kMostRounds = 8;
/// Attempts to find all memtables flushed.
constexpr int kMostAttempts = 100;
/// DRAM for records that are being sorted: a share of the budget, within limits.
constexpr uint64_t kBudgetShare = 8;
constexpr uint64_t kLeastRun = 64 << 10;
constexpr uint64_t kLargestRun = 64 << 20;

}  // namespace

/// A table in the making. What it has taken is given back unless it became one.
class LsmEngine::Loading {
 public:
  Loading(LsmEngine* engine, uint64_t table_id, uint64_t sequence)
      : engine_(engine), load(engine->pool_.get(), &engine->usage_, table_id, sequence) {}
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;
  ~Loading() {
    if (kept) return;
    if (!engine_->pool_->failed()) {  // else the next open finds it
      const auto reclaim_lock = engine_->reclaimer_.Hold();
      const std::lock_guard load_lock(engine_->load_mutex_);
      base::Try([&] { load.GiveBack(); });
    }
    const std::lock_guard lock(engine_->structure_mutex_);
    if (head) engine_->manifest_.ReturnHead(*head);
    engine_->loading_table_id_ = 0;
  }

 private:
  LsmEngine* engine_;

 public:
  flush::SortedLoad load;
  std::optional<uint32_t> head;
  bool kept = false;  // it is a table, or nobody knows
};

/// Writers wait as long as it lives. They find an active memtable that is sealed, and try again.
class LsmEngine::WriteHold {
 public:
  explicit WriteHold(LsmEngine* engine) : engine_(engine) { engine_->controller_.Hold(); }
  WriteHold(const WriteHold&) = delete;
  WriteHold& operator=(const WriteHold&) = delete;
  ~WriteHold() {
    // Nobody has written to it, so it may go on as if it had never been sealed.
    if (sealed != nullptr) sealed->sealed.store(false);
    engine_->LetWritersGo();
  }

 private:
  LsmEngine* engine_;

 public:
  std::shared_ptr<LoggedMemTable> sealed;
};

void LsmEngine::LetWritersGo() {
  const std::lock_guard lock(structure_mutex_);
  const ReadState& state = *state_owner_;
  if (blocked_.load()) return controller_.LetGo(0, 0, false);  // writers get the reason
  controller_.LetGo(state.version->l0.size(), state.immutables.size(), IsFull(*state.active));
}

Status LsmEngine::Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) {
  const CallGate::Call call(&calls_);
  if (!call.entered()) return Status::Closed();
  const std::lock_guard one_at_a_time(ingest_mutex_);
  if (closed()) return Status::Closed();
  if (failed() || medium_failed()) return WriteError();
  if (blocked_.load()) {
    if (Status blocked = BlockedReason(); !blocked.ok()) return blocked;
  }
  // Durable before there is a chunk that older programs would not understand.
  if (Status s = pool_->AnnounceIncompat(format::kIncompatCopies); !s.ok()) {
    Fail(s);
    return s;
  }
  CheckedSource checked(source, options, [this] {
    if (closed()) return Status::Closed();
    return failed() || medium_failed() ? WriteError() : Status::OK();
  });
  if (options.sorted) return IngestRun(&checked, report);
  RecordRun run(&pool_->memory_users(),
                std::clamp(options_.memory_budget_bytes / kBudgetShare, kLeastRun, kLargestRun));
  for (bool more = true; more;) {
    more = run.Fill(&checked);
    if (Status s = checked.status(); !s.ok()) return s;
    if (Status s = IngestRun(&run, report); !s.ok()) return s;
  }
  return Status::OK();
}

/// All records of `source`, whose keys ascend, become one table.
Status LsmEngine::IngestRun(NumberedSource* source, IngestReport* report) {
  uint64_t table_id = 0;
  uint64_t sequence = 0;
  {
    const std::lock_guard lock(structure_mutex_);
    const uint64_t last = std::min(sequence_.load(), format::kMaxSequence);
    const uint64_t gap = std::min(kSequenceGap, (format::kMaxSequence - last) / 2);
    table_id = next_table_id_ + kTableIdGap;
    sequence = last + gap;
    if (gap == 0 || table_id + 2 >= format::kMaxId) {
      return Status::IOError("the numbers of this pool are used up; copy its content to a new one");
    }
    loading_table_id_ = table_id;
  }
  Loading loading(this, table_id, sequence);
  if (Status s = LoadRecords(source, &loading); !s.ok()) return s;
  if (loading.load.records() == 0) return Status::OK();
  if (Status s = TakeHeadForLoad(&loading); !s.ok()) return s;
  loading.load.Close(format::kTableHeadsOffset + *loading.head * sizeof(format::TableHead));
  if (pool_->failed()) return pool_->FaultStatus();
  // On page-cache media the records must be on the medium before their table is named.
  if (Status s = SyncUnless(BRAID_MUTANT(kLoadNotSynced)); !s.ok()) {
    Fail(s);
    return s;
  }
  if (Status s = CommitLoad(&loading); !s.ok()) return s;
  report->records += loading.load.records();
  report->bytes += loading.load.bytes();
  UpdatePressure();
  if (options_.background_threads) {
    Wake();
  } else {
    RunInline();
  }
  return Status::OK();
}

Status LsmEngine::LoadRecords(NumberedSource* source, Loading* loading) {
  const base::ActivityScope activity(base::Activity::kFlush);
  Slice key;
  Slice value;
  while (source->Next(&key, &value)) {
    LargeValues::Scope room(&large_values_, {});
    for (;;) {
      const uint64_t reclaims = reclaimer_.times();
      Status s;
      {
        const std::lock_guard lock(load_mutex_);
        s = loading->load.Add(key, value);
      }
      if (s.IsOutOfSpace()) {
        if (Status asked = room.AskForRoom(value.size()); !asked.ok()) return asked;
        if (WaitForSpace(reclaims)) continue;
      }
      if (closed()) return Status::Closed();
      if (s.IsInvalidArgument()) {
        return Status::InvalidArgument("record " + std::to_string(source->number()) + ": " +
                                       std::string(s.message()));
      }
      if (!s.ok()) return s;
      break;
    }
    if (pool_->failed()) return pool_->FaultStatus();
  }
  return source->status();
}

/// Waits for a merge to free one, if need be.
Status LsmEngine::TakeHeadForLoad(Loading* loading) {
  for (;;) {
    {
      const std::lock_guard lock(structure_mutex_);
      Result<uint32_t> head = manifest_.TakeHead();
      if (head.ok()) {
        loading->head = *head;
        return Status::OK();
      }
      if (*options_.compaction.kind == MergeKind::kNone) return L0IsFull();
    }
    if (closed()) return Status::Closed();
    if (failed() || medium_failed()) return WriteError();
    if (options_.background_threads) {
      std::unique_lock lock(work_mutex_);
      WakeLocked();
      work_changed_.wait_for(lock, std::chrono::milliseconds(10));
    } else {
      RunInline();
    }
  }
}

Status LsmEngine::CommitLoad(Loading* loading) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (!BRAID_MUTANT(kLoadBeforeFlush)) {
      if (Status s = FlushMostEntries(); !s.ok()) return s;
    }
    Result<bool> shown = ShowLoad(loading);
    if (!shown.ok()) return shown.status();
    if (*shown) return Status::OK();
  }
  return Status::TryAgain("the memtables could not be flushed while writes go on; try again");
}

/// So that writers need not be held for long.
Status LsmEngine::FlushMostEntries() {
  for (int round = 0; round < kMostRounds; ++round) {
    SealActive(nullptr);
    if (Status s = WaitUntilIdle(false); !s.ok()) return s;
    if (closed()) return Status::Closed();
    if (failed() || medium_failed()) return WriteError();
    if (Status blocked = BlockedReason(); !blocked.ok()) return blocked;
    const std::lock_guard lock(structure_mutex_);
    if (state_owner_->active->table->entries() <= kFewEntries) break;
  }
  return Status::OK();
}

/// False when a memtable found no room for its table yet: nothing has changed then.
Result<bool> LsmEngine::ShowLoad(Loading* loading) {
  const std::lock_guard beside_no_range(range_mutex_);  // its records may lie in the range
  const std::lock_guard flush_lock(flush_mutex_);
  WriteHold hold(this);
  SealForLoad(&hold);
  while (!BRAID_MUTANT(kLoadBeforeFlush) && FlushOldestLocked()) {
  }
  if (failed() || medium_failed()) return WriteError();
  if (sealed_memtables() != 0 && !BRAID_MUTANT(kLoadBeforeFlush)) return false;
  if (Status s = Checkpoint(); !s.ok()) return s;
  return CommitHeld(loading, &hold);
}

/// Puts an empty memtable in the place of the active one that takes no writes, and waits until
/// nobody writes to any.
void LsmEngine::SealForLoad(WriteHold* hold) {
  std::shared_ptr<LoggedMemTable> before;
  {
    const std::lock_guard batch_lock(batch_mutex_);
    const std::lock_guard lock(structure_mutex_);
    NextState next = CopyState();
    before = next.state->active;
    next.state->immutables.insert(next.state->immutables.begin(), before);
    next.state->active = std::make_shared<LoggedMemTable>(
        pool_.get(), next_table_id_++, static_cast<uint32_t>(shards_.size()), options_);
    hold->sealed = next.state->active;
    hold->sealed->sealed.store(true);
    before->table->Advance(memtable::State::kSealed);
    before->sealed.store(true);
    SwapState(std::move(next));
  }
  pmem::SynchronizeEpoch();
  if (before->table->entries() != 0) return;
  const std::lock_guard lock(structure_mutex_);
  NextState next = CopyState();
  next.state->immutables.erase(next.state->immutables.begin());
  SwapState(std::move(next));
}

/// While nobody writes and no memtable holds anything.
Result<bool> LsmEngine::CommitHeld(Loading* loading, WriteHold* hold) {
  const std::lock_guard batch_lock(batch_mutex_);
  const std::lock_guard lock(structure_mutex_);
  const uint64_t sequence = loading->load.sequence();
  const uint64_t table_id = loading->load.table_id();
  if (sequence_.load() >= sequence || next_table_id_ > table_id) {
    return Status::TryAgain(
        "more writes came during the ingest than it left numbers for; repeat it");
  }
  format::TableRecord record{};
  record.id = table_id;
  record.level = 0;
  record.head = *loading->head;
  record.entries = loading->load.records();
  record.max_sequence = sequence;
  // All that may fail comes before the commit.
  auto version = std::make_shared<level::Version>(*state_owner_->version);
  auto table = std::make_shared<level::PmemTable>(pool_.get(), record, options_.verify_checksums);
  table->set_is_load();
  version->l0.insert(version->l0.begin(), std::move(table));
  NextState next = CopyState();
  next.state->version = std::move(version);
  next.state->active = std::make_shared<LoggedMemTable>(
      pool_.get(), table_id + 1, static_cast<uint32_t>(shards_.size()), options_);
  if (pool_->failed()) return pool_->FaultStatus();
  if (!BRAID_MUTANT(kLoadIdNotKept)) next_table_id_ = table_id + 2;
  loading->kept = true;
  if (BRAID_MUTANT(kLoadShownInSteps)) sequence_.store(sequence);
  AddTable(record);
  if (Status s = manifest_.Commit(); !s.ok()) {
    Fail(s);
    return s;
  }
  loading_table_id_ = 0;
  if (lookup_cache_ != nullptr) {
    lookup_cache_->Clear();
    unfilled_id_ = table_id;
    lookup_fill_begins_ = true;
  }
  // A view that learns the number must not read the old state: see RegisterView.
  switching_.store(true);
  if (!BRAID_MUTANT(kLoadNumberNotKept)) sequence_.store(sequence);
  SwapState(std::move(next));
  switching_.store(false);
  hold->sealed.reset();  // it stays sealed: a writer that drew a lower number may still look at it
  return true;
}

}  // namespace braid::engine
