// Purpose: moves of the user's iterator.
// Thread safety, invariant, persistence: see db_iterator.h.
#include "read/db_iterator.h"

#include <utility>

#include "base/check.h"
#include "base/epoch.h"
#include "base/no_throw.h"

namespace braid::read {

DbIterator::DbIterator(Reader::Owner owner, Reader* reader,
                       std::shared_ptr<level::ViewRegistry> registry,
                       level::ViewRegistry::Handle view,
                       std::shared_ptr<const level::ReadState> state, level::MergingIterator merged,
                       const ReadOptions& options)
    : owner_(std::move(owner)),
      reader_(reader),
      registry_(std::move(registry)),
      view_(std::move(view)),
      state_(std::move(state)),
      merged_(std::move(merged)),
      lower_copy_(options.lower_slice ? std::nullopt : options.lower_bound),
      upper_copy_(options.upper_slice ? std::nullopt : options.upper_bound),
      lower_(lower_copy_ ? std::optional<Slice>(*lower_copy_) : options.lower_slice),
      upper_(upper_copy_ ? std::optional<Slice>(*upper_copy_) : options.upper_slice) {
  BRAID_CHECK(reader_ != nullptr && registry_ != nullptr && state_ != nullptr);
  merged_.SetBounds(lower_, upper_);
}

template <class Step>
void DbIterator::Move(LatencyKind kind, bool forward, Step&& step) {
  const base::Latencies::Timing timing = reader_->TimeMove(kind);
  const base::EpochGuard guard;
  valid_ = false;
  forward_ = forward;
  ahead_at_ = ahead_count_ = 0;
  if (reader_->closed() || owner_->is_parents()) return;
  status_ = base::CatchToStatus([&] {
    step();
    return Settle();
  });
  if (const uint64_t passed = merged_.TakePassed(); passed != 0) reader_->CountPassed(passed);
  if (!status_.ok() || owner_->medium_failed()) valid_ = false;
}

Status DbIterator::Settle() {
  BRAID_DCHECK(!valid_ && ahead_count_ == 0);  // until the entry is read and checked
  if (!merged_.Valid()) return Status::OK();
  const std::optional<index::ValueRef>& looked_up = merged_.looked_up();
  if (!looked_up && ReadOn()) return Status::OK();
  key_ = merged_.key();
  Status s =
      looked_up ? reader_->ValueOf(*looked_up, &value_) : reader_->ValueOf(merged_.item(), &value_);
  if (!s.ok()) return s;
  valid_ = true;
  ahead_ = merged_.FromHere().subspan(1);
  ahead_count_ = reader_->PlainValuesOf(ahead_);
  BRAID_DCHECK(ahead_at_ == 0 && ahead_count_ <= ahead_.size());
  return Status::OK();
}

/// Reads what it stands on and what the next steps come to, all in one go. False where the first of
/// them is not read so. In an epoch.
bool DbIterator::ReadOn() {
  ahead_ = merged_.FromHere();
  const size_t read = reader_->PlainValuesOf(ahead_);
  BRAID_DCHECK(ahead_at_ == 0 && read <= ahead_.size());
  if (read == 0) return false;
  key_ = ahead_.front().key;
  value_ = ahead_.front().value;
  ahead_ = ahead_.subspan(1);
  ahead_count_ = read - 1;
  return valid_ = true;
}

/// By far the most steps find their entry read and checked: the view keeps it as it is.
bool DbIterator::TakeAhead(bool forward) {
  if (forward != forward_ || ahead_at_ == ahead_count_) return false;
  BRAID_DCHECK(ahead_at_ < ahead_count_ && ahead_count_ <= ahead_.size());
  key_ = ahead_[ahead_at_].key;
  value_ = ahead_[ahead_at_].value;
  ++ahead_at_;
  valid_ = !owner_->medium_failed();
  return true;
}

void DbIterator::StepOn(bool forward) {
  if (!valid_) return;
  merged_.SkipAhead(std::exchange(ahead_at_, 0));
  Move(LatencyKind::kNext, forward, [&] { forward ? merged_.Next() : merged_.Prev(); });
}

void DbIterator::SeekToFirst() {
  Move(LatencyKind::kSeek, true, [&] { lower_ ? merged_.SeekGE(*lower_) : merged_.SeekToFirst(); });
}

void DbIterator::SeekToLast() {
  Move(LatencyKind::kSeek, false, [&] {
    if (!upper_) {
      merged_.SeekToLast();
      return;
    }
    merged_.SeekLE(*upper_);
    if (merged_.Valid() && merged_.key() == *upper_) merged_.Prev();
  });
}

void DbIterator::Seek(Slice target) {
  Move(LatencyKind::kSeek, true,
       [&] { merged_.SeekGE(lower_ && target < *lower_ ? Slice(*lower_) : target); });
}

void DbIterator::SeekForPrev(Slice target) {
  if (upper_ && target >= *upper_) {
    SeekToLast();
    return;
  }
  Move(LatencyKind::kSeek, false, [&] { merged_.SeekLE(target); });
}

Status DbIterator::Refresh() {
  if (owner_->is_parents()) return base::OpenedByParent();
  return base::CatchToStatus([&] {
    Result<Reader::Shown> now = reader_->ShowNewest(nullptr);
    if (!now.ok()) return now.status();
    valid_ = false;
    ahead_at_ = ahead_count_ = 0;
    ahead_ = {};
    status_ = Status::OK();
    // Cursors first, then what they walk over, then what keeps that.
    merged_ = std::move(now->merged);
    merged_.SetBounds(lower_, upper_);
    state_ = std::move(now->state);
    view_ = std::move(now->view);
    return Status::OK();
  });
}

Status DbIterator::status() const {
  return base::CatchToStatus([&] {
    if (owner_->is_parents()) return base::OpenedByParent();
    if (reader_->closed()) return Status::Closed();
    if (owner_->medium_failed()) return owner_->MediumStatus();
    return status_.ok() ? merged_.status() : status_;
  });
}

}  // namespace braid::read
