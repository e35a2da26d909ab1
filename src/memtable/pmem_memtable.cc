// Purpose: insertions into a persistent skip list, and its reads.
// Thread safety, invariants, persistence: see pmem_memtable.h.
#include "memtable/pmem_memtable.h"

#include <sched.h>

#include "base/check.h"
#include "base/no_throw.h"
#include "memtable/entry_writes.h"

namespace braid::memtable {

using format::EntryHeader;
using format::EntryPtr;
using format::kMaxHeight;
using index::LookupResult;
using index::Tower;

namespace {

/// The word of a layer. Acquire pairs with the release store that linked what it leads to.
uint64_t LinkOf(Tower tower, uint32_t layer) noexcept {
  return std::atomic_ref<const uint64_t>(tower[layer]).load(std::memory_order_acquire);
}

}  // namespace

/// Invariant 4.
class PmemMemTable::Turn {
 public:
  Turn(PmemMemTable* table, uint64_t hash) noexcept : table_(*table) {
    BRAID_DCHECK(table_.turn_.load() % 2 == 0);  // the lock is held
    // Relaxed: published by the turn.
    table_.key_hash_.store(hash, std::memory_order_relaxed);
    // Sequentially consistent, and before the number is drawn: a reader that knows the number sees
    // the turn.
    table_.turn_.fetch_add(1);
  }
  ~Turn() {
    // Release pairs with AwaitTurn: a reader that sees the end sees the entry.
    table_.turn_.fetch_add(1, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  PmemMemTable& table_;
};

PmemMemTable::PmemMemTable(const Store& store, uint64_t id, uint32_t shards, bool verify)
    : MemTable(id),
      store_(store),
      pool_(*store.pool),
      verify_(verify),
      log_(store.pool, id, shards),
      heads_(std::make_shared<Heads>()) {
  BRAID_CHECK(shards > 0);  // it takes writes
  for (auto& head : heads_->links) head.fill(EntryPtr::End().raw);
}

index::SkipList PmemMemTable::list() const noexcept {
  return index::SkipList(&pool_, head(0), head(pool_.StrandOfThread()), verify_);
}

uint64_t PmemMemTable::max_sequence() const {
  const base::MutexLock lock(mutex_);
  return max_sequence_;
}

Status PmemMemTable::Write(uint32_t shard, log::PendingEntry* pending, const Condition* condition) {
  BRAID_DCHECK(pending->key_hash == base::Hash64(pending->key));
  BRAID_DCHECK(pending->op == format::EntryOp::kPut || pending->op == format::EntryOp::kDelete);
  if (Status s = ReserveEntry(&log_, store_.stalls, shard, pending); !s.ok()) return s;
  WriteEntryPayload(&log_, store_.stalls, pending);
  Place place;
  index::Damage damage;
  FindPlace(*pending, &place, &damage);
  Status s = base::CatchToStatus([&] {
    if (damage) return index::DamageStatus(pool_, damage.at);
    const base::MutexLock lock(mutex_);
    return Insert(*pending, condition, &place);
  });
  if (!s.ok()) {
    if (pool_.failed()) return pool_.FaultStatus();  // and what was taken stays as it is
    log_.Rollback(shard, pending, 1);
    return s;
  }
  log_.Commit(shard);
  Account(EntryBytes(*pending), 1);
  return s;
}

/// The last entries before the key in all layers: those below the entry's strand, and the bottom.
/// Without a lock: others insert meanwhile.
void PmemMemTable::FindPlace(const log::PendingEntry& pending, Place* place,
                             index::Damage* damage) const noexcept {
  const uint32_t strand = pool_.StrandOf(pending.offset);
  const index::SkipList list(&pool_, head(0), head(strand), false);
  Tower tower = head(strand);
  const EntryHeader* bound = nullptr;  // known to be >= the key
  int free_hops = index::kFreeHops;
  for (uint32_t layer = kMaxHeight; layer-- > 0;) {
    if (layer == 0 && tower == head(strand)) tower = head(0);
    for (;;) {
      const EntryHeader* next = list.Follow(tower, layer, damage);
      if (*damage) return;
      if (next == nullptr || next == bound) break;
      if (next->key() >= pending.key) {
        bound = next;
        break;
      }
      const auto* at = reinterpret_cast<const EntryHeader*>(tower) - 1;
      if (--free_hops < 0 && !IsHead(tower) && !index::InOrder(*at, *next)) [[unlikely]] {
        damage->at = pool_.OffsetOf(next);  // a circle, since the list is not that long
        return;
      }
      tower = next->links();
    }
    place->before[layer] = tower;
  }
}

/// From the place that was found on, past what was inserted meanwhile; nothing is ever unlinked.
void PmemMemTable::MoveOn(const log::PendingEntry& pending, Place* place,
                          index::Damage* damage) const noexcept {
  const index::SkipList list(&pool_, head(0), head(pool_.StrandOf(pending.offset)), false);
  place->older = nullptr;
  for (uint32_t layer = 0; layer < pending.height; ++layer) {
    for (;;) {
      Tower& before = place->before[layer];
      place->next[layer] = LinkOf(before, layer);
      const EntryHeader* next = list.Resolve(EntryPtr{place->next[layer]}, before, layer, damage);
      if (*damage) return;
      if (next == nullptr) break;
      if (next->key() >= pending.key) {
        if (layer == 0 && next->key() == pending.key) place->older = next;
        break;
      }
      before = next->links();
    }
  }
}

/// TryAgain: it is frozen, or does not meet the condition.
Status PmemMemTable::Insert(const log::PendingEntry& pending, const Condition* condition,
                            Place* place) {
  index::Damage damage;
  MoveOn(pending, place, &damage);
  if (damage) return index::DamageStatus(pool_, damage.at);
  if (condition != nullptr && place->older != nullptr &&
      place->older->sequence() != condition->sequence) {
    return Status::TryAgain("");
  }
  const Turn turn(this, pending.key_hash);
  // Sequentially consistent, and in this order: see is_frozen.
  const uint64_t sequence = store_.sequence->fetch_add(1) + 1;
  if (is_frozen()) return Status::TryAgain("");
  BRAID_DCHECK(place->older == nullptr || place->older->sequence() < sequence || pool_.failed());
  if (sequence > format::kMaxSequence) return NumbersUsedUp();
  log_.PublishLinked(pending, sequence, format::kFirstOfUnit, place->next.data());
  // Nobody shows it before the fence, and a crash before it finds the entry or not (invariant 6).
  Link(pending, *place);
  pool_.ops().Fence(media::Site::kEntryFence);
  max_sequence_ = sequence;
  return pool_.failed() ? pool_.FaultStatus() : Status::OK();
}

/// From the bottom up, so that each layer is a part of the one below (invariant 3).
void PmemMemTable::Link(const log::PendingEntry& pending, const Place& place) {
  BRAID_DCHECK(pending.height >= 1 && pending.height <= kMaxHeight);
  media::PersistOps& ops = pool_.ops();
  const uint64_t link = pool_.LinkTo(pending.offset).raw;
  for (uint32_t layer = 0; layer < pending.height; ++layer) {
    auto* target = const_cast<uint64_t*>(place.before[layer]) + layer;
    BRAID_DCHECK(*target == place.next[layer] || pool_.failed());
    if (IsHead(place.before[layer])) {
      // Release pairs with the acquire of who follows it.
      std::atomic_ref<uint64_t>(*target).store(link, std::memory_order_release);
      continue;
    }
    ops.StoreU64(target, link);
    ops.Flush(target, sizeof *target,
              layer == 0 ? media::Site::kInPlaceLink : media::Site::kInPlaceUpperLink);
  }
}

Status PmemMemTable::WriteBatch(uint32_t shard, std::span<log::PendingEntry> entries,
                                pool::AllocationClass allocation, bool* is_torn) {
  const size_t count = entries.size();
  BRAID_DCHECK(!is_frozen() && !*is_torn);
  // Nobody else draws numbers, so these can be used before they are published.
  const uint64_t base_sequence = store_.sequence->load();
  const Result<uint64_t> bytes =
      WriteBatchEntries(&pool_, &log_, store_.stalls, shard, entries, base_sequence, allocation);
  if (!bytes.ok()) return bytes.status();
  Status linked = base::CatchToStatus([&] {
    const base::MutexLock lock(mutex_);
    max_sequence_ = base_sequence + count;
    return InsertBatch(entries);
  });
  if (!linked.ok()) {
    *is_torn = true;
    return linked;
  }
  BRAID_DCHECK(store_.sequence->load() == base_sequence && !is_frozen());  // nobody else writes
  // Release pairs with ReadView::Sees: a reader that sees the number sees all entries.
  store_.sequence->store(base_sequence + count);
  log_.Commit(shard);
  Account(*bytes, count);
  return Status::OK();
}

/// Links entries that are durable, and hidden by their numbers.
Status PmemMemTable::InsertBatch(std::span<const log::PendingEntry> entries) {
  media::PersistOps& ops = pool_.ops();
  for (const log::PendingEntry& pending : entries) {
    Place place;
    index::Damage damage;
    FindPlace(pending, &place, &damage);
    if (!damage) MoveOn(pending, &place, &damage);
    if (damage) return index::DamageStatus(pool_, damage.at);
    auto* entry = pool_.As<EntryHeader>(pending.offset);
    for (uint32_t layer = 0; layer < pending.height; ++layer) {
      ops.StoreU64(entry->links() + layer, place.next[layer]);
    }
    ops.Flush(entry->links(), sizeof(uint64_t) * pending.height, media::Site::kInPlaceOwnLinks);
    Link(pending, place);
  }
  ops.Fence(media::Site::kInPlaceFence);
  return Status::OK();
}

/// Returns when the turn that was seen under way is over.
void PmemMemTable::AwaitTurn(uint64_t turn) const noexcept {
  constexpr int kSpins = 100;  // an insertion takes a fence
  BRAID_DCHECK(turn % 2 == 1);
  // Acquire pairs with the end of the turn.
  for (int spins = 0; turn_.load(std::memory_order_acquire) == turn; ++spins) {
    if (spins < kSpins) {
      __builtin_ia32_pause();
    } else {
      sched_yield();  // the writer may have lost its processor
    }
  }
}

/// Waits for the insertion of the key that is under way, if one is (invariant 4).
void PmemMemTable::AwaitKey(uint64_t hash) const noexcept {
  // Sequentially consistent, behind the reader's number, which pairs with Turn.
  const uint64_t turn = turn_.load();
  if (turn % 2 == 0) [[likely]]
    return;
  // Perhaps that of a later turn: then the one that was seen is over.
  if (key_hash_.load(std::memory_order_relaxed) == hash) AwaitTurn(turn);
}

LookupResult PmemMemTable::Search(const index::LookupKey& key,
                                  const index::ReadView& view) const noexcept {
  AwaitKey(key.hash);
  const LookupResult result = list().Lookup(key, view);
  // What it has come to may be linked and not durable yet: of an insertion that has begun
  // meanwhile.
  if (result.has_version()) AwaitKey(key.hash);
  // Once the list is merged, a search may end in what it was merged into, which is older than
  // tables that are asked later: then its table decides (invariant 3 of level/pmem_table.h).
  // Acquire pairs with BecomeTable, which comes before the first link of a merge.
  const index::SortedRun* const table = table_.load(std::memory_order_acquire);
  return table == nullptr ? result : table->Get(key, view);
}

LookupResult PmemMemTable::Get(const index::LookupKey& key,
                               const index::ReadView& view) const noexcept {
  const LookupResult result = Search(key, view);
  if (!result.has_version() || view.sequence != index::kLatest) return result;
  const uint8_t unit = pool_.As<EntryHeader>(result.value.offset())->flags() &
                       (format::kFirstOfUnit | format::kMoreOfUnit);
  // Of a batch, which may have been published behind the search: then a later update of the same
  // key in the same batch may not have been there yet. It is now.
  return unit == format::kFirstOfUnit ? result : Search(key, view);
}

void PmemMemTable::GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
                           LookupResult* out) const noexcept {
  BRAID_DCHECK(n <= index::kManyLookups);
  for (size_t i = 0; i < n; ++i) out[i] = Get(keys[i], view);
}

std::unique_ptr<index::Cursor> PmemMemTable::NewCursor(const index::ReadView& view) const {
  // What the view sees has drawn its number by now, so that only the insertion under way may lack.
  if (const uint64_t turn = turn_.load(); turn % 2 == 1) AwaitTurn(turn);
  return index::NewListCursor(list(), heads_, view);
}

void PmemMemTable::BecomeTable(const std::shared_ptr<const index::SortedRun>& table) noexcept {
  MemTable::BecomeTable(table);
  BRAID_DCHECK(table_.load() == nullptr && table->entries() == entries());
  table_owner_ = table;
  table_.store(table_owner_.get(), std::memory_order_release);  // pairs with Search
}

}  // namespace braid::memtable
