// Purpose: processes that read the pool beside this one, which writes to it: they are granted the
// tables of a moment, and merges wait while they read; when merges can't wait any longer, they take
// the tables back (pmem/reader_slots.h).
// Thread safety: the compaction thread, between two steps, or where that thread does not run.
// Nobody waits here: a flush that readers need is looked for again at the next step, and how long a
// reader waits is its own affair.
// Invariant: while tables are granted, nothing that was retired after it is given out again; nor,
// after they were taken back, before the calls of that time have ended.
// Persistence: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "level/version_set.h"
#include "level/view_registry.h"
#include "pmem/reader_slots.h"
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
  void Begin(pmem::WriterSlots slots) { slots_ = std::move(slots); }

  /// Whether a reader waits for tables: one load where none does.
  bool AnyAsks() const noexcept { return flush_ || slots_.HasNewAskers(); }
  /// Whether somebody asks for whom nothing was sealed yet: what was written until now is to become
  /// tables, with ids up to the one that AwaitFlush is told.
  bool WantSeal() { return !flush_ && slots_.NoteAskers(); }
  void AwaitFlush(uint64_t table_id) noexcept { flush_ = table_id; }
  /// Whether the tables may be granted, once all are committed. If not, readers are told what they
  /// wait for. `finishing`: somebody waits for merges, and it would be taken back at once.
  bool MayGrant(bool finishing);
  void Grant();
  /// Who asked has got an answer, or gets none.
  void EndRequest() noexcept { flush_.reset(); }
  void Tell(pmem::GrantWaitsFor what) noexcept { slots_.Tell(what); }

  /// Whether merges are to wait. `may`: they can, but for L0.
  bool Hold(bool may, uint64_t l0_tables);
  /// From here on tables may be merged. What merges retire waits for calls that are under way.
  void TakeBack();

  /// Whether something is to be looked at again, though nobody wakes the store.
  bool IsBusy() const noexcept { return pin_ || revoked_pin_ || flush_; }
  const pmem::WriterSlots& slots() const noexcept { return slots_; }

 private:
  std::optional<pmem::GrantWaitsFor> WhatIsMissing(bool finishing) const;
  /// Tables in L0 at which merges go on, whoever reads: before writers are slowed.
  uint64_t MostTables() const noexcept;

  const Store store_;
  pmem::WriterSlots slots_;
  std::optional<uint64_t> flush_;                   // who asks waits for tables up to this id
  std::optional<level::ViewRegistry::Handle> pin_;  // of those that are granted
  std::optional<level::ViewRegistry::Handle> revoked_pin_;  // of calls that a revocation met
};

}  // namespace braid::lsm
