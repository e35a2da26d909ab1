// Purpose: the merge of cursors. Thread safety, invariants, persistence: see merging_iterator.h.
#include "level/merging_iterator.h"

#include <algorithm>
#include <string>

namespace braid::level {

using format::EntryOp;
using index::Cursor;
using index::CursorItem;

template <class Place>
void MergingIterator::PlaceAll(bool forward, Place&& place) {
  forward_ = forward;
  damaged_ = false;
  heads_.clear();
  run_at_ = run_count_ = 0;
  next_run_ = 1;
  for (auto& cursor : cursors_) {
    place(*cursor);
    Head head{cursor.get(), {}};
    if (!Ask(&head)) return;
    if (head.at.entry != nullptr) heads_.push_back(head);
  }
}

bool MergingIterator::Ask(Head* head) {
  if (head->cursor->Valid()) {
    head->at = {head->cursor->entry(), head->cursor->key()};
    return true;
  }
  head->at = {};
  Status s = head->cursor->status();
  if (s.ok()) return true;
  // A table that stopped at damage could hide keys; nothing after it may be shown.
  status_ = std::move(s);
  damaged_ = true;
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
  if (!forward_) SwitchDirection(true);
  StepPast(key_);
  Settle();
}

void MergingIterator::Prev() {
  if (forward_) SwitchDirection(false);
  StepPast(key_);
  Settle();
}

/// Moves every cursor that stands on `key` by one. Few cursors: a heap would cost more than it
/// saves.
void MergingIterator::StepPast(std::string_view key) {
  if (heads_.size() == 1) {
    StepRun(key);
    return;
  }
  size_t kept = 0;
  const size_t count = heads_.size();
  for (size_t i = 0; i < count; ++i) {
    Head head = heads_[i];
    if (head.at.entry == current_ || head.at.key == key) {
      forward_ ? head.cursor->Next() : head.cursor->Prev();
      if (!Ask(&head)) break;
    }
    if (head.at.entry != nullptr) heads_[kept++] = head;
  }
  heads_.resize(kept);
}

/// The same when only one is left, which need not be compared with others.
void MergingIterator::StepRun(std::string_view key) {
  if (run_at_ + 1 < run_count_) {
    ++run_at_;
    return;
  }
  Head& head = heads_[0];
  // After a change of direction it may stand behind a key that a lookup found.
  if (run_count_ == 0 && head.at.key != key) return;
  run_at_ = 0;
  // It is not valid any more when the run before was cut short.
  run_count_ = head.cursor->Valid() ? head.cursor->Run(forward_, run_.data(), next_run_) : 0;
  next_run_ = std::min(2 * next_run_, kRun);
  if (run_count_ == 0) {
    Ask(&head);
    heads_.clear();
  } else {
    head.at = run_[run_count_ - 1];
  }
}

void MergingIterator::SwitchDirection(bool forward) {
  const std::string key(key_);
  PlaceAll(forward, [&](Cursor& cursor) { forward ? cursor.SeekGE(key) : cursor.SeekLE(key); });
}

void MergingIterator::Settle() {
  for (;;) {
    CursorItem best{};
    if (run_count_ != 0) {
      best = run_[run_at_];
    } else {
      for (const Head& head : heads_) {
        const int order = best.entry == nullptr ? 0 : head.at.key.compare(best.key);
        if (best.entry == nullptr ||
            (order == 0 ? head.at.entry->sequence() > best.entry->sequence()
                        : (order < 0) == forward_)) {
          best = head.at;
        }
      }
    }
    current_ = damaged_ ? nullptr : best.entry;
    if (current_ == nullptr) return;
    key_ = best.key;
    if (forward_ ? upper_ && key_ >= *upper_ : lower_ && key_ < *lower_) {
      current_ = nullptr;
      return;
    }
    if (current_->op() != EntryOp::kDelete) {
      if (current_->state() != format::kStateDead) return;
      current_ = resolve_(key_, &status_);
      if (current_ != nullptr || !status_.ok()) return;
    }
    ++passed_;
    StepPast(key_);
  }
}

}  // namespace braid::level
