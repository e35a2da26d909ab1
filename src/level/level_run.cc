// Purpose: lookups and cursors over lists that lie apart.
// Thread safety, invariants, persistence: see level_run.h.
#include "level/level_run.h"

#include <algorithm>

#include "base/check.h"

namespace braid::level {

using index::LookupResult;

size_t PartOf(const std::vector<LevelRun::Part>& parts, std::string_view key) noexcept {
  const auto found = std::lower_bound(
      parts.begin(), parts.end(), key,
      [](const LevelRun::Part& part, std::string_view sought) { return part.range.last < sought; });
  return static_cast<size_t>(found - parts.begin());
}

LevelRun::LevelRun(const std::vector<std::shared_ptr<Table>>& tables) {
  parts_.reserve(tables.size());
  for (const auto& table : tables) {
    PmemTable* const list = table->AsList();
    const KeyRange range = list->range();
    // Invariant 1: the range was asked for when the table was made.
    BRAID_CHECK(range.is_known);
    BRAID_DCHECK(parts_.empty() || parts_.back().range.last < range.first);
    parts_.push_back({range, {table, list}});
    entries_ += list->entries();
  }
}

LookupResult LevelRun::Get(const index::LookupKey& key,
                           const index::ReadView& view) const noexcept {
  const size_t at = PartOf(parts_, key.key);
  if (at == parts_.size() || key.key < parts_[at].range.first) return {};
  return parts_[at].table->Get(key, view);
}

bool LevelRun::Meets(std::string_view first, std::string_view last) const noexcept {
  const size_t at = PartOf(parts_, first);
  return at < parts_.size() && parts_[at].range.first <= last;
}

void LevelRun::GetMany(const index::LookupKey* keys, size_t n, const index::ReadView& view,
                       LookupResult* out) const noexcept {
  for (size_t i = 0; i < n; ++i) out[i] = Get(keys[i], view);
}

namespace {

/// Walks over one list behind the other. One cursor at a time: who has left a list comes back to it
/// by another search.
class RunCursor final : public index::Cursor {
 public:
  /// The caller keeps `parts`.
  RunCursor(const std::vector<LevelRun::Part>* parts, const index::ReadView& view)
      : parts_(*parts), view_(view) {}

  void ExpectShare(double share) override { share_ = share; }
  bool Valid() const override { return cursor_ != nullptr && cursor_->Valid(); }
  void SeekToFirst() override {
    Open(0);
    cursor_->SeekToFirst();
    GoOn(true);
  }
  void SeekToLast() override {
    Open(parts_.size() - 1);
    cursor_->SeekToLast();
    GoOn(false);
  }
  void SeekGE(std::string_view key) override {
    Open(std::min(PartOf(parts_, key), parts_.size() - 1));
    cursor_->SeekGE(key);
    GoOn(true);
  }
  void SeekLE(std::string_view key) override {
    Open(std::min(PartOf(parts_, key), parts_.size() - 1));
    cursor_->SeekLE(key);
    GoOn(false);
  }
  void Next() override {
    BRAID_DCHECK(Valid());
    cursor_->Next();
    GoOn(true);
  }
  void Prev() override {
    BRAID_DCHECK(Valid());
    cursor_->Prev();
    GoOn(false);
  }
  size_t Run(bool forward, index::CursorItem* out, size_t cap) override {
    BRAID_DCHECK(Valid());
    size_t n = 0;
    while (n < cap) {
      n += cursor_->Run(forward, out + n, cap - n);
      if (Valid()) break;
      GoOn(forward);
      if (!Valid()) break;
      if (n < cap) out[n++] = cursor_->item();
    }
    return n;
  }
  const index::CursorItem& item() const override { return cursor_->item(); }
  Status status() const override { return cursor_ == nullptr ? Status::OK() : cursor_->status(); }

 private:
  void Open(size_t at) {
    if (cursor_ != nullptr && at == at_) return;
    at_ = at;
    cursor_ = parts_[at].table->NewCursor(view_);
    cursor_->ExpectShare(share_);
  }
  /// From the end of a list to the next one, unless damage has ended it.
  void GoOn(bool forward) {
    while (!cursor_->Valid() && cursor_->status().ok()) {
      if (forward ? at_ + 1 == parts_.size() : at_ == 0) return;
      Open(forward ? at_ + 1 : at_ - 1);
      forward ? cursor_->SeekToFirst() : cursor_->SeekToLast();
    }
  }

  const std::vector<LevelRun::Part>& parts_;
  const index::ReadView view_;
  double share_ = 1;
  size_t at_ = 0;
  std::unique_ptr<index::Cursor> cursor_;
};

}  // namespace

std::unique_ptr<index::Cursor> LevelRun::NewCursor(const index::ReadView& view) const {
  return std::make_unique<RunCursor>(&parts_, view);
}

}  // namespace braid::level
