// Purpose: granting tables to processes that read, and taking them back.
// Thread safety, invariant, persistence: see reader_grants.h.
#include "lsm/reader_grants.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace braid::lsm {

using media::GrantWaitsFor;

uint64_t ReaderGrants::MostTables() const noexcept {
  const CompactionOptions& options = store_.options->compaction;
  const uint64_t slowdown = options.l0_slowdown;
  const uint64_t most = std::max<uint64_t>(slowdown / 2, options.l0_trigger + 1);
  return std::min(most, std::max<uint64_t>(slowdown, 2) - 1);
}

std::optional<GrantWaitsFor> ReaderGrants::WhatIsMissing(bool finishing) const {
  BRAID_DCHECK(flush_.has_value());
  if (finishing) return GrantWaitsFor::kMerge;
  const level::VersionSet::Locked versions = store_.versions->Lock();
  const level::ReadState& state = versions.state();
  const auto& immutables = state.immutables;
  if (state.version->l0().size() >= MostTables()) return GrantWaitsFor::kFullL0;
  if (!immutables.empty() && immutables.back()->id() <= *flush_) return GrantWaitsFor::kFlush;
  if (versions.record().AnyMerge()) return GrantWaitsFor::kMerge;
  return std::nullopt;
}

bool ReaderGrants::MayGrant(bool finishing) {
  if (!flush_) return false;
  if (!slots_.AnyNotedWaits()) {
    EndRequest();
    return false;
  }
  const std::optional<GrantWaitsFor> missing = WhatIsMissing(finishing);
  if (missing) slots_.Tell(*missing);
  return !missing;
}

void ReaderGrants::Grant() {
  BRAID_DCHECK(flush_.has_value());  // MayGrant
  // Before the tables are known to anybody: what is retired from here on is not given out again. A
  // pin and no view: versions are kept by the wait of the merges, and by nothing after it.
  if (!pin_) pin_ = store_.views->Register(format::kMaxSequence, &store_.reclaimer->clock());
  const uint64_t tables = store_.versions->Lock().flushed_table_id();
  slots_.GrantNoted(tables, std::min(store_.sequence->load(), format::kMaxSequence));
}

bool ReaderGrants::Hold(bool may, uint64_t l0_tables) {
  if (revoked_pin_ && slots_.IsQuiet()) revoked_pin_.reset();
  if (!pin_) return false;
  if (may && l0_tables < MostTables() && slots_.AnyGranted()) return true;
  Revoke();
  return false;
}

void ReaderGrants::Revoke() {
  if (!pin_) return;
  slots_.RevokeAll();
  // An older one covers what the newer one does.
  if (!revoked_pin_) revoked_pin_ = std::move(pin_);
  pin_.reset();
  BRAID_DCHECK(revoked_pin_.has_value());  // until the calls of that time have ended
}

}  // namespace braid::lsm
