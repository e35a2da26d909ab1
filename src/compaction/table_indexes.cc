// Purpose: building the indexes over tables, and giving them up.
// Thread safety, invariants, persistence: see table_indexes.h.
#include "compaction/table_indexes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/no_throw.h"

namespace braid::compaction {

namespace {
/// Entries indexed between two looks for a merge that waits.
constexpr uint64_t kIndexSlice = 32 * 1024;
/// What a tree that was built in key order takes for an entry, and some more.
constexpr uint64_t kTreeBytesAnEntry = 20;
/// An index that takes less than this share of the budget is not worth giving up.
constexpr uint64_t kWorthGivingUp = 16;
/// More than an eighth of the budget of an index may be free when it is more than what is used: of
/// one that has held far more keys than it does. Within these limits: a new index has a block that
/// it has hardly begun.
constexpr size_t kMostFree = 2 << 20;
constexpr size_t kLeastMostFree = 256 << 10;
/// Nodes that merges have emptied are used again when they come to this, or to a part of the index.
constexpr size_t kReclaimedAtOnce = 64 << 10;
constexpr size_t kReclaimedPart = 16;
static_assert(kLeastMostFree <= kMostFree);

bool IsMostlyFree(const index::EntryIndex& tree, uint64_t budget) {
  const size_t used = tree.used_bytes();
  const size_t most = std::clamp<size_t>(budget / 8, kLeastMostFree, kMostFree);
  return tree.memory_bytes() - std::min(tree.memory_bytes(), used) > std::max(used, most);
}

}  // namespace

TableIndexes::TableIndexes(const Store& store) : store_(store) {
  const CacheOptions& options = store.options->cache;
  if (*options.index) l1_ = std::make_unique<cache::DramIndex>(store.pool, 1);
  if (*options.second_chance_bytes != 0) {
    cache_ = std::make_unique<cache::SecondChanceCache>(store.pool, *options.second_chance_bytes);
  }
  BRAID_CHECK(l1_ == nullptr || cache_ == nullptr);  // L1 shows one tree
}

Status TableIndexes::Begin(const level::Version& found, bool merge_is_open) {
  if (cache_ != nullptr) found.bottom().set_tree(cache_->tree(), cache_->min_height());
  if (l1_ == nullptr) return Status::OK();
  level::PmemTable& l1 = found.bottom();
  BRAID_DCHECK(found_.empty() && next_l1_ == nullptr);
  for (auto table = found.l0().rbegin(); table != found.l0().rend(); ++table) {
    found_.push_back((*table)->id());
  }
  found_left_.store(found_.size());
  if (l1.entries() == 0 && !merge_is_open) {
    if (Status s = l1_->BuildSlice(l1.list(), 1); !s.ok()) return s;
    if (l1_->complete()) l1.set_tree(l1_->tree(), 1);
    l1_is_as_recorded_ = l1_->counted() == 0;
  }
  return Status::OK();
}

bool TableIndexes::LackSome() const noexcept {
  return l1_ != nullptr && (!l1_->complete() || !found_.empty());
}

Result<bool> TableIndexes::BuildStep() {
  if (l1_ == nullptr) return false;
  if (l1_->complete()) return FoundTableStep();
  std::shared_ptr<level::PmemTable> l1;
  {
    const level::VersionSet::Locked versions = store_.versions->Lock();
    l1 = versions.bottom();
    // What is merged of an open merge is in L1 and in the merge's own count.
    if (versions.record().IsTarget(l1->id())) l1_->ForgetCount();
  }
  if (Status s = l1_->BuildSlice(l1->list(), kIndexSlice); !s.ok()) return s;
  if (l1_->complete()) {
    if (const auto counted = l1_->counted(); counted) {
      if (Status s = CheckCount(*l1, *counted); !s.ok()) return s;
      if (!l1->is_counted()) store_.versions->Lock().SetEntriesOfBottom(*counted);
      l1_is_as_recorded_ = true;
    }
    l1->set_tree(l1_->tree(), l1_->min_height());
  }
  Fit();
  return true;
}

/// An old page in the place of a newer one, whose checks all match, leads past entries, or to
/// others. What merges wrote of such a list would look sound.
Status TableIndexes::CheckCount(const level::PmemTable& table, uint64_t counted) const {
  if (!table.is_counted() || counted == table.entries()) return Status::OK();
  return store_.pool->CorruptionAt(table.head_offset(), "list of a table",
                                   "it links " + std::to_string(counted) +
                                       " entries, the manifest counts " +
                                       std::to_string(table.entries()));
}

index::EntryIndex* TableIndexes::tree() const noexcept {
  if (l1_ != nullptr) return l1_->tree().get();
  return cache_ != nullptr ? cache_->tree().get() : nullptr;
}

merge::TargetTree TableIndexes::MergeTarget() const noexcept {
  if (cache_ != nullptr) return {tree(), cache_->min_height(), nullptr, 1};
  if (l1_ == nullptr) return {};
  merge::TargetTree trees{tree(), l1_->min_height(), nullptr, 1};
  if (next_l1_ != nullptr) {
    // A new one is begun beside a complete one only, and there is one at a time.
    BRAID_DCHECK(l1_->complete());
    trees.next = next_l1_->tree().get();
    trees.next_min_height = next_l1_->min_height();
  }
  return trees;
}

std::optional<uint64_t> TableIndexes::kept() const noexcept {
  if (l1_ == nullptr || !l1_->complete()) return std::nullopt;
  return l1_->kept();
}

/// The least height of the entries that an index over L1 is to cover; that of the one there is when
/// that need not be rebuilt.
uint32_t TableIndexes::WantedMinHeight() const {
  const std::shared_ptr<const level::ReadState> state = store_.versions->Lock().Keep();
  const uint32_t now = l1_->min_height();
  BRAID_DCHECK(now >= 1 && now <= format::kMaxHeight && given_up_.entries != 0);
  const uint64_t taken = store_.budget->ToCome(*state);
  const uint64_t goal = store_.budget->Goal();
  const uint64_t room = goal - std::min(goal, taken);
  const uint64_t all = state->version->bottom().entries();
  // Both are there for a while. Twice what a tree takes that is built in order: inserts leave nodes
  // half full, and it is not to be given up again soon.
  for (uint32_t height = 1; height < now; ++height) {
    const uint64_t entries = all >> (2 * (height - 1));
    // By experience, where there is some: few entries take whole nodes and blocks.
    const uint64_t known =
        height > given_up_.height ? 0 : given_up_.bytes * (all + 1) / given_up_.entries;
    if (2 * std::max(kTreeBytesAnEntry * entries, known) <= room) return height;
  }
  return now;
}

Result<bool> TableIndexes::RemakeStep() {
  if (l1_ == nullptr || !l1_->complete()) return false;
  if (next_l1_ == nullptr) {
    const bool mostly_free = IsMostlyFree(*l1_->tree(), store_.budget->bytes());
    if (l1_->min_height() == 1 && !mostly_free) return false;
    // What there is room for shows when it is gone.
    if (store_.reclaimer->HasRetiredMemory()) return false;
    const uint32_t height = WantedMinHeight();
    if (height == l1_->min_height() && !mostly_free) return false;
    next_l1_ = std::make_unique<cache::DramIndex>(store_.pool, height);
  }
  const std::shared_ptr<level::PmemTable> l1 = store_.versions->Lock().bottom();
  if (Status s = next_l1_->BuildSlice(l1->list(), kIndexSlice); !s.ok()) return s;
  if (next_l1_->complete()) ReplaceL1(l1.get(), std::move(next_l1_));
  Fit();
  return true;
}

/// The next table without an index that lookups still go through, newest first; null when there is
/// none left.
std::shared_ptr<level::PmemTable> TableIndexes::NextFound() {
  const level::VersionSet::Locked versions = store_.versions->Lock();
  const auto& l0 = versions.state().version->l0();
  BRAID_DCHECK(found_left_.load(std::memory_order_relaxed) == found_.size());
  for (; !found_.empty(); found_.pop_back()) {
    const uint64_t id = found_.back();
    const auto found =
        std::find_if(l0.begin(), l0.end(), [&](const auto& table) { return table->id() == id; });
    // A list that is being merged leads on in L1; it will be gone soon.
    if (found != l0.end() && versions.record().MergeOf(id) == nullptr) {
      const uint64_t room = (*found)->entries() * kTreeBytesAnEntry;
      if (found_index_ != nullptr ||
          store_.budget->ToCome(versions.state()) + room <= store_.budget->Goal()) {
        return level::ListOf(*found);
      }
    }
    found_index_.reset();
    found_left_.fetch_sub(1);
  }
  return nullptr;
}

/// Makes for a table of L0 what its flush would have left, had there been no new open.
Result<bool> TableIndexes::FoundTableStep() {
  const std::shared_ptr<level::PmemTable> table = NextFound();
  if (table == nullptr) return false;
  BRAID_DCHECK(!found_.empty() && found_.back() == table->id());
  if (found_index_ == nullptr) found_index_ = std::make_unique<cache::DramIndex>(store_.pool, 1);
  if (Status s = found_index_->BuildSlice(table->list(), kIndexSlice); !s.ok()) return s;
  if (found_index_->complete()) {
    BRAID_DCHECK(found_index_->counted().has_value());  // nothing changes a table of L0
    if (Status s = CheckCount(*table, *found_index_->counted()); !s.ok()) return s;
    table->set_tree(found_index_->tree(), 1);
    found_index_.reset();
    found_.pop_back();
    found_left_.fetch_sub(1);
  }
  Fit();
  return true;
}

/// Brings the second-chance cache back to its size; `at_least_once`: makes it smaller anyhow.
void TableIndexes::FitCache(bool at_least_once) {
  for (bool more = at_least_once || cache_->IsFull(); more; more = cache_->IsFull()) {
    const Status given_up = base::CatchToStatus([&] {
      cache::SecondChanceCache::Sparser sparser =
          at_least_once ? cache_->GiveUpLowest() : cache_->GiveUpGone();
      space::RetiredMemory old{cache_->tree()};
      store_.versions->Lock().bottom()->set_tree(sparser.tree, sparser.min_height);
      cache_->Replace(std::move(sparser));
      store_.reclaimer->RetireMemory(std::move(old));
      return Status::OK();
    });
    // Without memory for a smaller one it stays as it is, until the next batch.
    if (!given_up.ok()) return;
  }
}

void TableIndexes::StartAnew(level::PmemTable* l1) {
  if (l1_ == nullptr) return;
  // Before L1 shows the entries: a complete index would say that there are none.
  ReplaceL1(l1, std::make_unique<cache::DramIndex>(store_.pool, 1));
}

void TableIndexes::TakeOver(level::PmemTable* l1, const level::PmemTable& source) {
  l1_is_as_recorded_ = l1_ != nullptr;  // as the flush has left it
  if (l1_ == nullptr || source.tree_min_height() != 1) return;
  // A reader to whom it still is a table of L0 may meet what merges bring into L1, as one of L1.
  const auto tree = std::const_pointer_cast<index::EntryIndex>(source.tree());
  if (tree == nullptr) return;
  BRAID_DCHECK(source.is_plain() && tree->size() == source.entries());  // one version a key
  Replace(l1, tree);
}

void TableIndexes::Replace(level::PmemTable* l1, std::shared_ptr<index::EntryIndex> tree) {
  ReplaceL1(l1, std::make_unique<cache::DramIndex>(store_.pool, std::move(tree)));
  l1_is_as_recorded_ = true;
}

/// L1 shows it if it is complete. One that was to come next is given up.
void TableIndexes::ReplaceL1(level::PmemTable* l1, std::unique_ptr<cache::DramIndex> index) {
  BRAID_DCHECK(l1_ != nullptr && index != nullptr);
  // The place to wait for its readers in comes first.
  space::RetiredMemory old{l1_->tree()};
  l1->set_tree(index->complete() ? index->tree() : nullptr, index->min_height());
  next_l1_.reset();  // nobody reads it yet
  l1_ = std::move(index);
  store_.reclaimer->RetireMemory(std::move(old));
}

void TableIndexes::Fit() {
  if (l1_ != nullptr) {
    index::EntryIndex& tree = *l1_->tree();
    tree.ReclaimNodes(std::max(kReclaimedAtOnce, tree.used_bytes() / kReclaimedPart));
    if (next_l1_ != nullptr) next_l1_->tree()->ReclaimNodes(kReclaimedAtOnce);
  }
  const std::shared_ptr<const level::ReadState> state = store_.versions->Lock().Keep();
  uint64_t freed = 0;  // once readers and views have left
  const auto fits = [&] { return store_.budget->ToCome(*state) <= store_.budget->Goal() + freed; };
  if (fits()) return;
  next_l1_.reset();  // nobody reads it yet
  if (fits()) return;
  const auto& l0 = state->version->l0();
  for (auto it = l0.rbegin(); it != l0.rend(); ++it) {
    if ((*it)->index_bytes() == 0) continue;
    level::PmemTable& table = *(*it)->AsList();
    freed += table.index_bytes();
    // The place to wait for its readers in comes first: without one the tree would be freed at
    // once.
    space::RetiredMemory tree{table.tree()};
    table.set_tree(nullptr, 1);
    store_.reclaimer->RetireMemory(std::move(tree));
    if (fits()) return;
  }
  if (cache_ != nullptr && cache_->min_height() < format::kMaxHeight) FitCache(true);
  if (l1_ != nullptr) GiveUpL1(*state);
}

/// Rebuilds the index over L1 over fewer entries, if that is of use.
void TableIndexes::GiveUpL1(const level::ReadState& state) {
  BRAID_DCHECK(next_l1_ == nullptr);  // which goes first
  // Where most of it is free a new one over the same entries gives memory back as well.
  const bool mostly_free = IsMostlyFree(*l1_->tree(), store_.budget->bytes());
  const uint32_t was = l1_->min_height();
  const uint32_t height = was + (mostly_free ? 0 : 1);
  if (height > format::kMaxHeight / 2) return;
  const uint64_t bytes = l1_->tree()->memory_bytes();
  if (bytes < store_.budget->Goal() / kWorthGivingUp) return;
  // Another try is due when what was given up before has been freed.
  if (store_.reclaimer->HasRetiredMemory()) return;
  space::RetiredMemory tree{l1_->tree()};
  auto sparser = std::make_unique<cache::DramIndex>(store_.pool, height);
  state.version->bottom().set_tree(nullptr, height);
  store_.reclaimer->RetireMemory(std::move(tree));
  l1_.swap(sparser);
  static_assert(2 * (format::kMaxHeight / 2 - 1) < 32);  // the shift below
  given_up_ = {bytes, state.version->bottom().entries() + 1, was};
  if (!store_.options->logger) return;
  store_.options->logger("the memory budget is reached: the index over L1 now covers every " +
                         std::to_string(1u << (2 * (height - 1))) + "th entry");
}

}  // namespace braid::compaction
