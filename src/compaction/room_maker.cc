// Purpose: empties runs of chunks.
// Thread safety, persistence: see room_maker.h.
#include "compaction/room_maker.h"

#include "base/activity.h"
#include "base/check.h"
#include "base/memory_users.h"
#include "base/no_throw.h"
#include "compaction/garbage_collection.h"

namespace braid::compaction {

Result<bool> RoomMaker::Step(std::unordered_set<uint64_t>* stuck) {
  using Kind = ChunkUse::Kind;
  pool::PmemPool& pool = *store_.pool;
  const uint64_t wanted = store_.large_values->WantedRun();
  if (wanted == 0 || pool.HasRun(wanted)) return false;
  const base::ActivityScope activity(base::Activity::kCollect);
  // All chunks whose entries are in L1 only, however full they are.
  ChunkSurvey survey = store_.accounts->Survey(1.0);
  std::vector<uint64_t> movable = std::move(survey.sparse);
  for (const pool::ChunkId& empty : survey.empty) movable.push_back(empty.chunk);
  std::vector<ChunkUse> uses = SurveyUses(pool, *store_.usage, movable, wanted);
  base::MemoryCharge charge(&pool.memory_users());
  charge.Set(uses.capacity() * sizeof uses[0]);
  for (const uint64_t chunk : *stuck) {
    BRAID_DCHECK(chunk < uses.size());
    uses[chunk].kind = Kind::kFixed;
  }
  const auto room = CheapestRoom(uses, wanted, pool.chunk_bytes());
  if (!room) return false;
  const auto entries = EntriesIn(pool, uses, *room);
  pool.KeepRun(room->first, wanted);
  if (entries && entries->empty()) return false;  // its readers will leave, or not
  if (entries) {
    const Result<bool> moved = MoveAway(*entries, uses, *room);
    if (!moved.ok() || *moved) return moved;
  }
  // Another one may do: something here is damaged, or its copies have found no room.
  for (uint64_t chunk = room->begin; chunk < room->end; ++chunk) {
    if (uses[chunk].kind == Kind::kMovable) stuck->insert(chunk);
  }
  pool.LetRunGo();
  return true;
}

/// Puts copies of entries, and of their large values, in the place of the originals. False when
/// there was no room for them, or no table, or the merge was stopped.
Result<bool> RoomMaker::MoveAway(const std::vector<uint64_t>& entries,
                                 const std::vector<ChunkUse>& uses, const Room& room) {
  BRAID_DCHECK(!entries.empty());  // a table of none would be no table
  if (store_.rewriter != nullptr) {
    std::unordered_set<uint64_t> emptied;
    for (uint64_t chunk = room.begin; chunk < room.end; ++chunk) {
      if (uses[chunk].kind == ChunkUse::Kind::kMovable) emptied.insert(chunk);
    }
    return store_.rewriter->MoveAway(entries, emptied);
  }
  Merger::CopySlot slot;
  if (!store_.merger->TakeSlot(&slot)) return false;
  Result<format::TableRecord> copies = base::CatchToStatus(
      [&] { return MoveEntries(store_.pool, store_.usage, entries, slot.table_id, slot.head); });
  const Result<bool> committed = store_.merger->CommitCopies(slot, std::move(copies));
  if (!committed.ok() || !*committed) return committed;
  return store_.merger->FinishCopies();
}

}  // namespace braid::compaction
