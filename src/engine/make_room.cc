// Purpose: room for a large value where enough chunks are free, but no neighbouring ones: what lies
// in a run of chunks is copied elsewhere. Only while a write wants such a run, which is kept from
// others from then on. Thread safety, invariants, persistence: see lsm_engine.h; the copies are
// those of a collection (compaction/garbage_collection.h), large values included, and their merge
// puts them in the place of their originals. So a crash leaves each value in one place or in both,
// and what is not needed is swept at the next open.
#include "compaction/room.h"

#include "base/activity.h"
#include "base/memory_users.h"
#include "base/no_throw.h"
#include "compaction/garbage_collection.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

/// Empties the run of chunks that costs least; it is free when its readers have left. False when
/// there is nothing to do, or nothing that would help.
bool LsmEngine::MakeRoomStep() {
  const uint64_t wanted = large_values_.WantedRun();
  if (wanted == 0 || pool_->HasRun(wanted)) return false;
  const base::ActivityScope activity(base::Activity::kCollect);
  compaction::ChunkSurvey survey;
  {
    const std::lock_guard lock(structure_mutex_);
    // All chunks whose entries are in L1 only, however full they are.
    survey = compaction::SurveyChunks(*pool_, usage_, manifest_.record(), 1.0);
  }
  std::vector<uint64_t> movable = std::move(survey.sparse);
  for (const pmem::ChunkId& empty : survey.empty) movable.push_back(empty.chunk);
  std::vector<compaction::ChunkUse> uses = compaction::SurveyUses(*pool_, usage_, movable, wanted);
  base::MemoryCharge charge(&pool_->memory_users());
  charge.Set(uses.capacity() * sizeof uses[0]);
  for (const uint64_t chunk : round_->stuck) {
    uses[chunk].kind = compaction::ChunkUse::Kind::kFixed;
  }
  const auto room = compaction::CheapestRoom(uses, wanted, pool_->chunk_bytes());
  if (!room) return false;
  const auto entries = compaction::EntriesIn(*pool_, uses, *room);
  pool_->KeepRun(room->first, wanted);
  if (entries && entries->empty()) return false;  // its readers will leave, or not
  if (entries && MoveAway(*entries)) return true;
  // Another one may do: something here is damaged, or its copies have found no room.
  for (uint64_t chunk = room->begin; chunk < room->end; ++chunk) {
    if (uses[chunk].kind == compaction::ChunkUse::Kind::kMovable) round_->stuck.insert(chunk);
  }
  pool_->LetRunGo();
  return !failed();
}

/// Puts copies of entries, and of their large values, in the place of the originals. False when
/// there was no room for them, or no table, or the merge was stopped.
bool LsmEngine::MoveAway(const std::vector<uint64_t>& entries) {
  CopySlot slot;
  if (!TakeCopySlot(&slot)) return false;
  Result<format::TableRecord> copies = base::NoThrow([&] {
    return compaction::MoveEntries(pool_.get(), &usage_, entries, slot.table_id, slot.head);
  });
  return CommitCopies(slot, std::move(copies)) && FinishCopies();
}

}  // namespace braid::engine
