// Purpose: the merge of cursors. Thread safety, invariants, persistence: see merging_iterator.h.
#include "level/merging_iterator.h"

#include <string>

namespace braid::level {

using format::EntryHeader;
using format::EntryOp;
using index::Cursor;

void MergingIterator::SeekToFirst() {
  forward_ = true;
  for (auto& cursor : cursors_) cursor->SeekToFirst();
  Settle();
}

void MergingIterator::SeekToLast() {
  forward_ = false;
  for (auto& cursor : cursors_) cursor->SeekToLast();
  Settle();
}

void MergingIterator::SeekGE(std::string_view key) {
  forward_ = true;
  for (auto& cursor : cursors_) cursor->SeekGE(key);
  Settle();
}

void MergingIterator::SeekLE(std::string_view key) {
  forward_ = false;
  for (auto& cursor : cursors_) cursor->SeekLE(key);
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
  for (auto& cursor : cursors_) {
    if (cursor->Valid() && (cursor->entry() == current_ || cursor->key() == key)) {
      forward_ ? cursor->Next() : cursor->Prev();
    }
  }
}

void MergingIterator::SwitchDirection(bool forward) {
  const std::string key(key_);
  forward_ = forward;
  for (auto& cursor : cursors_) forward ? cursor->SeekGE(key) : cursor->SeekLE(key);
}

void MergingIterator::Settle() {
  for (;;) {
    const EntryHeader* best = nullptr;
    for (auto& cursor : cursors_) {
      if (!cursor->Valid()) {
        if (Status s = cursor->status(); !s.ok()) {
          // A table that stopped at damage could hide keys; nothing after it may be shown.
          status_ = std::move(s);
          current_ = nullptr;
          return;
        }
        continue;
      }
      const EntryHeader* entry = cursor->entry();
      const std::string_view key = cursor->key();
      const int order = best == nullptr ? 0 : key.compare(key_);
      if (best == nullptr ||
          (order == 0 ? entry->sequence() > best->sequence() : (order < 0) == forward_)) {
        best = entry;
        key_ = key;
      }
    }
    current_ = best;
    if (best == nullptr) return;
    if (best->op() != EntryOp::kDelete) {
      if (best->state() != format::kStateDead) return;
      current_ = resolve_(key_, &status_);
      if (current_ != nullptr || !status_.ok()) return;
    }
    StepPast(key_);
  }
}

}  // namespace braid::level
