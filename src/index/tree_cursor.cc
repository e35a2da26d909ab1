// Purpose: cursors over the keys of trees.
// Thread safety, persistence: see tree_cursor.h.
#include "index/tree_cursor.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/prefetch.h"
#include "index/entry_tree.h"

namespace braid::index {

using format::EntryHeader;

namespace {

/// Iterates over offsets that it copies from the trees many at a time, and fetches the entries
/// ahead of the one it stands on: they lie anywhere in the pool, and a walk that waits for one
/// after the other takes a miss an entry. A key is enough to go on, whatever happened to the trees.
class TreeCursor final : public Cursor {
 public:
  TreeCursor(const pool::PmemPool* pool, std::vector<TreeSource> sources, const ReadView& view)
      : pool_(pool),
        merge_(pool, std::move(sources)),
        view_(view),
        likely_bytes_(merge_.main().likely_entry_bytes()) {
    BRAID_CHECK(merge_.sources() <= kMostSources);
  }
  TreeCursor(const TreeCursor&) = delete;
  TreeCursor& operator=(const TreeCursor&) = delete;
  ~TreeCursor() override {
    TellPassed();
    merge_.main().ExpectEntries(likely_bytes_);
  }

  void ExpectShare(double share) override {
    BRAID_DCHECK(share >= 0 && share <= 1 && !Valid());
    first_ahead_ = std::max(static_cast<size_t>(share * kAhead), kLeastAhead);
    first_copy_ = std::max(static_cast<size_t>(share * kFirstCopy), kLeastCopy);
  }
  bool Valid() const override { return item_.entry != nullptr; }
  void SeekToFirst() override { Begin({true, true, true, {}}); }
  void SeekToLast() override { Begin({false, true, true, {}}); }
  void SeekGE(std::string_view key) override { Begin({true, false, true, key}); }
  void SeekLE(std::string_view key) override { Begin({false, false, true, key}); }
  void Next() override { Step(true); }
  void Prev() override { Step(false); }
  size_t Run(bool forward, CursorItem* out, size_t cap) override {
    BRAID_DCHECK(Valid());
    ahead_ = AheadOf(std::min(2 * ahead_, most_ahead_));
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
  /// Entries fetched ahead where they lie in the order of the keys, at first a share. Measured
  /// (docs/internals/decisions/0010): 8 to 24 are equal.
  static constexpr size_t kAhead = 16;
  /// And where they lie anywhere: so many, so many of them at once, and then so many with each
  /// step. Of more most are dropped (docs/internals/decisions/0076).
  static constexpr size_t kScatteredAhead = 8;
  static constexpr size_t kScatteredBurst = 4;
  static constexpr size_t kLeastAhead = 3;
  static_assert(kLeastAhead < kLeastCopy && kAhead < kFirstCopy && kMostSources <= kCopy);
  /// What follows another entry within so many bytes is in order behind it.
  static constexpr uint64_t kNear = 4096;
  /// Of large entries so many together, so that none is gone when its turn comes.
  static constexpr uint64_t kMaxBytesAhead = 96 * 64;
  /// Behind an entry: who compares or copies its value loads a vector, which ends there.
  static constexpr uint64_t kVectorBytes = 32;

  void TellPassed() {
    BRAID_DCHECK(position_ <= count_);
    merge_.TellPassed(count_ - position_);
  }

  /// `entries`, or as many as are not too many bytes.
  size_t AheadOf(size_t entries) const {
    return std::clamp(kMaxBytesAhead / likely_bytes_, kLeastAhead, std::max(entries, kLeastAhead));
  }

  static uint64_t OffsetIn(uint64_t ref) { return ref & ~TreeMerge::kOlder; }
  static bool IsOlder(uint64_t ref) { return (ref & TreeMerge::kOlder) != 0; }

  void Begin(const ScanStart& start) {
    TellPassed();
    forward_ = start.forward;
    copy_ = std::max(first_copy_, merge_.sources());
    count_ = merge_.Seek(start, refs_, copy_);
    BRAID_DCHECK(count_ <= copy_);
    status_ = merge_.status();
    at_end_ = count_ == 0;
    position_ = fetched_.count = 0;
    const bool scattered = AreScattered();
    most_ahead_ = scattered ? kScatteredAhead : kAhead;
    ahead_ = AheadOf(std::min(first_ahead_, most_ahead_));
    const size_t burst = std::min(ahead_, scattered ? kScatteredBurst : ahead_);
    while (fetched_.count < std::min(count_, burst)) {
      FetchNext(&fetched_, pool_->At(0), BytesToFetch());
    }
    SettleFrom(false);
  }

  /// Judged by the first two of them.
  bool AreScattered() const {
    if (count_ < 2) return false;
    const uint64_t distance = OffsetIn(refs_[1]) - OffsetIn(refs_[0]) + kNear;
    return distance > 2 * kNear;
  }

  void Step(bool forward) {
    if (forward != forward_) {
      const std::string from(item_.key);
      Begin({forward, false, false, from});
      return;
    }
    ++position_;
    SettleFrom(true);
  }

  /// What was asked for so far: a value, so that a loop has it in registers.
  struct Fetched {
    size_t count = 0;   // refs before this one
    uint64_t line = 0;  // the last one
  };

  /// Asks for the next one: the lines of an entry that is as large as the one before. Neighbours
  /// share lines.
  void FetchNext(Fetched* fetched, const char* pool, uint64_t bytes) const {
    const uint64_t ref = refs_[fetched->count++];
    if (IsOlder(ref) && !meets_unseen_) return;
    const uint64_t offset = OffsetIn(ref);
    const uint64_t end = offset + bytes;
    uint64_t line = offset & ~63ull;
    if (fetched->line - line <= 64) line = fetched->line + 64;
    for (; line < end; line += 64) base::Prefetch(pool + line);
    fetched->line = line - 64;
  }
  /// Of each entry.
  uint64_t BytesToFetch() const { return likely_bytes_ + kVectorBytes; }

  /// Asks for some of what lies ahead of `position`, and at least for what comes next.
  void FetchOn(size_t position, Fetched* fetched, const char* pool, uint64_t bytes) const {
    const size_t end = std::min(position + ahead_, count_);
    if (fetched->count >= end) return;
    FetchNext(fetched, pool, bytes);
    // Two a step, until it is far enough ahead.
    if (fetched->count < end) FetchNext(fetched, pool, bytes);
    BRAID_DCHECK(fetched->count > position);
  }

  /// Copies what comes behind what is left, which is at most kAhead. at_end_ when there is none,
  /// and when the way is lost.
  void Refill() {
    BRAID_DCHECK(position_ <= count_ && count_ - position_ <= kAhead);
    BRAID_DCHECK(position_ <= fetched_.count && fetched_.count <= count_);
    TellPassed();
    std::copy(refs_ + position_, refs_ + count_, refs_);
    count_ -= position_;
    fetched_.count -= position_;
    position_ = 0;
    const size_t more = merge_.Next(refs_ + count_, copy_);
    BRAID_DCHECK(more <= copy_);
    // As many again are enough for most of the scans that the first were not enough for.
    copy_ = std::min(4 * copy_, kCopy);
    most_ahead_ = kAhead;
    if (!merge_.status().ok()) status_ = merge_.status();
    at_end_ = more == 0;
    count_ += more;
  }

  /// Makes item_ the first visible version from position_ on, refilling as needed. `is_shown`: that
  /// of the key before it is one that was shown.
  void SettleFrom(bool is_shown) {
    item_ = {};
    for (;; ++position_) {
      if (position_ + ahead_ >= count_ && !at_end_) Refill();
      if (position_ >= count_ || !status_.ok()) return;
      FetchOn(position_, &fetched_, pool_->At(0), BytesToFetch());
      const uint64_t ref = refs_[position_];
      if (!IsOlder(ref)) {
        is_shown = false;
      } else if (is_shown) {
        continue;
      }
      const EntryHeader* newest = pool_->EntryAt(OffsetIn(ref));
      if (newest != nullptr && view_.Sees(*newest) && Stand(newest)) [[likely]]
        return;
      const VersionWalk walk = LookupEntry(*pool_, OffsetIn(ref), view_);
      if (walk.corrupt_at != 0) {
        status_ = pool_->CorruptionAt(walk.corrupt_at, "version link", "its check does not match");
        return;
      }
      if (walk.entry == nullptr) {
        meets_unseen_ = true;
        continue;
      }
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
    const size_t end = at_end_ ? count_ : count_ - std::min(count_, ahead_);
    // Neighbours mostly lie in one chunk; what it holds does not change in an epoch.
    const uint64_t chunk_bytes = pool_->chunk_bytes();
    uint64_t chunk = pool_->OffsetOf(item_.entry) & ~(chunk_bytes - 1);
    const char* const pool = pool_->At(0);
    const uint64_t bytes = BytesToFetch();
    const ReadView view = view_;
    Fetched fetched = fetched_;
    size_t n = 0;
    size_t at = position_ + 1;
    for (; n < cap && at < end; ++at) {
      FetchOn(at, &fetched, pool, bytes);
      const uint64_t ref = refs_[at];
      if (IsOlder(ref)) continue;  // than what was shown
      if (ref - chunk >= chunk_bytes) [[unlikely]] {
        if (pool_->EntryAt(ref) == nullptr) break;
        chunk = ref & ~(chunk_bytes - 1);
      }
      if (!format::EntryWithin(pool + ref, chunk + chunk_bytes - ref, &out[n])) break;
      if (!view.Sees(*out[n].entry)) break;
      ++n;
    }
    position_ = at - 1;
    fetched_ = fetched;
    if (n != 0) Stand(out[n - 1]);
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
  TreeMerge merge_;
  ReadView view_;
  uint64_t refs_[kCopy + kAhead];
  size_t count_ = 0;
  size_t position_ = 0;
  Fetched fetched_;
  size_t first_ahead_ = kAhead;
  size_t first_copy_ = kFirstCopy;
  size_t most_ahead_ = kAhead;
  size_t ahead_ = kAhead;
  size_t copy_ = kFirstCopy;
  bool at_end_ = true;         // nothing comes behind refs_
  bool meets_unseen_ = false;  // keys that were written to since the view: older ones are wanted
  bool forward_ = true;
  uint64_t likely_bytes_;
  CursorItem item_{};
  Status status_;
};

}  // namespace

std::unique_ptr<Cursor> NewTreeCursor(const pool::PmemPool* pool, std::vector<TreeSource> sources,
                                      const ReadView& view) {
  return std::make_unique<TreeCursor>(pool, std::move(sources), view);
}

}  // namespace braid::index
