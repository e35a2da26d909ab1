// Purpose: searches and walks of persistent skip lists.
// Thread safety, invariants, persistence: see skiplist.h.
#include "index/skiplist.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "index/version_links.h"
#include "index/visits.h"

namespace braid::index {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;
using format::kMaxHeight;

namespace {

/// Searches backwards begin again when a merge has just unlinked what they found. Each time takes a
/// merge that comes in between, so that so many in a row mean layers that contradict each other.
constexpr int kMaxRetries = 1000;

const EntryHeader* EntryOf(Tower tower) { return reinterpret_cast<const EntryHeader*>(tower) - 1; }

}  // namespace

const EntryHeader* SkipList::Resolve(EntryPtr link, Tower tower, uint32_t layer,
                                     Damage* damage) const noexcept {
  if (link.IsEnd()) return nullptr;
  if (link.IsValid()) {
    const EntryHeader* entry = pool_->EntryAt(link.offset());
    if (entry != nullptr && entry->height() > layer &&
        (!verify_ || format::KeyCheck(*entry, base::Hash64(entry->key()), link.offset(),
                                      pool_->GenerationAt(link.offset())) == entry->key_check)) {
      return entry;
    }
    damage->at = link.offset();
    return nullptr;
  }
  // A head may lie in DRAM; then the message can only name the list's start.
  const auto* address = reinterpret_cast<const char*>(tower);
  const bool in_pool = address >= pool_->At(0) && address < pool_->At(pool_->pool_bytes());
  damage->at = in_pool ? pool_->OffsetOf(address) : format::kTableHeadsOffset;
  return nullptr;
}

bool SkipList::CheckHop(Tower tower, const EntryHeader* next, Damage* damage) const noexcept {
  if (IsHead(tower) || InOrder(*EntryOf(tower), *next)) return true;
  damage->at = pool_->OffsetOf(next);
  return false;
}

Status DamageStatus(const pool::PmemPool& pool, uint64_t at) {
  const auto is_entry = [&](uint64_t offset) {
    const EntryHeader* entry = pool.EntryAt(offset);
    return entry != nullptr && format::KeyCheck(*entry, base::Hash64(entry->key()), offset,
                                                pool.GenerationAt(offset)) == entry->key_check;
  };
  if (at < format::kFirstStateTableOffset || pool.IsHead(at)) {
    return pool.CorruptionAt(at, "head of a table", "a link in it is damaged");
  }
  if (at >= sizeof(EntryHeader) && is_entry(at - sizeof(EntryHeader))) {
    return pool.CorruptionAt(at, "links of an entry", "one of them is damaged");
  }
  return is_entry(at)
             ? pool.CorruptionAt(at, "entry", "a link leads to it, but it is out of order")
             : pool.CorruptionAt(at, "entry", "its header or key does not match its check");
}

/// Goes right while the next key is < `key`, then down; ends before the first key >= `key`.
/// `*before` is the tower it ended at. Returns the entry after it.
template <bool counts>
const EntryHeader* SkipList::DescendCounting(Tower tower, uint32_t layers, std::string_view key,
                                             Tower* before, [[maybe_unused]] Visits* visits,
                                             Damage* damage) const noexcept {
  const EntryHeader* next = nullptr;
  const EntryHeader* bound = nullptr;  // known to be >= key
  int free_hops = kFreeHops;
  for (uint32_t layer = layers; layer-- > 0;) {
    tower = EnterLayer(tower, layer);
    for (;;) {
      next = Follow(tower, layer, damage);
      if (*damage) return nullptr;
      if (next == nullptr || next == bound) break;
      if constexpr (counts) visits->Count(*pool_, next, layer);
      if (next->key() >= key) {
        bound = next;
        break;
      }
      if (--free_hops < 0 && !CheckHop(tower, next, damage)) [[unlikely]]
        return nullptr;
      tower = next->links();
    }
  }
  *before = tower;
  return next;
}

const EntryHeader* SkipList::FindGE(std::string_view key, Damage* damage,
                                    Visits* visits) const noexcept {
  Tower before = head_;
  return Descend(upper_, kMaxHeight, key, &before, visits, damage);
}

const EntryHeader* SkipList::FindGEFrom(const EntryHeader* start, std::string_view key,
                                        Damage* damage, Visits* visits) const noexcept {
  if (visits != nullptr) visits->Count(*pool_, start, start->height() - 1);
  if (start->key() >= key) return start;
  // First to the right along taller and taller towers, so that a start that lies far away costs no
  // more than one at the head.
  const EntryHeader* at = start;
  for (int free_hops = kFreeHops; at->height() != 0;) {
    const EntryHeader* next = Follow(at->links(), at->height() - 1, damage);
    if (*damage) return nullptr;
    if (next == nullptr || next->key() >= key) break;
    if (--free_hops < 0 && !CheckHop(at->links(), next, damage)) return nullptr;
    at = next;
  }
  Tower before = nullptr;
  return Descend(at->links(), at->height(), key, &before, visits, damage);
}

const EntryHeader* SkipList::FindLess(std::string_view key, Damage* damage) const noexcept {
  for (int retries = 0;; ++retries) {
    Tower before = head_;
    Descend(upper_, kMaxHeight, key, &before, nullptr, damage);
    if (*damage || before == head_) return nullptr;
    const EntryHeader* last = EntryOf(before);
    if (retries >= kMaxRetries) {
      damage->at = pool_->OffsetOf(last);
      return nullptr;
    }
    // `last` may be an older version; the newest of its key is what comes first.
    const EntryHeader* newest = FindGE(last->key(), damage);
    if (*damage || (newest != nullptr && newest->key() == last->key())) return newest;
    // A merge has just unlinked the key: it was deleted. The search goes on before it.
    key = last->key();
  }
}

const EntryHeader* SkipList::FindLast(Damage* damage) const noexcept {
  Tower tower = upper_;
  int free_hops = kFreeHops;
  for (uint32_t layer = kMaxHeight; layer-- > 0;) {
    tower = EnterLayer(tower, layer);
    while (const EntryHeader* next = Follow(tower, layer, damage)) {
      if (--free_hops < 0 && !CheckHop(tower, next, damage)) return nullptr;
      tower = next->links();
    }
    if (*damage) return nullptr;
  }
  if (tower == head_) return nullptr;
  const std::string_view last = EntryOf(tower)->key();
  const EntryHeader* newest = FindGE(last, damage);
  if (*damage || newest != nullptr) return newest;
  return FindLess(last, damage);  // a merge has just unlinked it
}

size_t SkipList::Towers(const EntryHeader& entry, uint32_t layer, const EntryHeader** out,
                        size_t cap, Damage* damage) const noexcept {
  BRAID_DCHECK(layer < kMaxHeight);
  size_t found = 0;
  // Along the tallest layer of each until one is tall enough, then in that layer. All hops are
  // checked: they are few.
  for (const EntryHeader* at = &entry; found < cap && at->height() != 0;) {
    const EntryHeader* next = Follow(at->links(), std::min(at->height() - 1, layer), damage);
    if (next == nullptr) break;
    if (!InOrder(*at, *next)) {
      damage->at = pool_->OffsetOf(next);
      break;
    }
    at = next;
    if (at->height() > layer) out[found++] = at;
  }
  return found;
}

const EntryHeader* SkipList::Visible(const EntryHeader* newest, const ReadView& view,
                                     Damage* damage) const noexcept {
  const EntryHeader* entry = newest;
  while (!view.Sees(*entry)) {
    entry = SkipUnseen(*pool_, entry, newest->key(), view);
    const EntryHeader* older = Next(entry, damage);
    if (older == nullptr || older->key() != newest->key()) return nullptr;
    if (older->sequence() >= entry->sequence()) {
      damage->at = pool_->OffsetOf(older);
      return nullptr;
    }
    entry = older;
  }
  return entry;
}

LookupResult SkipList::Judge(const EntryHeader* at, const LookupKey& key, const ReadView& view,
                             Damage damage) const noexcept {
  if (damage) return LookupResult::Corrupt(damage.at);
  if (at == nullptr || at->key() != key.key) return {};
  const EntryHeader* entry = Visible(at, view, &damage);
  if (damage) return LookupResult::Corrupt(damage.at);
  if (entry == nullptr) return {};
  return LookupResult::Of(*entry, pool_->OffsetOf(entry));
}

LookupResult SkipList::Lookup(const LookupKey& key, const ReadView& view) const noexcept {
  Damage damage;
  const EntryHeader* at = FindGE(key.key, &damage, view.visits);
  return Judge(at, key, view, damage);
}

LookupResult SkipList::LookupFrom(const EntryHeader* start, const LookupKey& key,
                                  const ReadView& view) const noexcept {
  Damage damage;
  const EntryHeader* at = FindGEFrom(start, key.key, &damage, view.visits);
  return Judge(at, key, view, damage);
}

namespace {

class ListCursor final : public Cursor {
 public:
  ListCursor(const SkipList& list, std::shared_ptr<const void> owner, const ReadView& view)
      : list_(list), owner_(std::move(owner)), view_(view) {}

  bool Valid() const override { return item_.entry != nullptr; }
  void SeekToFirst() override {
    newest_ = list_.First(&damage_);
    Settle(true);
  }
  void SeekToLast() override {
    newest_ = list_.FindLast(&damage_);
    Settle(false);
  }
  void SeekGE(std::string_view key) override {
    newest_ = list_.FindGE(key, &damage_);
    Settle(true);
  }
  void SeekLE(std::string_view key) override {
    newest_ = list_.FindGE(key, &damage_);
    if (!damage_ && (newest_ == nullptr || newest_->key() != key)) {
      newest_ = list_.FindLess(key, &damage_);
    }
    Settle(false);
  }
  void Next() override {
    BRAID_DCHECK(Valid());
    SkipKey();
    Settle(true);
  }
  void Prev() override {
    BRAID_DCHECK(Valid());
    newest_ = list_.FindLess(NewestKey(), &damage_);
    Settle(false);
  }
  const CursorItem& item() const override { return item_; }
  Status status() const override {
    return damage_ ? DamageStatus(list_.pool(), damage_.at) : Status::OK();
  }

 private:
  std::string_view NewestKey() const { return list_.pool().KeyAt(list_.pool().OffsetOf(newest_)); }
  /// Moves newest_ to the next key. Versions must grow older on the way, and the key be a later
  /// one: so a list that leads back is seen.
  void SkipKey() {
    const std::string_view key = NewestKey();
    uint64_t sequence = newest_->sequence();
    for (;;) {
      newest_ = list_.Next(newest_, &damage_);
      if (newest_ == nullptr) return;
      const int order = newest_->key().compare(key);
      if (order > 0) return;
      if (order < 0 || newest_->sequence() >= sequence) {
        damage_.at = list_.pool().OffsetOf(newest_);
        newest_ = nullptr;
        return;
      }
      // Where a key has many versions, along their upper links.
      newest_ = SkipUnseen(list_.pool(), newest_, key, kSeesNothing);
      sequence = newest_->sequence();
    }
  }
  /// Makes item_ the visible version of newest_'s key, or of the next key in the direction that
  /// has one.
  void Settle(bool forward) {
    item_ = {};
    while (newest_ != nullptr && !damage_) {
      const EntryHeader* visible = list_.Visible(newest_, view_, &damage_);
      if (damage_) return;
      if (visible != nullptr) {
        if (!list_.pool().View(visible, &item_)) damage_.at = list_.pool().OffsetOf(visible);
        return;
      }
      if (forward) {
        SkipKey();
      } else {
        newest_ = list_.FindLess(NewestKey(), &damage_);
      }
    }
  }

  static constexpr ReadView kSeesNothing{.sequence = 0};
  SkipList list_;
  std::shared_ptr<const void> owner_;
  ReadView view_;
  const EntryHeader* newest_ = nullptr;
  CursorItem item_{};
  Damage damage_;
};

}  // namespace

std::unique_ptr<Cursor> NewListCursor(const SkipList& list, std::shared_ptr<const void> owner,
                                      const ReadView& view) {
  return std::make_unique<ListCursor>(list, std::move(owner), view);
}

}  // namespace braid::index
