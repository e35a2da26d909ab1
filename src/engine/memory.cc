// Purpose: what DRAM is used for: indexes over tables, and the memory budget. Thread safety,
// invariants, persistence: see lsm_engine.h.
#include <algorithm>

#include "base/mutants.h"
#include "base/no_throw.h"
#include "engine/lsm_engine.h"

namespace braid::engine {

namespace {
/// Entries indexed between two looks for a merge that waits.
constexpr uint64_t kIndexSlice = 32 * 1024;
/// Buckets filled while writers that change tables may wait: some microseconds.
constexpr size_t kFillsAtATime = 256;
/// What a tree that was built in key order takes for an entry, and some more.
constexpr uint64_t kTreeBytesAnEntry = 20;
/// What may be added between two looks at a budget that is large.
constexpr uint64_t kMostHeadroom = 32 << 20;
/// And where it is small, since a thread that loses its processor looks late; a quarter at most.
constexpr uint64_t kLeastHeadroom = 4 << 20;
/// An index that takes less than this share of the budget is not worth giving up.
constexpr uint64_t kWorthGivingUp = 16;
}  // namespace

/// More than an eighth of the budget of an index may be free when it is more than what is used: of
/// one that has held far more keys than it does. Within these limits: a new index has a block that
/// it has hardly begun.
constexpr size_t kMostFree = 2 << 20;
constexpr size_t kLeastMostFree = 256 << 10;
/// Nodes that merges have emptied are used again when they come to this, or to a part of the index.
constexpr size_t kReclaimedAtOnce = 64 << 10;
constexpr size_t kReclaimedPart = 16;

bool IsMostlyFree(const index::EntryIndex& tree, uint64_t budget) {
  const size_t used = tree.used_bytes();
  const size_t most = std::clamp<size_t>(budget / 8, kLeastMostFree, kMostFree);
  return tree.memory_bytes() - std::min(tree.memory_bytes(), used) > std::max(used, most);
}

/// Whether a table that lookups go through is still to get its index. Compaction thread.
bool LsmEngine::LacksIndexes() const {
  return index_ != nullptr && (!index_->complete() || !unindexed_.empty());
}

/// Indexes the next part of L1, then of the tables that the open found in L0. False when there is
/// nothing left to index.
bool LsmEngine::IndexStep() {
  if (index_ == nullptr) return false;
  if (index_->complete()) return IndexFoundTable();
  std::shared_ptr<level::PmemTable> l1;
  {
    const std::lock_guard lock(structure_mutex_);
    l1 = state_owner_->version->l1;
    // What is merged of an open merge is in L1 and in the merge's own count.
    if (manifest_.record().merge_id != 0) index_->ForgetCount();
  }
  if (Status s = index_->BuildSlice(l1->list(), kIndexSlice); !s.ok()) {
    Fail(s);
    return false;
  }
  if (index_->complete()) {
    l1->set_tree(index_->tree(), index_->min_height());
    if (const auto counted = index_->counted(); counted && !l1->is_counted()) {
      SetEntriesOfL1(*counted);
    }
  }
  FitMemory();
  return true;
}

compaction::TargetTree LsmEngine::TreesOfL1() const {
  if (second_chance_ != nullptr) return {IndexTree(), second_chance_->min_height(), nullptr, 1};
  if (index_ == nullptr) return {};
  compaction::TargetTree trees{IndexTree(), index_->min_height(), nullptr, 1};
  if (next_index_ != nullptr) {
    trees.next = next_index_->tree().get();
    trees.next_min_height = next_index_->min_height();
  }
  return trees;
}

/// The least height of the entries that an index over L1 is to cover; that of the one there is when
/// that need not be made anew.
uint32_t LsmEngine::WantedMinHeight() const {
  std::shared_ptr<ReadState> state;
  decltype(given_up_) given_up;
  {
    const std::lock_guard lock(structure_mutex_);
    state = state_owner_;
    given_up = given_up_;
  }
  const uint32_t now = index_->min_height();
  const uint64_t taken = MemoryToCome(*state);
  const uint64_t goal = MemoryGoal();
  const uint64_t room = goal - std::min(goal, taken);
  // Both are there for a while. Twice what a tree takes that is built in order: inserts leave nodes
  // half full, and it is not to be given up again soon.
  for (uint32_t height = 1; height < now; ++height) {
    const uint64_t entries = state->version->l1->entries() >> (2 * (height - 1));
    // By experience, where there is some: few entries take whole nodes and blocks.
    const uint64_t known =
        height > given_up.height
            ? 0
            : given_up.bytes * (state->version->l1->entries() + 1) / given_up.entries;
    if (2 * std::max(kTreeBytesAnEntry * entries, known) <= room) return height;
  }
  return now;
}

/// Makes the index over L1 anew, a part at a time, where the budget has room for more entries than
/// it covers, as after deletes, or where most of its memory is free. Lookups use the old one until
/// the new one is complete; merges keep both up to date. False when there is nothing to do.
bool LsmEngine::RemakeIndexStep() {
  if (index_ == nullptr || !index_->complete()) return false;
  if (next_index_ == nullptr) {
    const bool mostly_free = IsMostlyFree(*index_->tree(), options_.memory_budget_bytes);
    if (index_->min_height() == 1 && !mostly_free) return false;
    if (reclaimer_.HasRetiredMemory())
      return false;  // what there is room for shows when it is gone
    const uint32_t height = WantedMinHeight();
    if (height == index_->min_height() && !mostly_free) return false;
    next_index_ = std::make_unique<cache::DramIndex>(pool_.get(), height);
  }
  std::shared_ptr<level::PmemTable> l1;
  {
    const std::lock_guard lock(structure_mutex_);
    l1 = state_owner_->version->l1;
  }
  if (Status s = next_index_->BuildSlice(l1->list(), kIndexSlice); !s.ok()) {
    Fail(s);
    return false;
  }
  if (next_index_->complete()) {
    // The place to wait for its readers in comes first.
    std::list<std::shared_ptr<const void>> old{index_->tree()};
    l1->set_tree(next_index_->tree(), next_index_->min_height());
    {
      const std::lock_guard lock(structure_mutex_);
      index_ = std::move(next_index_);
    }
    reclaimer_.RetireMemory(std::move(old));
  }
  FitMemory();
  return true;
}

/// The next table without an index that lookups still go through, newest first; null when there is
/// none left.
std::shared_ptr<level::PmemTable> LsmEngine::NextUnindexed() {
  const std::lock_guard lock(structure_mutex_);
  const ReadState& state = *state_owner_;
  for (; !unindexed_.empty(); unindexed_.pop_back()) {
    const uint64_t id = unindexed_.back();
    const auto& l0 = state.version->l0;
    const auto found =
        std::find_if(l0.begin(), l0.end(), [&](const auto& table) { return table->id() == id; });
    // A list that is being merged leads on in L1; it will be gone soon.
    if (found != l0.end() && manifest_.record().merging_table_id != id) {
      const uint64_t room = (*found)->entries() * kTreeBytesAnEntry;
      if (table_index_ != nullptr || MemoryToCome(state) + room <= MemoryGoal()) {
        return *found;
      }
    }
    table_index_.reset();
    indexes_left_.fetch_sub(1);
  }
  return nullptr;
}

/// Makes for a table of L0 what its flush would have left, had there been no new open.
bool LsmEngine::IndexFoundTable() {
  const std::shared_ptr<level::PmemTable> table = NextUnindexed();
  if (table == nullptr) return false;
  if (table_index_ == nullptr) {
    auto fresh = std::make_unique<cache::DramIndex>(pool_.get(), 1);
    const std::lock_guard lock(structure_mutex_);
    table_index_ = std::move(fresh);
  }
  if (Status s = table_index_->BuildSlice(table->list(), kIndexSlice); !s.ok()) {
    Fail(s);
    return false;
  }
  if (table_index_->complete()) {
    table->set_tree(table_index_->tree(), 1);
    const std::lock_guard lock(structure_mutex_);
    table_index_.reset();
    unindexed_.pop_back();
    indexes_left_.fetch_sub(1);
  }
  FitMemory();
  return true;
}

/// Fills the lookup cache with the next part of L1. False when it knows all, or has to wait.
bool LsmEngine::FillLookupStep() {
  if (lookup_cache_ == nullptr || lookup_cache_->knows_all()) return false;
  std::shared_ptr<level::PmemTable> l1;
  {
    const std::lock_guard lock(structure_mutex_);
    const level::Version& version = *state_owner_->version;
    const bool waits = !version.l0.empty() && version.l0.back()->id() <= unfilled_id_;
    if (waits && !BRAID_MUTANT(kLookupFilledTooSoon)) return false;
    if (lookup_fill_begins_) lookup_fill_ = std::make_unique<cache::LookupFill>(pool_.get());
    lookup_fill_begins_ = false;
    l1 = version.l1;
  }
  if (lookup_fill_->complete()) return false;  // it has met damage
  if (Status s = lookup_fill_->Find(l1->list(), kIndexSlice); !s.ok()) {
    Fail(s);
    return false;
  }
  const auto& found = lookup_fill_->found();
  for (size_t next = 0; next <= found.size(); next += kFillsAtATime) {
    // A bulk load clears the cache under this lock: what was found before it must not get in.
    const std::lock_guard lock(structure_mutex_);
    if (lookup_fill_begins_) return true;
    const size_t end = std::min(next + kFillsAtATime, found.size());
    for (size_t i = next; i < end; ++i) lookup_cache_->FillFound(found[i].hash, found[i].offset);
    if (end == found.size() && lookup_fill_->complete() && lookup_fill_->sound()) {
      lookup_cache_->KnowAll();
    }
  }
  return true;
}

uint64_t LsmEngine::MemoryBytes() const {
  uint64_t bytes = pool_->memory_users().Sum() + pool_->memory_bytes() +
                   pool_->chunks() * sizeof(int64_t);  // usage_
  if (lookup_cache_ != nullptr) bytes += lookup_cache_->memory_bytes();
  return bytes;
}

/// Brings the second-chance cache back to its size; `at_least_once`: makes it smaller anyhow.
void LsmEngine::FitSecondChance(bool at_least_once) {
  for (bool more = at_least_once || second_chance_->IsFull(); more;
       more = second_chance_->IsFull()) {
    const Status given_up = base::NoThrow([&] {
      cache::SecondChanceCache::Sparser sparser =
          at_least_once ? second_chance_->GiveUpLowest() : second_chance_->GiveUpGone();
      std::list<std::shared_ptr<const void>> old{second_chance_->tree()};
      const std::lock_guard lock(structure_mutex_);
      state_owner_->version->l1->set_tree(sparser.tree, sparser.min_height);
      second_chance_->Replace(std::move(sparser));
      reclaimer_.RetireMemory(std::move(old));
      return Status::OK();
    });
    // Without memory for a smaller one it stays as it is, until the next batch.
    if (!given_up.ok()) return;
  }
}

/// Under structure_mutex_.
void LsmEngine::ChargeWaiting() {
  size_t words = 0;
  for (const flush::WaitingTable& table : waiting_) words += table.touched.capacity();
  waiting_charge_.Set(words * sizeof(uint64_t));
}

/// What background work keeps DRAM at: the budget but for what may be added until the next look.
uint64_t LsmEngine::MemoryGoal() const {
  const uint64_t budget = options_.memory_budget_bytes;
  const uint64_t headroom = std::max(budget / 8, std::min(budget / 4, kLeastHeadroom));
  return budget - std::min(headroom, kMostHeadroom);
}

/// What there is, and what memtables may still add to it.
uint64_t LsmEngine::MemoryToCome(const ReadState& state) const {
  const uint64_t now = MemoryBytes();
  if (!watches_memtables_) return now;
  uint64_t memtables = state.active->table->tree()->memory_bytes();
  for (const auto& table : state.immutables) memtables += table->table->tree()->memory_bytes();
  const uint64_t most = memtable_memory_ * (options_.memtable.max_immutable + 1);
  return now + most - std::min(memtables, most);
}

/// Whether a memtable is to be sealed. Those that there may be take a sixth of the budget at most,
/// so that they need not give way, which they can't.
bool LsmEngine::IsFull(const LoggedMemTable& memtable) const {
  return memtable.table->bytes() >= options_.memtable.bytes ||
         (watches_memtables_ && memtable.table->tree()->memory_bytes() >= memtable_memory_);
}

/// Keeps DRAM within the budget: first the trees of L0 go, oldest first, then the index over L1 is
/// made anew over fewer entries. Between batches of a merge, too.
void LsmEngine::FitMemory() {
  if (index_ != nullptr) {
    index::EntryIndex& tree = *index_->tree();
    tree.ReclaimNodes(std::max(kReclaimedAtOnce, tree.used_bytes() / kReclaimedPart));
    if (next_index_ != nullptr) next_index_->tree()->ReclaimNodes(kReclaimedAtOnce);
  }
  std::shared_ptr<ReadState> state;
  {
    const std::lock_guard lock(structure_mutex_);
    state = state_owner_;
  }
  uint64_t freed = 0;  // once readers and views have left
  const auto fits = [&] { return MemoryToCome(*state) <= MemoryGoal() + freed; };
  if (fits()) return;
  next_index_.reset();  // nobody reads it yet
  if (fits()) return;
  for (size_t i = state->version->l0.size(); i-- > 0;) {
    level::PmemTable& table = *state->version->l0[i];
    if (table.tree() == nullptr) continue;
    freed += table.tree()->memory_bytes();
    // The place to wait for its readers in comes first: without one the tree would be freed at
    // once.
    std::list<std::shared_ptr<const void>> tree{table.tree()};
    table.set_tree(nullptr, 1);
    reclaimer_.RetireMemory(std::move(tree));
    if (fits()) return;
  }
  if (second_chance_ != nullptr && second_chance_->min_height() < format::kMaxHeight) {
    FitSecondChance(true);
  }
  if (index_ == nullptr) return;
  // Where most of it is free a new one over the same entries gives memory back as well.
  const bool mostly_free = IsMostlyFree(*index_->tree(), options_.memory_budget_bytes);
  const uint32_t height = index_->min_height() + (mostly_free ? 0 : 1);
  if (height > format::kMaxHeight / 2) return;
  // Another try is due when what was given up before has been freed.
  if (index_->tree()->memory_bytes() < MemoryGoal() / kWorthGivingUp ||
      reclaimer_.HasRetiredMemory())
    return;
  std::list<std::shared_ptr<const void>> tree{index_->tree()};
  auto sparser = std::make_unique<cache::DramIndex>(pool_.get(), height);
  const uint64_t bytes = index_->tree()->memory_bytes();
  const uint32_t was = index_->min_height();
  state->version->l1->set_tree(nullptr, height);
  reclaimer_.RetireMemory(std::move(tree));
  {
    const std::lock_guard lock(structure_mutex_);
    index_.swap(sparser);
    given_up_ = {bytes, state->version->l1->entries() + 1, was};
  }
  Log("the memory budget is reached: the index over L1 now covers every " +
      std::to_string(1u << (2 * (index_->min_height() - 1))) + "th entry");
}

}  // namespace braid::engine
