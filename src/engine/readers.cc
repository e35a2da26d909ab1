// Purpose: processes that read the pool beside this one, which writes to it: they are granted the
// tables of a moment, and merges wait while they read; when merges can't wait any longer, they take
// the tables back (pmem/reader_slots.h). All of it is done by the compaction thread between two
// steps, or where that thread does not run. Nobody waits here: a flush that readers need is looked
// for again at the next step, and how long a reader waits is its own affair.
// Thread safety, invariants, persistence: see lsm_engine.h; nothing that is stored here is
// persistent.
#include <algorithm>

#include "engine/lsm_engine.h"

namespace braid::engine {

using pmem::GrantWaitsFor;

/// Tables in L0 at which merges go on, whoever reads: before writers are slowed.
uint64_t LsmEngine::MostTablesForReaders() const {
  const uint64_t slowdown = options_.compaction.l0_slowdown;
  const uint64_t most = std::max<uint64_t>(slowdown / 2, options_.compaction.l0_trigger + 1);
  return std::min(most, std::max<uint64_t>(slowdown, 2) - 1);
}

/// Answers readers that ask. Always false: it is no work that others wait for.
bool LsmEngine::ServeReaders() {
  if (!reader_flush_ && !reader_slots_.HasNewAskers()) return false;
  if (failed() || medium_failed()) {
    reader_slots_.Tell(GrantWaitsFor::kFailure);
    return false;
  }
  if (stop_merges_.load()) return false;  // it closes
  if (!reader_flush_) {
    if (!reader_slots_.NoteAskers()) return false;
    SealForReaders();
  }
  if (!reader_slots_.AnyNotedWaits()) {
    reader_flush_.reset();
    return false;
  }
  if (const auto reason = WhatReadersWaitFor(); reason) {
    reader_slots_.Tell(*reason);
    return false;
  }
  if (Checkpoint().ok()) GrantReaders();
  reader_flush_.reset();
  return false;
}

/// All that was written before becomes tables with ids up to reader_flush_.
void LsmEngine::SealForReaders() {
  uint64_t newest = 0;
  {
    const std::lock_guard lock(structure_mutex_);
    newest = state_owner_->active->table->id();
  }
  SealActive(nullptr);
  reader_flush_ = newest;
}

/// Why the tables that readers wait for can't be granted yet; nothing: they can.
std::optional<GrantWaitsFor> LsmEngine::WhatReadersWaitFor() const {
  {
    const std::lock_guard lock(work_mutex_);
    if (finish_all_ > 0) return GrantWaitsFor::kMerge;  // it would be taken back at once
  }
  const std::lock_guard lock(structure_mutex_);
  const auto& sealed = state_owner_->immutables;
  if (state_owner_->version->l0.size() >= MostTablesForReaders()) return GrantWaitsFor::kFullL0;
  if (!sealed.empty() && sealed.back()->table->id() <= *reader_flush_) return GrantWaitsFor::kFlush;
  if (manifest_.record().merge_id != 0) return GrantWaitsFor::kMerge;
  return std::nullopt;
}

void LsmEngine::GrantReaders() {
  // Before the tables are known to anybody: what is retired from here on is not given out again. A
  // pin and no view: versions are kept by the wait of the merges, and by nothing after it.
  if (!reader_pin_) reader_pin_ = views_->Register(format::kMaxSequence, &reclaimer_.clock());
  uint64_t tables = 0;
  {
    const std::lock_guard lock(structure_mutex_);
    tables = manifest_.record().flushed_table_id;
  }
  reader_slots_.GrantNoted(tables, std::min(sequence_.load(), format::kMaxSequence));
}

/// Whether merges are to wait. Compaction thread, under merge_mutex_.
bool LsmEngine::ReadersHold(const compaction::StoreFacts& facts) {
  if (revoked_pin_ && reader_slots_.IsQuiet()) revoked_pin_.reset();
  if (reader_pin_) {
    const bool may_wait =
        !facts.finish_all && !blocked_.load() && facts.l0_tables < MostTablesForReaders();
    if (may_wait && reader_slots_.AnyGranted()) return true;
    TakeBackFromReaders();
  }
  return false;
}

/// From here on tables may be merged. What merges retire waits for calls that are under way.
void LsmEngine::TakeBackFromReaders() {
  if (!reader_pin_) return;
  reader_slots_.RevokeAll();
  // An older one covers what the newer one does.
  if (!revoked_pin_) revoked_pin_ = std::move(reader_pin_);
  reader_pin_.reset();
}

}  // namespace braid::engine
