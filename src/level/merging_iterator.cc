// Purpose: the merge of cursors.
// Thread safety, invariants, persistence: see merging_iterator.h.
#include "level/merging_iterator.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/check.h"

namespace braid::level {

using format::EntryOp;
using index::Cursor;
using index::CursorItem;

namespace {
/// Steps of the runs after a cursor was placed, the last for good: together with the place itself
/// 59, for the usual scan of 50.
constexpr std::array<size_t, 4> kRuns{2, 8, 16, MergingIterator::kRun};
static_assert(std::is_sorted(kRuns.begin(), kRuns.end()));  // so that all fit a head
static_assert(std::accumulate(kRuns.begin(), kRuns.end(), size_t{1}) == 59);
}  // namespace

template <class Place>
void MergingIterator::PlaceAll(bool forward, Place&& place) {
  forward_ = forward;
  damaged_ = false;
  leader_ = nullptr;
  live_.clear();
  for (size_t i = 0; i < cursors_.size(); ++i) {
    Cursor& cursor = *cursors_[i];
    Head& head = HeadOf(i);
    place(cursor);
    head.cursor = &cursor;
    head.at = 0;
    head.count = 1;
    head.runs = 0;
    if (cursor.Valid()) {
      head.run[0] = cursor.item();
      live_.push_back(&head);
    } else {
      CheckEnd(head);
    }
  }
}

/// A table that stopped at damage could hide keys; nothing after it may be shown.
void MergingIterator::CheckEnd(const Head& head) {
  Status s = head.cursor->status();
  if (s.ok()) return;
  status_ = std::move(s);
  damaged_ = true;
}

/// To what the cursor comes to next. False at its end.
bool MergingIterator::Advance(Head* head) {
  if (++head->at < head->count) return true;
  head->at = 0;
  // It is not valid any more when the run before was cut short.
  BRAID_DCHECK(head->cursor != nullptr);
  const size_t steps = kRuns[std::min(head->runs++, kRuns.size() - 1)];
  head->count = head->cursor->Valid() ? head->cursor->Run(forward_, head->run.data(), steps) : 0;
  BRAID_DCHECK(head->count <= steps);
  if (head->count != 0) return true;
  CheckEnd(*head);
  return false;
}

void MergingIterator::SeekToFirst() {
  PlaceAll(true, [](Cursor& cursor) { cursor.SeekToFirst(); });
  Settle();
}

void MergingIterator::SeekToLast() {
  PlaceAll(false, [](Cursor& cursor) { cursor.SeekToLast(); });
  Settle();
}

void MergingIterator::SeekGE(std::string_view key) {
  PlaceAll(true, [key](Cursor& cursor) { cursor.SeekGE(key); });
  Settle();
}

void MergingIterator::SeekLE(std::string_view key) {
  PlaceAll(false, [key](Cursor& cursor) { cursor.SeekLE(key); });
  Settle();
}

void MergingIterator::Next() {
  BRAID_DCHECK(valid_);
  if (!forward_) SwitchDirection(true);
  StepPast(key_);
  Settle();
}

void MergingIterator::Prev() {
  BRAID_DCHECK(valid_);
  if (forward_) SwitchDirection(false);
  StepPast(key_);
  Settle();
}

/// Moves every cursor that stands on `key` by one. Few cursors: a heap would cost more than it
/// saves.
void MergingIterator::StepPast(std::string_view key) {
  size_t kept = 0;
  for (Head* head : live_) {
    const CursorItem& item = head->item();
    // After a change of direction one may stand behind a key that a lookup found.
    if ((item.entry != current_ && item.key != key) || Advance(head)) live_[kept++] = head;
  }
  live_.resize(kept);
}

std::span<const CursorItem> MergingIterator::Ahead() const {
  if (!valid_ || leader_ == nullptr) return {};
  BRAID_DCHECK(leader_->at < leader_->count);  // it stands on one of its run
  std::span<const CursorItem> ahead(leader_->run);
  ahead = ahead.subspan(leader_->at + 1, leader_->count - leader_->at - 1);
  for (const Head* head : live_) {
    if (head == leader_ || ahead.empty()) continue;
    const std::string_view limit = head->item().key;
    const auto comes_before = [&](const CursorItem& item) {
      return forward_ ? item.key < limit : item.key > limit;
    };
    if (comes_before(ahead.back())) continue;
    const auto end = std::partition_point(ahead.begin(), ahead.end(), comes_before);
    ahead = ahead.first(static_cast<size_t>(end - ahead.begin()));
  }
  return ahead;
}

void MergingIterator::SkipAhead(size_t count) {
  if (count == 0) return;
  BRAID_DCHECK(leader_ != nullptr && leader_->at + count < leader_->count);
  leader_->at += count;
  current_ = leader_->item().entry;
  key_ = leader_->item().key;
}

void MergingIterator::SwitchDirection(bool forward) {
  const std::string key(key_);
  PlaceAll(forward, [&](Cursor& cursor) { forward ? cursor.SeekGE(key) : cursor.SeekLE(key); });
}

void MergingIterator::Settle() {
  for (;;) {
    CursorItem best{};
    leader_ = nullptr;
    for (Head* head : live_) {
      const CursorItem& item = head->item();
      const int order = leader_ == nullptr ? 0 : item.key.compare(best.key);
      if (leader_ == nullptr || (order == 0 ? item.entry->sequence() > best.entry->sequence()
                                            : (order < 0) == forward_)) {
        best = item;
        leader_ = head;
      }
    }
    looked_up_.reset();
    BRAID_DCHECK(!damaged_ || !status_.ok());  // or a part of the keys would pass for all
    valid_ = !damaged_ && leader_ != nullptr;
    if (!valid_) return;
    current_ = best.entry;
    key_ = best.key;
    valid_ = forward_ ? !upper_ || key_ < *upper_ : !lower_ || key_ >= *lower_;
    if (!valid_) return;
    if (current_->op() != EntryOp::kDelete) {
      if (current_->state() != format::kStateObsolete) return;
      leader_ = nullptr;
      looked_up_ = resolve_(key_, &status_);
      valid_ = looked_up_.has_value();
      if (valid_ || !status_.ok()) return;
    }
    ++passed_;
    StepPast(key_);
  }
}

}  // namespace braid::level
