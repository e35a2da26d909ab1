// Purpose: changes of the store's structure.
// Thread safety, invariants, persistence: see version_set.h.
#include "level/version_set.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace braid::level {

void NextState::SwitchMemTable(std::shared_ptr<memtable::MemTable> fresh) {
  BRAID_DCHECK(fresh->id() > state_->active->id());
  state_->immutables.insert(state_->immutables.begin(), state_->active);
  ReplaceActive(std::move(fresh));
}

void NextState::ReplaceActive(std::shared_ptr<memtable::MemTable> fresh) {
  BRAID_DCHECK(fresh != nullptr && fresh->state() == memtable::State::kMutable);
  state_->active = std::move(fresh);
  state_->ListRuns();
}

void NextState::DropNewestImmutable() {
  BRAID_DCHECK(!state_->immutables.empty());
  state_->immutables.erase(state_->immutables.begin());
  state_->ListRuns();
}

void NextState::DropOldestImmutable() {
  BRAID_DCHECK(!state_->immutables.empty());
  state_->immutables.pop_back();
  state_->ListRuns();
}

void NextState::AddNewest(std::shared_ptr<level::Table> table) {
  Change(0, [&](level::Level* l0) { l0->insert(l0->begin(), std::move(table)); });
}

void NextState::DropOldest(size_t level) {
  Change(level, [](level::Level* tables) {
    BRAID_DCHECK(!tables->empty());
    tables->pop_back();
  });
}

void NextState::AddList(size_t level, std::shared_ptr<level::PmemTable> list) {
  Change(level, [&](level::Level* tables) {
    BRAID_DCHECK(level > 0 && tables->size() == 1);  // one list at a time leaves its level
    tables->insert(tables->begin(), std::move(list));
  });
}

void NextState::ReplaceOldest(size_t level, std::shared_ptr<level::Table> table) {
  Change(level, [&](level::Level* tables) {
    // Another list of the same table.
    BRAID_DCHECK(!tables->empty() && tables->back()->id() == table->id());
    tables->back() = std::move(table);
  });
}

void NextState::ReplaceLevels(std::vector<level::Level> levels) {
  auto version = std::make_shared<level::Version>();
  BRAID_DCHECK(levels.size() == state_->version->levels.size());
  version->levels = std::move(levels);
  version->ListRuns();
  state_->version = std::move(version);
  state_->ListRuns();
}

void NextState::Change(size_t level, base::FunctionRef<void(level::Level* tables)> change) {
  auto version = std::make_shared<level::Version>(*state_->version);
  BRAID_DCHECK(level < version->levels.size());
  change(&version->levels[level]);
  if (level > 0) version->ListRuns();
  BRAID_DCHECK(!version->levels.back().empty());  // the list that all is merged into stays
  state_->version = std::move(version);
  state_->ListRuns();
}

format::ManifestState VersionSet::ConstLocked::RecordToCome() const {
  format::ManifestState to_come = record();
  for (const WaitingTable& table : waiting()) {
    to_come.tables.insert(to_come.tables.begin(), table.record);
    to_come.flushed_table_id = table.record.id;
  }
  return to_come;
}

bool VersionSet::ConstLocked::Waits(uint64_t id) const noexcept {
  return !waiting().empty() && waiting().front().record.id <= id;
}

void VersionSet::Locked::Show(NextState next) const noexcept {
  // Made from the state that it replaces, or a change in between would be lost.
  BRAID_DCHECK(next.retired_.size() == 1);
  BRAID_DCHECK(next.state_->runs().size() >= 2);
  // Release pairs with shown().
  set_->shown_.store(next.state_.get(), std::memory_order_release);
  set_->merge_epoch_.Shown();
  next.retired_.front() = std::exchange(data_->state, std::move(next.state_));
  set_->reclaimer_->RetireMemory(std::move(next.retired_));
}

void VersionSet::Locked::ShowWithNumber(NextState next, std::atomic<uint64_t>* sequence,
                                        uint64_t last) const noexcept {
  BRAID_DCHECK(!set_->switching_.load() && last >= sequence->load());
  set_->switching_.store(true);
  sequence->store(last);
  Show(std::move(next));
  set_->switching_.store(false);
}

void VersionSet::Locked::Begin(ReadState first, uint64_t next_table_id) const {
  BRAID_CHECK(data_->state == nullptr);
  BRAID_CHECK(first.active != nullptr && first.version->levels.size() >= 2);
  BRAID_DCHECK(first.active->id() < next_table_id);
  first.ListRuns();
  data_->state = std::make_shared<const ReadState>(std::move(first));
  data_->next_table_id = next_table_id;
  data_->logs_retired_to = record().flushed_table_id;
  set_->shown_.store(data_->state.get(), std::memory_order_release);
}

void VersionSet::Locked::AddTable(const format::TableRecord& table) const {
  BRAID_DCHECK(table.level == 0);
  BRAID_DCHECK(table.id < next_table_id());  // invariant 3: it was given out
  manifest().AddTable(table);
  format::ManifestState& changed = record();
  changed.flushed_table_id = table.id;
  changed.next_table_id = std::max(changed.next_table_id, next_table_id());
  changed.last_sequence = std::max(changed.last_sequence, table.max_sequence);
}

Result<uint32_t> VersionSet::Locked::TakeHead() const {
  auto& lists = data_->removed_lists;
  std::erase_if(lists, [this](RemovedList& removed) {
    if (!removed.list.expired()) return false;
    manifest().ReturnHead(removed.head);
    return true;
  });
  return manifest().TakeHead();
}

void VersionSet::Locked::KeepHead(const std::shared_ptr<level::PmemTable>& list) const {
  BRAID_DCHECK(list->level() > 0);
  data_->removed_lists.push_back({list->head_index(), list});
  manifest().KeepHead(list->head_index());
}

void VersionSet::Locked::SetEntriesOfBottom(uint64_t entries) const {
  level::PmemTable& bottom = state().version->bottom();
  bottom.set_counted(entries);
  if (format::TableRecord* record = manifest().FindTable(bottom.id())) *record = bottom.record();
}

void VersionSet::Locked::AddWaiting(std::list<WaitingTable>* table) const {
  BRAID_DCHECK(table->size() == 1);
  BRAID_DCHECK(waiting().empty() || waiting().back().record.id < table->front().record.id);
  data_->waiting.splice(data_->waiting.end(), *table);
  ChargeWaiting();
}

Status VersionSet::Locked::CommitWaiting(size_t count, std::list<WaitingTable>* committed) const {
  BRAID_DCHECK(count <= waiting().size());
  auto end = waiting().begin();
  for (size_t i = 0; i < count; ++i, ++end) {
    AddTable(end->record);
  }
  if (Status s = manifest().Commit(); !s.ok()) return s;
  committed->splice(committed->end(), data_->waiting, waiting().begin(), end);
  ChargeWaiting();
  return Status::OK();
}

void VersionSet::Locked::ChargeWaiting() const {
  size_t words = 0;
  for (const WaitingTable& table : waiting()) words += table.touched.capacity();
  data_->waiting_charge.Set(words * sizeof(uint64_t));
}

}  // namespace braid::level
