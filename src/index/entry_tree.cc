// Purpose: version walks, lookups and cursors over an EntryIndex.
// Thread safety, invariants, persistence: see entry_tree.h.
#include "index/entry_tree.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/version_links.h"
#include "index/visits.h"

namespace braid::index {

using format::EntryHeader;
using format::EntryOp;
using format::EntryPtr;

namespace {

/// A short record. What is longer is read on by the hardware.
constexpr uint64_t kLikelyEntryBytes = 160;

uint64_t LoadLink(const uint64_t* link) noexcept {
  // Acquire pairs with the release store that published the entry behind the link.
  return std::atomic_ref<const uint64_t>(*link).load(std::memory_order_acquire);
}

}  // namespace

VersionWalk LookupEntry(const pool::PmemPool& pool, uint64_t newest,
                        const ReadView& view) noexcept {
  BRAID_DCHECK(newest != 0);
  // The offset was checked when it came into the tree; its chunk, or its bytes, may be others now.
  const EntryHeader* entry = pool.EntryAt(newest);
  if (entry == nullptr) return {nullptr, newest};
  if (view.Sees(*entry)) return {entry, 0};
  const std::string_view key = entry->key();
  for (;;) {
    entry = SkipUnseen(pool, entry, key, view);
    const uint64_t sequence = entry->sequence();
    const EntryPtr next{LoadLink(entry->links())};
    if (next.raw == 0 || next.IsEnd()) return {};
    if (!next.IsValid()) return {nullptr, pool.OffsetOf(entry)};
    const EntryHeader* older = pool.EntryAt(next.offset());
    if (older == nullptr) return {nullptr, pool.OffsetOf(entry)};
    if (older->key() != key) return {};
    // Versions fall strictly, so that a damaged list cannot hold a reader in a circle.
    if (older->sequence() >= sequence) return {nullptr, next.offset()};
    if (view.visits != nullptr) view.visits->Count(pool, older, 0);
    if (view.Sees(*older)) return {older, 0};
    entry = older;
  }
}

namespace {

/// What `view` sees of the key whose newest entry is at `newest`.
LookupResult LookupFromNewest(const pool::PmemPool& pool, uint64_t newest, const LookupKey& key,
                              const ReadView& view) noexcept {
  const VersionWalk walk = LookupEntry(pool, newest, view);
  if (walk.corrupt_at != 0) return LookupResult::Corrupt(walk.corrupt_at);
  if (walk.entry == nullptr) return {};
  const uint64_t offset = pool.OffsetOf(walk.entry);
  if (!KeyIsIntact(pool, *walk.entry, offset, key.hash)) return LookupResult::Corrupt(offset);
  return LookupResult::Of(*walk.entry, offset);
}

}  // namespace

LookupResult LookupInTree(const pool::PmemPool& pool, const EntryIndex& tree, const LookupKey& key,
                          const ReadView& view) noexcept {
  const uint64_t newest = tree.Find(key.key);
  if (newest == 0) return {};
  // Side by side: header, key and the begin of the value, which are read one after the other.
  base::PrefetchRange(pool.At(newest), kLikelyEntryBytes);
  return LookupFromNewest(pool, newest, key, view);
}

void LookupManyInTree(const pool::PmemPool& pool, const EntryIndex& tree, const LookupKey* keys,
                      size_t n, const ReadView& view, LookupResult* out) noexcept {
  BRAID_DCHECK(n <= kManyLookups);
  std::array<std::string_view, kManyLookups> texts;
  std::array<uint64_t, kManyLookups> newest;
  for (size_t i = 0; i < n; ++i) texts[i] = keys[i].key;
  tree.FindMany(texts.data(), newest.data(), n);
  for (size_t i = 0; i < n; ++i) {
    if (newest[i] != 0) base::PrefetchRange(pool.At(newest[i]), kLikelyEntryBytes);
  }
  for (size_t i = 0; i < n; ++i) {
    out[i] = newest[i] == 0 ? LookupResult{} : LookupFromNewest(pool, newest[i], keys[i], view);
  }
}

namespace {

/// Iterates over offsets that it copies from the index many at a time, and fetches the entries
/// ahead of the one it stands on: they lie anywhere in the pool, and a walk that waits for one
/// after the other takes a miss an entry. A key is enough to go on, whatever happened to the tree.
class TreeCursor final : public Cursor {
 public:
  TreeCursor(const pool::PmemPool* pool, std::shared_ptr<const EntryIndex> tree,
             const ReadView& view, std::atomic<uint64_t>* passed)
      : pool_(pool),
        tree_(std::move(tree)),
        view_(view),
        passed_(passed),
        likely_bytes_(tree_->likely_entry_bytes()) {}
  TreeCursor(const TreeCursor&) = delete;
  TreeCursor& operator=(const TreeCursor&) = delete;
  ~TreeCursor() override {
    TellPassed();
    tree_->ExpectEntries(likely_bytes_);
  }

  void ExpectShare(double share) override {
    BRAID_DCHECK(share >= 0 && share <= 1 && !Valid());
    first_ahead_ = std::max(static_cast<size_t>(share * kAhead), kLeastAhead);
    first_copy_ = std::max(static_cast<size_t>(share * kFirstCopy), kLeastCopy);
  }
  bool Valid() const override { return item_.entry != nullptr; }
  void SeekToFirst() override {
    Begin(true);
    Load(tree_->ScanFromStart(refs_, copy_));
  }
  void SeekToLast() override {
    Begin(false);
    Load(tree_->ScanFromEnd(refs_, copy_));
  }
  void SeekGE(std::string_view key) override { Restart(key, true, true); }
  void SeekLE(std::string_view key) override { Restart(key, true, false); }
  void Next() override { Step(true); }
  void Prev() override { Step(false); }
  size_t Run(bool forward, CursorItem* out, size_t cap) override {
    BRAID_DCHECK(Valid());
    ahead_ = AheadOf(std::min(2 * ahead_, kAhead));
    for (size_t n = 0;;) {
      if (forward == forward_) n += RunOfNewest(out + n, cap - n);
      if (n == cap) return n;
      Step(forward);
      if (item_.entry == nullptr) return n;
      out[n++] = item_;
    }
  }
  const CursorItem& item() const override { return item_; }
  Status status() const override { return status_; }

 private:
  /// Offsets copied at a time: at first enough for a scan of 50 with what is read ahead, then as
  /// many as make a descent through the tree cheap. Of the first a share, where it is shared.
  static constexpr size_t kFirstCopy = 80;
  static constexpr size_t kLeastCopy = 12;
  static constexpr size_t kCopy = 192;
  /// Entries fetched ahead: as many misses as a core has under way, and some more. Measured
  /// (docs/internals/decisions/0010): 8 to 24 are equal. At first a share.
  static constexpr size_t kAhead = 16;
  static constexpr size_t kLeastAhead = 3;
  static_assert(kLeastAhead < kLeastCopy && kAhead < kFirstCopy);
  /// Of large entries so many together, so that none is gone when its turn comes.
  static constexpr uint64_t kMaxBytesAhead = 96 * 64;
  /// Behind an entry: who compares or copies its value loads a vector, which ends there.
  static constexpr uint64_t kVectorBytes = 32;

  void TellPassed() {
    BRAID_DCHECK(position_ <= count_);
    // Relaxed: a statistic, ordered with nothing.
    if (passed_ != nullptr && position_ != 0) {
      passed_->fetch_add(position_, std::memory_order_relaxed);
    }
  }

  /// `entries`, or as many as are not too many bytes.
  size_t AheadOf(size_t entries) const {
    return std::clamp(kMaxBytesAhead / likely_bytes_, kLeastAhead, std::max(entries, kLeastAhead));
  }

  void Begin(bool forward) {
    TellPassed();
    forward_ = forward;
    ahead_ = AheadOf(first_ahead_);
    copy_ = first_copy_;
  }

  void Restart(std::string_view key, bool inclusive, bool forward) {
    Begin(forward);
    Load(Copy(key, inclusive, refs_, copy_));
  }

  size_t Copy(std::string_view key, bool inclusive, uint64_t* out, size_t cap) const {
    return forward_ ? tree_->ScanForward(key, inclusive, out, cap)
                    : tree_->ScanBackward(key, inclusive, out, cap);
  }

  void Load(size_t count) {
    BRAID_DCHECK(count <= kFirstCopy);
    status_ = Status::OK();
    count_ = count;
    position_ = 0;
    last_copied_ = 0;
    at_end_ = count == 0;
    for (fetched_ = 0; fetched_ < std::min(count, ahead_); ++fetched_) Fetch(refs_[fetched_]);
    SettleFrom();
  }

  void Step(bool forward) {
    if (forward != forward_) {
      const std::string from(item_.key);
      Restart(from, false, forward);
      return;
    }
    ++position_;
    SettleFrom();
  }

  /// The lines of an entry that is as large as the one before. Neighbours share lines.
  void Fetch(uint64_t offset) {
    const uint64_t end = offset + likely_bytes_ + kVectorBytes;
    uint64_t line = offset & ~63ull;
    if (fetched_line_ - line <= 64) line = fetched_line_ + 64;
    for (; line < end; line += 64) base::Prefetch(pool_->At(line));
    fetched_line_ = line - 64;
  }

  /// So that the walk ends whatever becomes of keys in a hostile pool.
  bool IsFarther(std::string_view key, std::string_view than) const {
    const int order = key.compare(than);
    return forward_ ? order > 0 : order < 0;
  }

  /// Copies what comes behind what is left, which is at most kAhead. at_end_ when there is none,
  /// and when the way is lost.
  void Refill() {
    // What comes next is found by a key in the pool; where that is lost the walk would not end.
    if (pool_->failed()) status_ = pool_->FaultStatus();
    if (!status_.ok()) {
      at_end_ = true;
      return;
    }
    BRAID_DCHECK(count_ != 0 && position_ <= count_ && count_ - position_ <= kAhead);
    BRAID_DCHECK(position_ <= fetched_ && fetched_ <= count_);
    const uint64_t last = refs_[count_ - 1];
    TellPassed();
    std::copy(refs_ + position_, refs_ + count_, refs_);
    count_ -= position_;
    fetched_ -= position_;
    position_ = 0;
    const std::string_view key = EntryKeyOf(pool_)(last);
    // Now, since it is in the cache: the last of a copy lies far ahead when it comes.
    if (last_copied_ != 0 && !IsFarther(key, EntryKeyOf(pool_)(last_copied_))) {
      status_ = pool_->CorruptionAt(last, "entry", "its key is out of order");
      at_end_ = true;
      return;
    }
    last_copied_ = last;
    copy_ = std::min(4 * copy_, kCopy);
    const size_t more = Copy(key, false, refs_ + count_, copy_);
    BRAID_DCHECK(more <= copy_);
    at_end_ = more == 0;
    count_ += more;
  }

  /// Makes item_ the first visible version from position_ on, refilling as needed.
  void SettleFrom() {
    item_ = {};
    for (;; ++position_) {
      if (position_ + ahead_ >= count_ && !at_end_) Refill();
      if (position_ >= count_ || !status_.ok()) return;
      for (; fetched_ < std::min(position_ + ahead_, count_); ++fetched_) Fetch(refs_[fetched_]);
      const EntryHeader* newest = pool_->EntryAt(refs_[position_]);
      if (newest != nullptr && view_.Sees(*newest) && Stand(newest)) [[likely]]
        return;
      const VersionWalk walk = LookupEntry(*pool_, refs_[position_], view_);
      if (walk.corrupt_at != 0) {
        status_ = pool_->CorruptionAt(walk.corrupt_at, "version link", "its check does not match");
        return;
      }
      if (walk.entry == nullptr) continue;
      if (Stand(walk.entry)) return;
      status_ =
          pool_->CorruptionAt(pool_->OffsetOf(walk.entry), "entry", "it is no entry any more");
      return;
    }
  }

  /// Steps over what is copied already, as long as the view sees the newest version of each key.
  size_t RunOfNewest(CursorItem* out, size_t cap) {
    BRAID_DCHECK(Valid() && position_ < count_);
    // As SettleFrom: where fewer are left, more is copied first.
    const size_t left = at_end_ ? count_ : count_ - std::min(count_, ahead_);
    const size_t steps = std::min(cap, left - std::min(left, position_ + 1));
    const size_t fetch_end = std::min(fetched_ + steps, count_);
    // Neighbours mostly lie in one chunk; what it holds does not change in an epoch.
    const uint64_t chunk_bytes = pool_->chunk_bytes();
    uint64_t chunk = pool_->OffsetOf(item_.entry) & ~(chunk_bytes - 1);
    const uint64_t* refs = refs_ + position_ + 1;
    size_t n = 0;
    for (; n < steps; ++n) {
      // One after the other: of many at once most would be dropped.
      if (fetched_ < fetch_end) Fetch(refs_[fetched_++]);
      if (refs[n] - chunk >= chunk_bytes) [[unlikely]] {
        if (pool_->EntryAt(refs[n]) == nullptr) break;
        chunk = refs[n] & ~(chunk_bytes - 1);
      }
      const uint64_t room = chunk + chunk_bytes - refs[n];
      if (!format::EntryWithin(pool_->At(refs[n]), room, &out[n])) break;
      if (!view_.Sees(*out[n].entry)) break;
    }
    if (n != 0) {
      position_ += n;
      Stand(out[n - 1]);
    }
    return n;
  }

  /// False when its bytes are no entry any more.
  bool Stand(const EntryHeader* entry) {
    if (!pool_->View(entry, &item_)) return false;
    ExpectAlike();
    return true;
  }
  void Stand(const CursorItem& item) {
    item_ = item;
    ExpectAlike();
  }
  void ExpectAlike() {
    const auto* begin = reinterpret_cast<const char*>(item_.entry);
    const auto bytes = static_cast<uint64_t>(item_.value.data() + item_.value.size() - begin);
    likely_bytes_ = std::min(bytes, kMostFetched);
  }

  const pool::PmemPool* pool_;
  std::shared_ptr<const EntryIndex> tree_;
  ReadView view_;
  std::atomic<uint64_t>* const passed_;  // may be null
  uint64_t refs_[kCopy + kAhead];
  uint64_t last_copied_ = 0;  // by the copy before the last; 0: there was none
  size_t count_ = 0;
  size_t position_ = 0;
  size_t fetched_ = 0;  // refs before this one
  size_t first_ahead_ = kAhead;
  size_t first_copy_ = kFirstCopy;
  size_t ahead_ = kAhead;
  size_t copy_ = kFirstCopy;
  bool at_end_ = true;  // nothing comes behind refs_
  bool forward_ = true;
  uint64_t likely_bytes_;
  uint64_t fetched_line_ = 0;  // the last one
  CursorItem item_{};
  Status status_;
};

}  // namespace

std::unique_ptr<Cursor> NewTreeCursor(const pool::PmemPool* pool,
                                      std::shared_ptr<const EntryIndex> tree, const ReadView& view,
                                      std::atomic<uint64_t>* passed) {
  return std::make_unique<TreeCursor>(pool, std::move(tree), view, passed);
}

}  // namespace braid::index
