// Purpose: the merge of cursors.
// Thread safety, invariants, persistence: see merging_iterator.h.
#include "level/merging_iterator.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/compare.h"

namespace braid::level {

using format::EntryOp;
using index::Cursor;
using index::CursorItem;

namespace {
/// Steps of the runs of a cursor after it was placed, the last for good, and so of batches:
/// together with the place itself 59, for the usual scan of 50. Where there are several cursors
/// each gives a part of that.
constexpr std::array<uint8_t, 4> kRuns{2, 8, 16, MergingIterator::kRun};
constexpr std::array<uint8_t, 5> kSharedRuns{2, 4, 8, 16, MergingIterator::kRun};
static_assert(std::accumulate(kRuns.begin(), kRuns.end(), 1) == 59);

template <size_t n>
size_t StepsOf(const std::array<uint8_t, n>& runs, size_t i) {
  return runs[std::min(i, n - 1)];
}

/// Runs of larger entries are shorter: so many bytes, and two entries at least. What is fetched
/// ahead of a longer one is dropped, or has left the nearest cache, before its value is read
/// (docs/internals/decisions/0074).
constexpr uint64_t kLargeEntry = 256;
constexpr uint64_t kBytesOfLarge = 2048;
constexpr size_t kFewestOfLarge = 2;

/// Of entries such as `item`, at most `steps`.
size_t RunOf(const CursorItem& item, size_t steps) {
  const uint64_t bytes = item.key.size() + item.value.size();
  if (bytes <= kLargeEntry) [[likely]]
    return steps;
  return std::min(steps, std::max(kBytesOfLarge / bytes, kFewestOfLarge));
}

/// Deleted keys that a batch which has something to show passes on its way to more.
constexpr size_t kPassedInBatch = 16;
}  // namespace

MergingIterator::MergingIterator(std::vector<std::unique_ptr<Cursor>> cursors, Resolve resolve,
                                 Below below)
    : cursors_(std::move(cursors)),
      room_(std::make_unique_for_overwrite<std::byte[]>(
          kRun * sizeof(CursorItem) +
          (cursors_.size() + (below.moves != nullptr ? 1 : 0)) * sizeof(Head))),
      resolve_(std::move(resolve)),
      below_(std::move(below)) {
  if (HasBelow()) {
    cursors_.emplace_back();
    RenewBelow();
  }
  order_.reserve(cursors_.size());
}

/// The number first: a move that begins behind that is met again.
void MergingIterator::RenewBelow() {
  moves_seen_ = below_.moves->load();
  cursors_.back() = below_.renew();
  BRAID_CHECK(cursors_.back() != nullptr);
}

void MergingIterator::NoteStart(Start::At at, std::string_view key) {
  if (!HasBelow()) return;
  start_.at = at;
  start_.key.assign(key);
}

/// Lets the lowest cursor forget what neither the order nor the next batch has a use for.
void MergingIterator::ForgetBelow() {
  Head& head = HeadOf(cursors_.size() - 1);
  cursors_.back()->Forget(head.at < head.count ? head.count - head.at : 0);
}

/// All cursors, at where the batch begins, the lowest one remade.
void MergingIterator::PlaceAtStart() {
  RenewBelow();
  const std::string_view key = start_.key;
  const bool forward = forward_;
  PlaceAll(forward, [&](Cursor& cursor) {
    switch (start_.at) {
      case Start::At::kFirst:
        return cursor.SeekToFirst();
      case Start::At::kLast:
        return cursor.SeekToLast();
      case Start::At::kKey:
      case Start::At::kBehindKey:
        return forward ? cursor.SeekGE(key) : cursor.SeekLE(key);
    }
  });
  if (start_.at == Start::At::kBehindKey) PassKey(key);
}

/// The next batch; where there is a lowest source, once more until it counts (invariant 6).
void MergingIterator::FillBatch() {
  if (!HasBelow()) return MergeBatch();
  if (count_ != 0) NoteStart(Start::At::kBehindKey, batch()[count_ - 1].key);
  const uint64_t passed = passed_;
  for (;;) {
    ForgetBelow();
    MergeBatch();
    if (below_.moves->load() == moves_seen_) return;
    passed_ = passed;
    PlaceAtStart();
  }
}

MergingIterator::Place MergingIterator::PlaceOf(Head* head) {
  const std::string_view key = head->item().key;
  return {head, {base::WordAt(key, 0), base::WordAt(key, sizeof(uint64_t))}};
}

int MergingIterator::CompareKeys(const Place& a, const Place& b) {
  for (size_t i = 0; i < std::size(a.words); ++i) {
    if (a.words[i] != b.words[i]) return a.words[i] < b.words[i] ? -1 : 1;
  }
  const std::string_view left = a.item().key;
  const std::string_view right = b.item().key;
  if (left.size() == right.size() && left.size() <= sizeof a.words) return 0;
  return base::CompareBytes(left, right);
}

/// Key by key in the direction; versions of one, newest first.
bool MergingIterator::ComesBefore(const Place& a, const Place& b) const {
  const int order = CompareKeys(a, b);
  if (order == 0) return a.item().entry->sequence() > b.item().entry->sequence();
  return (order < 0) == forward_;
}

bool MergingIterator::IsOutside(std::string_view key) const {
  return forward_ ? upper_ && base::CompareBytes(key, *upper_) >= 0
                  : lower_ && base::CompareBytes(key, *lower_) < 0;
}

template <class Put>
void MergingIterator::PlaceAll(bool forward, Put&& put) {
  forward_ = forward;
  status_ = Status::OK();
  ended_ = false;
  order_.clear();
  batches_ = 0;
  taken_ = 0;
  for (size_t i = 0; i < cursors_.size(); ++i) {
    Cursor& cursor = *cursors_[i];
    Head& head = HeadOf(i);
    put(cursor);
    head.cursor = &cursor;
    head.at = 0;
    head.count = 1;
    head.runs = 0;
    if (cursor.Valid()) {
      head.run[0] = cursor.item();
      order_.push_back(PlaceOf(&head));
    } else {
      CheckEnd(head);
    }
  }
  std::sort(order_.begin(), order_.end(),
            [this](const Place& a, const Place& b) { return ComesBefore(a, b); });
}

/// A table that stopped at damage could hide keys; nothing after it may be shown.
void MergingIterator::CheckEnd(const Head& head) {
  Status s = head.cursor->status();
  if (s.ok()) return;
  status_ = std::move(s);
  ended_ = true;
}

/// To what the cursor comes to next. False at its end.
bool MergingIterator::Advance(Head* head) {
  if (++head->at < head->count) return true;
  const size_t most =
      order_.size() == 1 ? StepsOf(kRuns, head->runs) : StepsOf(kSharedRuns, head->runs);
  const size_t steps = RunOf(head->run[head->count - 1], most);
  head->at = 0;
  ++head->runs;
  // It is not valid any more when the run before was cut short.
  head->count = head->cursor->Valid() ? head->cursor->Run(forward_, head->run.data(), steps) : 0;
  BRAID_DCHECK(head->count <= steps);
  if (head->count != 0) return true;
  CheckEnd(*head);
  return false;
}

/// Puts order_[i] where it belongs among those behind it, which are in order. Few: a heap would
/// cost more than it saves.
void MergingIterator::Sift(size_t i) {
  const Place place = PlaceOf(order_[i].head);
  for (; i + 1 < order_.size() && ComesBefore(order_[i + 1], place); ++i) {
    order_[i] = order_[i + 1];
  }
  order_[i] = place;
}

/// Moves the first `heads` of the order by one.
void MergingIterator::Pass(size_t heads) {
  for (size_t i = heads; i-- > 0;) {
    if (Advance(order_[i].head)) {
      Sift(i);
    } else {
      order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

/// Where the only cursor left stands on the last entry of the batch: takes a run of it into the
/// batch as it is, and stands on the last one again. False where that is not so.
bool MergingIterator::RunOn() {
  if (order_.size() != 1 || taken_ != 1) return false;
  Head& head = *order_.front().head;
  if (head.at + 1 != head.count) return false;
  CursorItem* const run = batch() + count_;
  // Of deletes it takes many to fill a batch: what was read so far, not what is missing, says how
  // far.
  const size_t steps = RunOf(head.item(), std::min(StepsOf(kRuns, head.runs++), kRun - count_));
  const size_t n = head.cursor->Valid() ? head.cursor->Run(forward_, run, steps) : 0;
  BRAID_DCHECK(steps > 0 && n <= steps);
  if (n == 0) {
    CheckEnd(head);
    order_.clear();
    taken_ = 0;
    return true;
  }
  head.run[0] = run[n - 1];
  head.at = 0;
  head.count = 1;
  // In order: none is outside, unless the last one is.
  size_t end = n;
  while (end > 0 && IsOutside(run[end - 1].key)) --end;
  if (end < n) ended_ = true;
  // Mostly there are no deletes among them, and each is where it belongs.
  size_t i = 0;
  while (i < end && run[i].entry->op() != EntryOp::kDelete) ++i;
  count_ += i;
  for (; i < end; ++i) Show(run[i]);
  return true;
}

/// Merges what comes next into the batch: one entry at least, unless the end is reached. Cursors
/// that stand on its last one move when more is wanted: a scan that has ended has no use for what
/// they come to then.
void MergingIterator::MergeBatch() {
  at_ = count_ = 0;
  size_t cap = batches_ == 0 ? 1 : StepsOf(kRuns, batches_ - 1);
  if (!order_.empty()) cap = RunOf(order_.front().item(), cap);
  ++batches_;
  const uint64_t passed = passed_;
  while (count_ < cap) {
    if (passed_ - passed > kPassedInBatch && count_ != 0) return;
    const bool ran = RunOn();
    if (!ran) Pass(std::exchange(taken_, 0));
    if (ended_ || order_.empty()) {
      ended_ = true;
      return;
    }
    if (ran) continue;
    const CursorItem item = order_.front().item();
    if (IsOutside(item.key)) {
      ended_ = true;
      return;
    }
    taken_ = 1;
    while (taken_ < order_.size() && CompareKeys(order_[taken_], order_.front()) == 0) ++taken_;
    // Invariant 4: the newest of them is the first.
    Show(item);
    if (taken_ == 1 && order_.size() > 1) TakeOn(cap);
  }
}

void MergingIterator::Show(const CursorItem& item) {
  if (item.entry->op() == EntryOp::kDelete) {
    ++passed_;
  } else {
    batch()[count_++] = item;
  }
}

/// Takes what the first cursor has read already, as far as it comes before where the second one
/// stands: a comparison an entry, while most of what there is comes from one source.
void MergingIterator::TakeOn(size_t cap) {
  BRAID_DCHECK(taken_ == 1 && order_.size() > 1);
  Head& head = *order_[0].head;
  for (; count_ < cap && head.at + 1 < head.count; Show(head.item())) {
    ++head.at;
    const Place place = PlaceOf(&head);
    const int order = CompareKeys(place, order_[1]);
    if (order == 0 || (order < 0) != forward_ || IsOutside(head.item().key)) {
      --head.at;
      return;
    }
    order_[0] = place;
  }
}

/// Invariant 5.
bool MergingIterator::IsMarkedElsewhere(const format::EntryHeader& entry) const noexcept {
  if (!AnyMarkedElsewhere() || !copied_.pool->Holds(&entry)) return false;
  const pool::PmemPool& pool = *copied_.pool;
  const uint64_t chunk = pool.ChunkOf(pool.OffsetOf(&entry));
  if (pool.StateOf(chunk).kind() != format::ChunkKind::kWriteAhead) return false;
  if (entry.has(format::kValueInExtent)) return false;  // it is linked where it is
  const auto* header =
      reinterpret_cast<const format::LogChunkHeader*>(pool.At(pool.ChunkOffset(chunk)));
  return header->table_id <= copied_.merged_up_to->load(std::memory_order_relaxed);
}

size_t MergingIterator::CountMarkedHere(std::span<const CursorItem> items) const noexcept {
  size_t n = 0;
  while (n < items.size() && !IsMarkedElsewhere(*items[n].entry)) ++n;
  BRAID_DCHECK(n <= items.size());
  return n;
}

/// Stands on the first entry from here on that the view sees.
void MergingIterator::Land() {
  for (;; ++at_) {
    looked_up_.reset();
    if (at_ >= count_) {
      // The end of a batch may be damage that was met beyond it.
      if (!ended_) FillBatch();
      if (at_ >= count_) {
        valid_ = false;
        return;
      }
    }
    valid_ = true;
    const format::EntryHeader& entry = *batch()[at_].entry;
    // In this order: a chunk that a flush keeps gets its marks before its kind.
    if (!IsMarkedElsewhere(entry) && entry.state() != format::kStateObsolete) return;
    looked_up_ = resolve_(batch()[at_].key, &status_);
    if (looked_up_.has_value()) return;
    valid_ = false;
    if (!status_.ok()) {
      ended_ = true;
      return;
    }
    ++passed_;
  }
}

void MergingIterator::Seek(bool forward, Start::At at, std::string_view key) {
  forward_ = forward;
  NoteStart(at, key);
  if (HasBelow()) {
    key = start_.key;  // it may be one that the lowest cursor has come to
    if (below_.moves->load() != moves_seen_) RenewBelow();
  }
  PlaceAll(forward, [&](Cursor& cursor) {
    if (at == Start::At::kFirst) return cursor.SeekToFirst();
    if (at == Start::At::kLast) return cursor.SeekToLast();
    forward ? cursor.SeekGE(key) : cursor.SeekLE(key);
  });
  at_ = count_ = 0;
  Land();
}

void MergingIterator::SeekToFirst() { Seek(true, Start::At::kFirst, {}); }

void MergingIterator::SeekToLast() { Seek(false, Start::At::kLast, {}); }

void MergingIterator::SeekGE(std::string_view key) { Seek(true, Start::At::kKey, key); }

void MergingIterator::SeekLE(std::string_view key) { Seek(false, Start::At::kKey, key); }

void MergingIterator::Step(bool forward) {
  BRAID_DCHECK(valid_);
  if (forward != forward_) {
    SwitchDirection(forward);
  } else {
    ++at_;
  }
  Land();
}

/// To before what comes behind its key in the other direction.
void MergingIterator::SwitchDirection(bool forward) {
  const std::string key(this->key());
  NoteStart(Start::At::kBehindKey, key);
  if (HasBelow() && below_.moves->load() != moves_seen_) RenewBelow();
  PlaceAll(forward, [&](Cursor& cursor) { forward ? cursor.SeekGE(key) : cursor.SeekLE(key); });
  at_ = count_ = 0;
  PassKey(key);
}

/// The cursors that stand on the key have had their turn.
void MergingIterator::PassKey(std::string_view key) {
  while (taken_ < order_.size() && order_[taken_].item().key == key) ++taken_;
}

}  // namespace braid::level
