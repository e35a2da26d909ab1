// Purpose: the iterator that users see, over all tables of a view.
// Thread safety: one thread at a time; the store may be closed, or forked, concurrently.
// Invariants:
//   1. A move is one read section, so that Close waits for it; one that fails leaves the iterator
//      invalid until the next seek.
// Persistence: none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "read/reader.h"

namespace braid::read {

class DbIterator final : public Iterator {
 public:
  /// `owner` keeps `reader`; `registry` outlives `view`; `state` is what `merged` walks over.
  DbIterator(Reader::Owner owner, Reader* reader, std::shared_ptr<level::ViewRegistry> registry,
             level::ViewRegistry::Handle view, std::shared_ptr<const level::ReadState> state,
             level::MergingIterator merged, const ReadOptions& options);

  bool Valid() const override { return valid_ && !reader_->closed() && !owner_->is_parents(); }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(Slice target) override;
  void SeekForPrev(Slice target) override;
  void Next() override {
    if (!TakeAhead(true)) StepOn(true);
  }
  void Prev() override {
    if (!TakeAhead(false)) StepOn(false);
  }
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override;
  Status Refresh() override;

 private:
  bool TakeAhead(bool forward);
  void StepOn(bool forward);
  bool ReadOn();
  template <class Step>
  void Move(LatencyKind kind, bool forward, Step&& step);
  Status Settle();

  const Reader::Owner owner_;
  Reader* const reader_;
  std::shared_ptr<level::ViewRegistry> registry_;
  level::ViewRegistry::Handle view_;
  std::shared_ptr<const level::ReadState> state_;
  level::MergingIterator merged_;
  // Bounds: copies, where the caller does not keep them, and what counts.
  std::optional<std::string> lower_copy_;
  std::optional<std::string> upper_copy_;
  std::optional<Slice> lower_;
  std::optional<Slice> upper_;
  bool valid_ = false;
  bool forward_ = true;
  std::string_view key_;
  std::string_view value_;
  size_t ahead_at_ = 0;     // steps that were taken since merged_ was moved
  size_t ahead_count_ = 0;  // steps that were read ahead
  std::span<const index::CursorItem> ahead_;
  Status status_;
};

}  // namespace braid::read
