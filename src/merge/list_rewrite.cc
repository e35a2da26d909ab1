// Purpose: merging lists into new ones.
// Thread safety, invariants, persistence: see list_rewrite.h.
#include "merge/list_rewrite.h"

#include <algorithm>

#include "base/check.h"
#include "index/entry_tree.h"
#include "log/log_reader.h"

namespace braid::merge {

using format::EntryHeader;

namespace {
/// Entries between two looks whether to stop.
constexpr uint64_t kPauseEvery = 512;
}  // namespace

/// Whether all lists that are to be read whole lie before `key` or behind it.
bool ListRewrite::MayStop(const RewriteInput& input, std::string_view key) {
  return std::none_of(input.whole.begin(), input.whole.end(), [&](const auto& list) {
    const level::KeyRange range = list->range();
    return range.is_known && range.first < key && key <= range.last;
  });
}

/// The last place not behind `key` where the work may stop, if it comes behind `first`.
std::optional<std::string> ListRewrite::StopBefore(const RewriteInput& input,
                                                   std::string_view first, std::string_view key) {
  std::string_view stop = key;
  for (const auto& list : input.whole) {
    const level::KeyRange range = list->range();
    if (range.is_known && range.first < key && key <= range.last) {
      stop = std::min(stop, range.first);
    }
  }
  const bool is_new = input.end.empty() || stop < input.end;
  if (stop <= first || !is_new || !MayStop(input, stop)) return std::nullopt;
  return std::string(stop);
}

// Long: one loop over keys, each step of which is a line or two.
Status ListRewrite::Run(const RewriteInput& input, const index::LiveViews& views) {
  BRAID_DCHECK(list_.entries == 0 && !next_key_);
  std::deque<ListSource> sources;
  for (const ListSource::Lists& lists : input.sources) {
    ListSource& source = sources.emplace_back(pool_, lists);
    if (Status s = source.Seek(input.begin); !s.ok()) return s;
  }
  const size_t lists_before = lists_.size();
  const uint64_t read_before = read_;
  uint64_t paused_at = read_;
  std::string first;
  for (;;) {
    const EntryHeader* least = nullptr;
    for (const ListSource& source : sources) {
      if (source.entry() == nullptr) continue;
      if (least == nullptr || source.entry()->key() < least->key()) least = source.entry();
    }
    if (least == nullptr) break;
    const std::string_view key = least->key();
    if (list_bytes_ >= options_.list_bytes) {
      if (Status s = EndList(false); !s.ok()) return s;
    }
    const bool at_end = !input.end.empty() && key >= input.end;
    const bool is_enough = at_end || lists_.size() - lists_before >= input.most_lists;
    if (is_enough && read_ != read_before && MayStop(input, key)) {
      // Short or not: lists of the level don't end where new ones are full.
      if (Status s = EndList(at_end); !s.ok()) return s;
      if (list_.entries == 0) {
        next_key_.emplace(key);
        return Status::OK();
      }
    }
    if (read_ == read_before) first = key;
    if (Status s = NextKey(&sources, key); !s.ok()) return s;
    if (Status s = WriteVersions(key, views); !s.ok()) {
      if (s.IsOutOfSpace()) last_stop_ = StopBefore(input, first, key);
      return s;
    }
    if (read_ - paused_at >= kPauseEvery) {
      paused_at = read_;
      if (options_.pause()) return Status::Aborted("the merge was stopped");
      if (pool_->failed()) return pool_->FaultStatus();
    }
  }
  if (pool_->failed()) return pool_->FaultStatus();
  return EndList(true);
}

/// All versions of `key`, each once.
Status ListRewrite::NextKey(std::deque<ListSource>* sources, std::string_view key) {
  versions_.clear();
  for (ListSource& source : *sources) {
    while (source.entry() != nullptr && source.entry()->key() == key) {
      versions_.push_back(source.entry());
      if (Status s = source.Next(); !s.ok()) return s;
    }
  }
  read_ += versions_.size();
  for (const EntryHeader* version : versions_) {
    gone_[pool_->ChunkOf(pool_->OffsetOf(version))] += version->size();
  }
  std::stable_sort(
      versions_.begin(), versions_.end(),
      [](const EntryHeader* a, const EntryHeader* b) { return a->sequence() > b->sequence(); });
  // A part of L0 that is in L1 already.
  versions_.erase(std::unique(versions_.begin(), versions_.end(),
                              [](const EntryHeader* a, const EntryHeader* b) {
                                return a->sequence() == b->sequence();
                              }),
                  versions_.end());
  return Status::OK();
}

Status ListRewrite::WriteVersions(std::string_view key, const index::LiveViews& views) {
  if (options_.leaves && !versions_.empty() && options_.leaves(*versions_.front())) {
    for (const EntryHeader* version : versions_) CountValue(*version);
    return Status::OK();
  }
  uint64_t newer = ~0ull;
  if (options_.newest_above && !versions_.empty()) {
    // It may be the same version: a part of L0 that is in L1 already.
    const uint64_t above = options_.newest_above(key);
    if (above > versions_.front()->sequence()) newer = above;
  }
  std::erase_if(versions_, [&](const EntryHeader* version) {
    const bool needed = index::IsVersionNeeded(views, version->sequence(), newer);
    newer = version->sequence();
    if (!needed) CountValue(*version);
    return !needed;
  });
  // Invariant 3.
  const auto ends_in_delete = [this] {
    return !versions_.empty() && versions_.back()->op() == format::EntryOp::kDelete;
  };
  const bool is_lowest = ends_in_delete() && !options_.is_below(key);
  while (is_lowest && ends_in_delete()) versions_.pop_back();
  const EntryHeader* newest = versions_.empty() ? nullptr : versions_.front();
  for (const EntryHeader* version : versions_) {
    const bool keeps = version != newest || version->op() == format::EntryOp::kDelete;
    if (Status s = Write(*version, keeps); !s.ok()) return s;
  }
  return Status::OK();
}

/// What a version that goes has referred to goes with it, and its extent.
void ListRewrite::CountValue(const EntryHeader& version) {
  uint64_t offset = pool_->OffsetOf(&version);
  if (version.has(format::kValueElsewhere)) {
    offset = pool_->CarrierOf(version);
    if (offset == 0) return;
    const EntryHeader& holder = *log::Verified(*pool_, offset);
    if (holder.state() != format::kStateCarrier) return;  // in a table of L0 yet
    gone_[pool_->ChunkOf(offset)] += holder.size();
  }
  const uint64_t extent = pool_->ExtentOf(offset);
  const format::ExtentHeader* header = extent == 0 ? nullptr : pool_->ExtentAt(extent);
  if (header != nullptr) gone_extents_ += header->chunks;
}

Status ListRewrite::Write(const EntryHeader& entry, bool keeps) {
  const uint64_t offset = pool_->OffsetOf(&entry);
  const auto damaged = [&](uint64_t at) {
    return pool_->CorruptionAt(at, "entry", "its check does not match, or its value is gone");
  };
  log::PendingEntry pending;
  pending.op = entry.op();
  pending.key = entry.key();
  pending.key_hash = base::Hash64(pending.key);
  // A new node gets new checks: damage must not get any, or nobody would see it again.
  if (!index::KeyIsIntact(*pool_, entry, offset, pending.key_hash)) return damaged(offset);
  const bool refers = entry.has(format::kValueElsewhere);
  const uint64_t holder_offset = refers ? pool_->CarrierOf(entry) : offset;
  if (holder_offset == 0) return damaged(offset);
  const EntryHeader& holder = *log::Verified(*pool_, holder_offset);
  const uint64_t chunk = pool_->ChunkOf(holder_offset);
  const bool is_large = holder.has(format::kValueInExtent);
  const uint64_t extent = is_large ? pool_->ExtentOf(holder_offset) : 0;
  const bool moves = IsEmptied(holder_offset) || (extent != 0 && IsEmptied(extent));
  const bool stays = holder.op() == format::EntryOp::kPut && !moves &&
                     (is_large || holder.value_bytes >= options_.reference_bytes);
  const format::EntryRef ref{holder_offset};
  if (stays) {
    pending.value = {reinterpret_cast<const char*>(&ref), sizeof ref};
    pending.refers = true;
    pending.value_check = format::ValueCheck(pending.value);
    if (!refers) gone_[chunk] -= holder.size();
  } else {
    if (!log::EntryVerifies(*pool_, holder_offset)) return damaged(holder_offset);
    if (Status s = SetValue(holder, extent, &pending); !s.ok()) return s;
    if (refers) gone_[chunk] += holder.size();
  }
  extents_.reserve(extents_.size() + 1);
  const Result<uint64_t> copy = copies_.Add(&pending, entry.sequence(), pool_->RegionOf(offset));
  if (!copy.ok()) return copy.status();
  if (pending.extent != 0) extents_.push_back(pending.extent);
  ++list_.entries;
  list_.max_sequence = std::max(list_.max_sequence, entry.sequence());
  list_.keeps_versions = list_.keeps_versions || keeps;
  list_bytes_ += log::Verified(*pool_, offset)->size() + (stays ? holder.value_bytes : 0);
  return Status::OK();
}

bool ListRewrite::IsEmptied(uint64_t offset) const {
  return options_.emptied != nullptr && options_.emptied->contains(pool_->ChunkOf(offset));
}

/// The value of an entry that verifies, which is copied. A large one gets an extent of its own.
Status ListRewrite::SetValue(const EntryHeader& holder, uint64_t extent,
                             log::PendingEntry* pending) {
  pending->value = holder.value();
  pending->value_check = holder.value_check;
  if (!holder.has(format::kValueInExtent)) return Status::OK();
  const format::ExtentHeader* header = pool_->ExtentAt(extent);
  if (header == nullptr) return pool_->FaultStatus();  // it was there a moment ago
  pending->value = {pool_->At(extent + sizeof *header), header->value_bytes};
  // The copy would hold the value itself, and have no use for an extent.
  if (pending->value.size() <= log::LargestInlineValue(*pool_)) {
    return pool_->CorruptionAt(pool_->OffsetOf(&holder), "log entry",
                               "its value is too small for an extent");
  }
  return Status::OK();
}

void ListRewrite::GiveBack() {
  for (const uint64_t extent : extents_) pool_->FreeExtent(extent);
  copies_.GiveBack();
}

/// The list that is written, if it has entries, becomes one; unless there is no head for it and it
/// may go on.
Status ListRewrite::EndList(bool needed) {
  if (list_.entries == 0) return Status::OK();
  const Result<uint32_t> head = options_.take_head(needed);
  if (!head.ok()) return needed ? head.status() : Status::OK();
  list_.head = *head;
  lists_.push_back(list_);  // first: the head is the caller's to give back from here on
  copies_.CloseList(pool_->HeadOffset(*head));
  list_ = {};
  list_bytes_ = 0;
  return Status::OK();
}

Status ListRewrite::CountBefore(const ListSource::Lists& tables, std::string_view key) {
  for (const auto& table : tables) {
    ListSource source(pool_, {table});
    Status s = source.Seek({});
    for (; s.ok() && source.entry() != nullptr && source.entry()->key() < key; s = source.Next()) {
      const EntryHeader& entry = *source.entry();
      const bool may_stay =
          entry.op() == format::EntryOp::kPut &&
          (entry.has(format::kValueInExtent) || entry.value_bytes >= options_.reference_bytes);
      if (!may_stay) gone_[pool_->ChunkOf(pool_->OffsetOf(&entry))] += entry.size();
    }
    if (!s.ok()) return s;
  }
  return Status::OK();
}

size_t ListRewrite::EmptiedChunks() const {
  const auto emptied = std::count_if(gone_.begin(), gone_.end(), [this](const auto& gone) {
    return usage_->IsKnown(gone.first) &&
           static_cast<uint64_t>(usage_->Live(gone.first)) <= gone.second;
  });
  return static_cast<size_t>(emptied) + gone_extents_;
}

uint64_t ListRewrite::GoneBytes() const {
  uint64_t bytes = gone_extents_ * pool_->chunk_bytes();
  for (const auto& [chunk, gone] : gone_) bytes += gone;
  return bytes;
}

}  // namespace braid::merge
