// Purpose: when tables are merged fully, and the commit of that.
// Thread safety, invariants, persistence: see full_merger.h.
#include "compaction/full_merger.h"

#include <algorithm>
#include <utility>

#include "base/activity.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/no_throw.h"
#include "compaction/merger.h"
#include "log/log_reader.h"

namespace braid::compaction {

namespace {

/// L1 has at most so many times the entries of the tables: an entry was seen to be linked in 2 us,
/// and copied in 0.5.
constexpr uint64_t kMostTimesL1 = 2;
/// A small L1 is linked to in no time: it has so many batches.
constexpr uint64_t kLeastBatches = 2;
/// Where entries must stay where they are, in ids of tables: until the next try, at most.
constexpr uint64_t kLongestRefusal = 64;
/// Tables up to which one more is waited for.
constexpr size_t kMostWaitFlush = 4;
constexpr uint64_t kLongestWaitNanos = 1'000'000'000;
/// Trees that are merged.
constexpr size_t kMostFully = 16;
/// DRAM for an entry that is read, and for one in the new tree, with room to spare.
constexpr uint64_t kMemoryAnEntry = sizeof(index::Replacement) + 24;
/// Written back between two pauses, about: for a limit of the background's rate where lines are not
/// counted.
constexpr uint64_t kBytesAPiece = merge::FullMerge::kPiece * 128;

}  // namespace

/// By what does not change while the store is open.
bool FullMerger::MayEver() const {
  const Options& options = *store_.options;
  return *options.compaction.kind == MergeKind::kZipper &&
         *options.compaction.persistence == MergePersistence::kRedoLog &&
         options.log.kind == LogKind::kBySize && store_.tier == nullptr && pool_.strands() == 1 &&
         pool_.regions() == 1 && store_.indexes->HasIndexOverL1();
}

bool FullMerger::IsDue(const level::ReadState& state) const {
  const level::Level& l0 = state.version->l0();
  if (!MayEver() || state.version->levels.size() != 2) return false;
  if (l0.empty() || l0.size() >= kMostFully) return false;
  const level::PmemTable& l1 = state.version->bottom();
  if (l1.entries() < kLeastBatches * store_.options->compaction.batch_entries) return false;
  // Only its count tells where it lacks entries, and the new list would have one that is right.
  if (!l1.is_counted() || !store_.indexes->IsL1AsRecorded()) return false;
  if (store_.versions->Lock().merged_table_id() < not_before_) return false;
  const Inputs inputs = InputsOf(state, l0.size());
  if (l1.entries() > kMostTimesL1 * (inputs.entries - l1.entries())) return false;
  return MayBeMerged(inputs) && HasRoomFor(state, inputs.entries);
}

bool FullMerger::WaitsForFlush(const level::ReadState& state, bool is_due) {
  const bool comes = store_.options->background_threads && !state.immutables.empty();
  if (!is_due || !comes || state.version->l0().size() >= kMostWaitFlush) {
    waits_from_ = 0;
    return false;
  }
  const uint64_t now = NowNanos();
  if (waits_from_ == 0) waits_from_ = now;
  return now - waits_from_ < kLongestWaitNanos;
}

bool FullMerger::HasRoomFor(const level::ReadState& state, uint64_t entries) const {
  if (store_.budget->ToCome(state) + entries * kMemoryAnEntry > store_.budget->Goal()) return false;
  // Twice: what others write meanwhile comes on top of it.
  return HasRoomForCopies(pool_, *state.version, 2 * entries);
}

/// The oldest `tables` tables of L0, and L1.
FullMerger::Inputs FullMerger::InputsOf(const level::ReadState& state, size_t tables) {
  Inputs inputs;
  const level::Level& l0 = state.version->l0();
  BRAID_CHECK(tables > 0 && tables <= l0.size());
  for (size_t i = l0.size() - tables; i < l0.size(); ++i) {
    inputs.lists.push_back(level::ListOf(l0[i]));
  }
  inputs.lists.push_back(state.version->KeepBottom());
  for (const List& list : inputs.lists) {
    inputs.trees.push_back({list->WholeTree(), nullptr, list->entries()});
    inputs.entries += list->entries();
    inputs.newest = std::max(inputs.newest, list->max_sequence());
  }
  BRAID_DCHECK(inputs.lists.size() > 1 && inputs.lists.back()->level() == 1);
  return inputs;
}

/// Whether a tree says what each holds, and no view needs an older version; nor will one that is
/// registered later.
bool FullMerger::MayBeMerged(const Inputs& inputs) const {
  for (const index::TreeSource& source : inputs.trees) {
    if (source.tree == nullptr || !source.tree->knows_keys()) return false;
  }
  for (const List& list : inputs.lists) {
    // Reads may have begun before it was there.
    if (list->level() == 0 && list->is_load()) return false;
  }
  // Behind the tables.
  const index::LiveViews views = store_.views->Collect();
  return views.empty() || views.front() >= inputs.newest;
}

/// Invariant 3, for what tables up to this one and L1 hold. Cost: a word for each chunk, and the
/// headers of logs that stay.
bool FullMerger::MayBeLeftBehind(uint64_t newest) const {
  for (uint64_t chunk = 0; chunk < pool_.chunks(); ++chunk) {
    const format::ChunkKind kind = pool_.StateOf(chunk).kind();
    if (kind == format::ChunkKind::kExtentHead) return false;
    if (kind != format::ChunkKind::kLog || store_.usage->Live(chunk) == 0) continue;
    const Result<log::LogChunk> header = log::ReadLogChunk(pool_, chunk);
    if (!header.ok() || header->table_id <= newest) return false;
  }
  return true;
}

/// None: there is no head for the list, or a merge is open, or a load is under way: its chunks may
/// have a lower id than they need.
std::optional<FullMerger::Slot> FullMerger::TakeSlot() {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  const format::ManifestState& record = versions.record();
  if (record.AnyMerge() || record.Originals() != nullptr) return std::nullopt;
  if (versions.loading_table_id() != 0) return std::nullopt;
  const Result<uint32_t> head = versions.TakeHead();
  if (!head.ok()) return std::nullopt;
  return Slot{*head, versions.NewTableId()};
}

/// What must stay is met again and again: the next try comes later each time.
void FullMerger::Refuse() {
  not_before_ = store_.versions->Lock().merged_table_id() + 1 + refusal_;
  refusal_ = std::min(2 * refusal_ + 1, kLongestRefusal);
}

Result<uint64_t> FullMerger::GiveUp(const Status& status, const Slot& slot,
                                    merge::FullMerge* merge) {
  if (pool_.failed()) return pool_.FaultStatus();
  BRAID_DCHECK(!status.ok() && slot.table_id != 0);
  merge->GiveBack();
  store_.versions->Lock().manifest().ReturnHead(slot.head);
  Refuse();
  store_.reclaimer->CountRoom();  // that of the copies is a writer's again
  if (store_.options->logger && status.IsCorruption()) {
    store_.options->logger("a full merge was given up: " + status.ToString());
  }
  return 0;
}

Result<uint64_t> FullMerger::Run(const std::vector<uint64_t>& ids) {
  const base::ActivityScope activity(base::Activity::kMerge);
  const std::shared_ptr<const level::ReadState> state = store_.versions->Lock().Keep();
  Inputs inputs = InputsOf(*state, ids.size());
  BRAID_CHECK(inputs.lists.front()->id() == ids.front());
  // Once more: a table may have come since IsDue.
  if (!MayBeMerged(inputs)) return 0;
  if (!MayBeLeftBehind(ids.front())) {
    Refuse();
    return 0;
  }
  const std::optional<Slot> slot = TakeSlot();
  if (!slot) return 0;
  store_.indexes->ForgetCount();
  merge::FullMerge merge(&pool_, store_.usage, slot->table_id);
  const auto pause = [this] {
    store_.limit->Charge(kBytesAPiece);
    store_.limit->Pause(*store_.stop);
    return store_.stop->load();
  };
  Status s = base::CatchToStatus([&] {
    return merge.Run(std::move(inputs.trees), inputs.entries, pool_.HeadOffset(slot->head), pause);
  });
  if (!s.ok()) return GiveUp(s, *slot, &merge);
  // On page-cache media the copies must be on the medium before the manifest names them.
  if (s = pool_.media().Sync(media::Site::kMergeCopiesSync); !s.ok()) return s;
  // Durable before the manifest says of chunks what older programs would not understand.
  if (s = pool_.AnnounceIncompat(format::kIncompatLeftBehind); !s.ok()) return s;
  if (s = Commit(inputs, *slot, merge); !s.ok()) return s;
  merges_.fetch_add(1, std::memory_order_relaxed);
  refusal_ = 0;
  store_.accounts->LeftBehind(merge.newest());
  return merge.read();
}

Status FullMerger::Commit(const Inputs& inputs, const Slot& slot, const merge::FullMerge& merge) {
  BRAID_DCHECK(merge.entries() != 0 && merge.tree() != nullptr);
  const uint64_t newest = inputs.lists.front()->id();
  const List& l1 = inputs.lists.back();
  format::TableRecord record{};
  record.id = slot.table_id;
  record.level = 1;
  record.head = slot.head;
  record.entries = merge.entries();
  record.max_sequence = inputs.newest;  // of a delete, too, that is not there any more
  const auto list =
      std::make_shared<level::PmemTable>(&pool_, record, store_.options->verify_checksums);
  const level::VersionSet::Locked versions = store_.versions->Lock();
  if (pool_.failed()) return pool_.FaultStatus();
  BRAID_DCHECK(!versions.record().AnyMerge());
  std::vector<level::Level> levels = versions.state().version->levels;
  BRAID_DCHECK(levels.size() == 2 && levels[1].back() == l1);
  levels[0].resize(levels[0].size() - (inputs.lists.size() - 1));
  levels[1] = {list};
  level::NextState next = versions.Next();
  next.ReplaceLevels(std::move(levels));
  versions.KeepHead(l1);
  // All that may throw comes before the commit.
  store_.indexes->Replace(list.get(), merge.tree());
  for (const List& input : inputs.lists) versions.manifest().RemoveTable(input->id());
  versions.manifest().AddTable(record);
  format::ManifestState& state = versions.record();
  BRAID_DCHECK(state.merged_table_id < newest && state.collected_table_id < slot.table_id);
  state.merged_table_id = newest;
  state.collected_table_id = slot.table_id;
  state.left_behind = {newest, slot.table_id - 1};
  state.next_table_id = versions.next_table_id();
  if (Status s = versions.manifest().Commit(); !s.ok()) return s;
  store_.versions->NoteMergeOf(newest);
  store_.lookup_filler->StartOver(versions);
  versions.Show(std::move(next));
  return Status::OK();
}

}  // namespace braid::compaction
