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

// Long: one loop over keys, each step of which is a line or two.
Status ListRewrite::Run(const RewriteInput& input, const index::LiveViews& views) {
  BRAID_DCHECK(list_.entries == 0 && !next_key_);
  std::deque<ListSource> sources;
  for (const ListSource::Lists& lists : input.sources) {
    ListSource& source = sources.emplace_back(pool_, lists);
    if (Status s = source.Seek(input.begin); !s.ok()) return s;
  }
  size_t in_list = sources.empty() ? 0 : sources.front().list();
  const size_t lists_before = lists_.size();
  uint64_t paused_at = read_;
  for (;;) {
    const EntryHeader* least = nullptr;
    for (const ListSource& source : sources) {
      if (source.entry() == nullptr) continue;
      if (least == nullptr || source.entry()->key() < least->key()) least = source.entry();
    }
    if (least == nullptr) break;
    const std::string_view key = least->key();
    const bool next_list = input.list_for_list && sources.front().list() != in_list;
    if (list_bytes_ >= options_.list_bytes || next_list) {
      if (Status s = EndList(next_list); !s.ok()) return s;
    }
    in_list = sources.front().list();
    if (lists_.size() - lists_before >= input.most_lists && list_.entries == 0 &&
        MayStop(input, key)) {
      next_key_.emplace(key);
      return Status::OK();
    }
    if (Status s = NextKey(&sources, key); !s.ok()) return s;
    if (Status s = WriteVersions(key, views); !s.ok()) return s;
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
  uint64_t newer = ~0ull;
  std::erase_if(versions_, [&](const EntryHeader* version) {
    const bool needed = index::IsVersionNeeded(views, version->sequence(), newer);
    newer = version->sequence();
    return !needed;
  });
  // Invariant 3.
  const bool is_lowest = !options_.is_below(key);
  while (is_lowest && !versions_.empty() && versions_.back()->op() == format::EntryOp::kDelete) {
    versions_.pop_back();
  }
  const EntryHeader* newest = versions_.empty() ? nullptr : versions_.front();
  for (const EntryHeader* version : versions_) {
    const bool keeps = version != newest || version->op() == format::EntryOp::kDelete;
    if (Status s = Write(*version, keeps); !s.ok()) return s;
  }
  return Status::OK();
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
  const bool is_emptied = options_.emptied != nullptr && options_.emptied->contains(chunk);
  const bool is_large = holder.has(format::kValueInExtent);
  const bool stays = holder.op() == format::EntryOp::kPut &&
                     (is_large || (holder.value_bytes >= options_.reference_bytes && !is_emptied));
  const format::EntryRef ref{holder_offset};
  if (stays) {
    pending.value = {reinterpret_cast<const char*>(&ref), sizeof ref};
    pending.refers = true;
    pending.value_check = format::ValueCheck(pending.value);
    if (!refers) gone_[chunk] -= holder.size();
  } else {
    if (!log::EntryVerifies(*pool_, holder_offset)) return damaged(holder_offset);
    pending.value = holder.value();
    pending.value_check = holder.value_check;
    if (refers) gone_[chunk] += holder.size();
  }
  const Result<uint64_t> copy = copies_.Add(&pending, entry.sequence(), pool_->RegionOf(offset));
  if (!copy.ok()) return copy.status();
  ++list_.entries;
  list_.max_sequence = std::max(list_.max_sequence, entry.sequence());
  list_.keeps_versions = list_.keeps_versions || keeps;
  list_bytes_ += log::Verified(*pool_, offset)->size() + (stays ? holder.value_bytes : 0);
  return Status::OK();
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

size_t ListRewrite::EmptiedChunks() const {
  return static_cast<size_t>(std::count_if(gone_.begin(), gone_.end(), [this](const auto& gone) {
    return usage_->IsKnown(gone.first) &&
           static_cast<uint64_t>(usage_->Live(gone.first)) <= gone.second;
  }));
}

}  // namespace braid::merge
