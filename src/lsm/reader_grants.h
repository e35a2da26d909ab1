// Purpose: grants tables to processes that read the pool while this one writes to it: merges wait
// while they read; when merges can't wait any longer, the grants are revoked
// (media/reader_slots.h).
// Thread safety: the compaction thread, between two steps, or where that thread does not run.
// Nothing blocks here: a flush that readers need is looked for again at the next step. Readers
// apply their own timeout.
// Invariants:
//   1. While tables are granted, nothing that was retired since is reused; nor, after they were
//      revoked, before the calls of that time have ended.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/check.h"
#include "level/version_set.h"
#include "level/view_registry.h"
#include "media/reader_slots.h"
#include "space/reclaimer.h"

namespace braid::lsm {

class ReaderGrants {
 public:
  /// What is granted, and outlives the grants.
  struct Store {
    const Options* options;
    level::VersionSet* versions;
    level::ViewRegistry* views;
    const space::Reclaimer* reclaimer;
    const std::atomic<uint64_t>* sequence;  // last one drawn
  };

  explicit ReaderGrants(const Store& store) noexcept : store_(store) {}

  /// Before the thread that answers.
  void Begin(media::WriterSlots slots) { slots_ = std::move(slots); }

  /// Whether a reader waits for tables: one load where none does.
  bool AnyAsks() const noexcept { return flush_ || slots_.HasNewAskers(); }
  /// Whether a reader asks for whom no memtable was made immutable yet: what was written until now
  /// becomes tables, with ids up to the one passed to AwaitFlush.
  bool WantSeal() { return !flush_ && slots_.NoteAskers(); }
  void AwaitFlush(uint64_t table_id) noexcept {
    BRAID_DCHECK(!flush_);  // one request at a time: WantSeal has said so
    flush_ = table_id;
  }
  /// Whether the tables may be granted, once all are committed. If not, readers get what they wait
  /// for as a reason. `finishing`: somebody waits for merges, and it would be taken back at once.
  bool MayGrant(bool finishing);
  void Grant();
  /// The reader that asked has got an answer, or gets none.
  void EndRequest() noexcept { flush_.reset(); }
  void Tell(media::GrantWaitsFor what) noexcept { slots_.Tell(what); }

  /// Whether merges are to wait. `may`: they can, unless L0 forbids it.
  bool Hold(bool may, uint64_t l0_tables);
  /// From here on tables may be merged. What merges retire waits for calls that are under way.
  void Revoke();

  /// Whether something is to be looked at again, though nobody wakes the store.
  bool IsBusy() const noexcept { return pin_ || revoked_pin_ || flush_; }
  const media::WriterSlots& slots() const noexcept { return slots_; }

 private:
  std::optional<media::GrantWaitsFor> WhatIsMissing(bool finishing) const;
  /// Tables in L0 at which merges go on despite readers: before writers are slowed.
  uint64_t MostTables() const noexcept;

  const Store store_;
  media::WriterSlots slots_;
  std::optional<uint64_t> flush_;                   // who asks waits for tables up to this id
  std::optional<level::ViewRegistry::Handle> pin_;  // of those that are granted
  std::optional<level::ViewRegistry::Handle> revoked_pin_;  // of calls that a revocation met
};

}  // namespace braid::lsm
