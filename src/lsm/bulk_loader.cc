// Purpose: the steps of a bulk load.
// Thread safety, invariant, persistence: see bulk_loader.h.
#include "lsm/bulk_loader.h"

#include <algorithm>
#include <cstdio>

#include "base/activity.h"
#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"
#include "flush/sorted_load.h"
#include "lsm/record_run.h"

namespace braid::lsm {

namespace {

/// Numbers and ids that are left to writes that run during a load. A pool has 2^56 of each.
constexpr uint64_t kSequenceGap = 1ull << 32;
constexpr uint64_t kTableIdGap = 1ull << 24;
/// Entries in the memtable for whose flush writers are held.
constexpr uint64_t kFewEntries = 4096;
/// Flushes after which they are held anyhow.
constexpr int kMostRounds = 8;
/// Attempts to find all memtables flushed.
constexpr int kMostAttempts = 100;
/// Attempts to find room for a record. That there is room again may be true of what its value takes
/// and not of its entry: then the next attempt fails as the one before.
constexpr int kMostWaits = 16;
/// DRAM for records that are being sorted: a share of the budget, within limits.
constexpr uint64_t kBudgetShare = 8;
constexpr uint64_t kLeastRun = 64 << 10;
constexpr uint64_t kLargestRun = 64 << 20;

}  // namespace

/// A table in the making. What it has taken is given back unless it became one.
class BulkLoader::Loading {
 public:
  Loading(BulkLoader* loader, uint64_t table_id, uint64_t sequence)
      : loader_(loader), load(&loader->pool_, loader->store_.usage, table_id, sequence) {}
  Loading(const Loading&) = delete;
  Loading& operator=(const Loading&) = delete;
  ~Loading() {
    if (kept) return;
    if (!loader_->pool_.failed()) {  // else the next open finds it
      const auto reclaim_lock = loader_->store_.reclaimer->Hold();
      const auto chunks_held = loader_->HoldChunks();
      base::IgnoreExceptions([&] { load.GiveBack(); });
    }
    const level::VersionSet::Locked versions = loader_->store_.versions->Lock();
    if (head) versions.manifest().ReturnHead(*head);
    versions.SetLoadingTableId(0);
  }

 private:
  BulkLoader* loader_;

 public:
  flush::SortedLoad load;
  std::optional<uint32_t> head;
  bool kept = false;  // it is a table, or nobody knows
};

/// Writers wait as long as it lives. They find an active memtable that is frozen, and try again.
class BulkLoader::WritePause {
 public:
  explicit WritePause(BulkLoader* loader) : loader_(loader) { loader_->store_.controller->Pause(); }
  WritePause(const WritePause&) = delete;
  WritePause& operator=(const WritePause&) = delete;
  ~WritePause() {
    // Nobody has written to it, so it may go on as if it had never been frozen.
    if (frozen != nullptr) frozen->Unfreeze();
    loader_->store_.host->TellPressure(true);
  }

 private:
  BulkLoader* loader_;

 public:
  std::shared_ptr<memtable::MemTable> frozen;
};

Status BulkLoader::Load(RecordSource* source, const IngestOptions& options, IngestReport* report) {
  const base::MutexLock one_at_a_time(load_mutex_);
  if (Status s = store_.host->WhyNot(); !s.ok()) return s;
  // Durable before there is a chunk that older programs would not understand.
  if (Status s = pool_.AnnounceIncompat(format::kIncompatCopies); !s.ok()) {
    store_.host->Fail(s);
    return s;
  }
  CheckedSource checked(source, options, [this] { return store_.host->WhyNot(); });
  if (options.sorted) return LoadRun(&checked, report);
  const uint64_t budget = store_.options->memory_budget_bytes;
  RecordRun run(&pool_.memory_users(), std::clamp(budget / kBudgetShare, kLeastRun, kLargestRun));
  for (bool more = true; more;) {
    more = run.Fill(&checked);
    if (Status s = checked.status(); !s.ok()) return s;
    if (Status s = LoadRun(&run, report); !s.ok()) return s;
  }
  return Status::OK();
}

/// All records of `source`, whose keys ascend, become one table.
Status BulkLoader::LoadRun(NumberedSource* source, IngestReport* report) {
  uint64_t table_id = 0;
  uint64_t sequence = 0;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    const uint64_t last = std::min(store_.sequence->load(), format::kMaxSequence);
    const uint64_t gap = std::min(kSequenceGap, (format::kMaxSequence - last) / 2);
    table_id = versions.next_table_id() + kTableIdGap;
    sequence = last + gap;
    if (gap == 0 || table_id + 2 >= format::kMaxId) {
      return Status::IOError(
          "the sequence numbers of this pool are used up; copy its content to a new one");
    }
    BRAID_DCHECK(versions.loading_table_id() == 0);  // one load at a time
    // Those who write beside the load stay below its number and its id.
    BRAID_DCHECK(sequence > last && table_id > versions.next_table_id());
    versions.SetLoadingTableId(table_id);
  }
  Loading loading(this, table_id, sequence);
  if (Status s = LoadRecords(source, &loading); !s.ok()) return s;
  if (loading.load.records() == 0) return Status::OK();
  if (Status s = TakeHead(&loading); !s.ok()) return s;
  loading.load.Close(pool_.HeadOffset(*loading.head));
  if (pool_.failed()) return pool_.FaultStatus();
  // On page-cache media the records must be on the medium before their table is named.
  if (Status s = pool_.media().Sync(media::Site::kLoadSync); !s.ok()) {
    store_.host->Fail(s);
    return s;
  }
  if (Status s = Commit(&loading); !s.ok()) return s;
  report->records += loading.load.records();
  report->bytes += loading.load.bytes();
  store_.host->TellPressure(false);
  store_.host->LetWork(false);
  return Status::OK();
}

Status BulkLoader::LoadRecords(NumberedSource* source, Loading* loading) {
  const base::ActivityScope activity(base::Activity::kFlush);
  Slice key;
  Slice value;
  while (source->Next(&key, &value)) {
    space::LargeValues::Scope room(store_.large_values, {});
    for (int waits = 0;;) {
      const uint64_t reclaims = store_.reclaimer->times();
      Status s;
      {
        const auto chunks_held = HoldChunks();
        s = loading->load.Add(key, value);
      }
      if (s.IsOutOfSpace()) {
        // Of a large one with a chunk for its entry, which is taken first.
        const bool is_large = value.size() > log::LargestInlineValue(pool_);
        const uint64_t wanted = value.size() + (is_large ? pool_.chunk_bytes() : 0);
        if (Status asked = room.AskForRoom(wanted); !asked.ok()) return asked;
        if (++waits < kMostWaits && store_.host->WaitForSpace(reclaims)) continue;
      }
      if (store_.writer->closed()) return Status::Closed();
      if (s.IsInvalidArgument()) {
        return Status::InvalidArgument("record " + std::to_string(source->number()) + ": " +
                                       std::string(s.message()));
      }
      if (!s.ok()) return s;
      break;
    }
    if (pool_.failed()) return pool_.FaultStatus();
  }
  return source->status();
}

/// Waits for a merge to free one, if need be.
Status BulkLoader::TakeHead(Loading* loading) {
  BRAID_DCHECK(!loading->head);
  for (;;) {
    const Result<uint32_t> head = store_.versions->Lock().manifest().TakeHead();
    if (head.ok()) {
      loading->head = *head;
      return Status::OK();
    }
    if (*store_.options->compaction.kind == MergeKind::kNone) return engine::L0IsFull();
    if (Status s = store_.host->WhyNot(); !s.ok()) return s;
    store_.host->LetWork(true);
  }
}

Status BulkLoader::Commit(Loading* loading) {
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    if (Status s = FlushMostEntries(); !s.ok()) return s;
    Result<bool> shown = Show(loading);
    if (!shown.ok()) return shown.status();
    BRAID_DCHECK(*shown == loading->kept);
    if (*shown) return Status::OK();
  }
  return Status::TryAgain(
      "the memtables could not be flushed, because other writes kept filling them; try again");
}

/// So that writers need not be held for long.
Status BulkLoader::FlushMostEntries() {
  for (int round = 0; round < kMostRounds; ++round) {
    if (Status s = store_.host->FlushMemTables(); !s.ok()) return s;
    if (store_.versions->Lock().Keep()->active->entries() <= kFewEntries) break;
  }
  return Status::OK();
}

/// False when a memtable found no room for its table yet: nothing has changed then.
Result<bool> BulkLoader::Show(Loading* loading) {
  const auto beside_no_range = store_.writer->OwnKeptRange();  // its records may lie in the range
  const flush::Flusher::Lock flushes_held = store_.flusher->HoldFlushes();
  WritePause hold(this);
  SealMemTable(&hold);
  while (store_.host->FlushOldestHeld(flushes_held)) {
  }
  if (Status s = store_.host->WhyNot(); !s.ok()) return s;
  if (store_.versions->AnyImmutable()) return false;
  if (Status s = store_.host->WriteBackGroup(); !s.ok()) return s;
  return CommitHeld(loading, &hold);
}

/// Puts an empty memtable in the place of the active one that takes no writes, and waits until
/// nobody writes to any.
void BulkLoader::SealMemTable(WritePause* hold) {
  BRAID_DCHECK(hold->frozen == nullptr);
  std::shared_ptr<memtable::MemTable> before;
  {
    const auto batches_held = store_.writer->HoldBatches();
    const level::VersionSet::Locked versions = store_.versions->Lock();
    before = versions.state().active;
    hold->frozen = store_.host->NewMemTable(versions.NewTableId(), before.get());
    hold->frozen->FreezeForNow();
    level::NextState next = versions.Next();
    next.SwitchMemTable(hold->frozen);
    before->Freeze();
    versions.Show(std::move(next));
  }
  base::SynchronizeEpoch();
  if (before->entries() != 0) return;
  const level::VersionSet::Locked versions = store_.versions->Lock();
  level::NextState next = versions.Next();
  next.DropNewestImmutable();
  versions.Show(std::move(next));
}

/// While nobody writes and no memtable holds anything.
Result<bool> BulkLoader::CommitHeld(Loading* loading, WritePause* hold) {
  const auto batches_held = store_.writer->HoldBatches();
  const level::VersionSet::Locked versions = store_.versions->Lock();
  const uint64_t sequence = loading->load.sequence();
  const uint64_t table_id = loading->load.table_id();
  // The invariant of bulk_loader.h.
  BRAID_DCHECK(versions.state().active == hold->frozen && hold->frozen->entries() == 0);
  BRAID_DCHECK(versions.state().immutables.empty() && versions.waiting().empty());
  BRAID_DCHECK(loading->head.has_value() && versions.loading_table_id() == table_id);
  if (store_.sequence->load() >= sequence || versions.next_table_id() > table_id) {
    return Status::TryAgain(
        "there were more writes during the ingest than it reserved sequence numbers for; repeat "
        "it");
  }
  format::TableRecord record{};
  record.id = table_id;
  record.level = 0;
  record.head = *loading->head;
  record.entries = loading->load.records();
  record.max_sequence = sequence;
  // All that may fail comes before the commit.
  auto table = std::make_shared<level::PmemTable>(&pool_, record, store_.options->verify_checksums);
  table->set_is_load();
  level::NextState next = versions.Next();
  next.AddNewest(std::move(table));
  next.ReplaceActive(store_.host->NewMemTable(table_id + 1, hold->frozen.get()));
  if (pool_.failed()) return pool_.FaultStatus();
  versions.SetNextTableId(table_id + 2);
  loading->kept = true;
  versions.AddTable(record);
  if (Status s = versions.manifest().Commit(); !s.ok()) {
    store_.host->Fail(s);
    return s;
  }
  versions.SetLoadingTableId(0);
  store_.lookup_filler->StartAnew(versions, table_id);
  versions.ShowWithNumber(std::move(next), store_.sequence, sequence);
  hold->frozen.reset();  // it stays so: a writer that drew a lower number may still look at it
  return true;
}

}  // namespace braid::lsm
