// Purpose: replaying logs.
// Thread safety, invariants, persistence: see replay.h.
#include "recovery/replay.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "base/no_throw.h"
#include "base/prefetch.h"

namespace braid::recovery {

using format::EntryHeader;

namespace {
/// Keys of a log that are looked at to find equal parts.
constexpr size_t kSamples = 64;
/// Entries on their way while one is inserted.
constexpr size_t kAhead = 8;
}  // namespace

Status OnThreads(size_t threads, size_t parts, const std::function<void(size_t)>& work) {
  std::vector<Status> outcomes(parts);
  std::vector<std::thread> helpers;
  threads = std::min(threads, parts);
  helpers.reserve(threads);
  std::atomic<size_t> next{0};
  const auto take_parts = [&] {
    for (size_t i = next.fetch_add(1); i < parts; i = next.fetch_add(1)) {
      outcomes[i] = base::CatchToStatus([&] {
        work(i);
        return Status::OK();
      });
    }
  };
  // Where no thread can be had, those that are there do the work.
  base::IgnoreExceptions([&] {
    for (size_t i = 1; i < threads; ++i) helpers.emplace_back(take_parts);
  });
  take_parts();
  for (std::thread& helper : helpers) helper.join();
  BRAID_DCHECK(next.load() >= parts);  // the last one to finish has looked for one more
  for (Status& outcome : outcomes) {
    if (!outcome.ok()) return std::move(outcome);
  }
  return Status::OK();
}

Status Replay::Run() {
  BRAID_DCHECK(threads_ > 0 && parts_.size() == logs_->size());
  if (Status s = FindCommonPrefix(); !s.ok()) return s;
  ChooseBounds();
  if (Status s = OnThreads(threads_, logs_->size(), [&](size_t log) { Divide(log); }); !s.ok()) {
    return s;
  }
  return OnThreads(threads_, threads_, [&](size_t part) { InsertPart(part); });
}

/// The eight bytes behind what is common, as a number that orders as they do.
uint64_t Replay::HeadOf(std::string_view key) const noexcept {
  uint64_t head = 0;
  // Shorter than what was common: the medium has failed since, which the caller will see.
  if (key.size() > common_) {
    std::memcpy(&head, key.data() + common_, std::min<size_t>(key.size() - common_, sizeof head));
  }
  static_assert(std::endian::native == std::endian::little);
  return __builtin_bswap64(head);
}

Status Replay::FindCommonPrefix() {
  std::string_view first;
  bool found = false;
  for (size_t log = 0; log < logs_->size() && !found; ++log) {
    found = !(*logs_)[log].committed.empty();
    if (found) first = KeyOf(log, 0);
  }
  std::vector<size_t> common(logs_->size(), first.size());
  const Status s = OnThreads(threads_, logs_->size(), [&](size_t log) {
    size_t here = first.size();
    for (const uint64_t offset : (*logs_)[log].committed) {
      const std::string_view key = pool_->KeyAt(offset);
      const size_t most = std::min(here, key.size());
      here = static_cast<size_t>(
          std::mismatch(key.begin(), key.begin() + static_cast<ptrdiff_t>(most), first.begin())
              .first -
          key.begin());
    }
    common[log] = here;
  });
  common_ = common.empty() ? 0 : *std::min_element(common.begin(), common.end());
  BRAID_DCHECK(common_ <= first.size());
  return s;
}

/// Cuts the heads into parts of about the same size. Where the heads tell too little, keys are
/// divided by their hash.
void Replay::ChooseBounds() {
  std::vector<uint64_t> samples;
  for (size_t log = 0; log < logs_->size(); ++log) {
    const size_t count = (*logs_)[log].committed.size();
    for (size_t i = 0; i < std::min(count, kSamples); ++i) {
      samples.push_back(HeadOf(KeyOf(log, i * count / std::min(count, kSamples))));
    }
  }
  std::sort(samples.begin(), samples.end());
  for (size_t part = 1; part < threads_ && !samples.empty(); ++part) {
    const uint64_t bound = samples[part * samples.size() / threads_];
    if (bound == (bounds_.empty() ? samples.front() : bounds_.back())) {
      bounds_.clear();
      return;
    }
    BRAID_DCHECK(bounds_.empty() || bounds_.back() < bound);  // or a key could have two parts
    bounds_.push_back(bound);
  }
  BRAID_DCHECK(bounds_.empty() || bounds_.size() + 1 == threads_);
}

void Replay::Divide(size_t log) {
  std::vector<std::vector<Replayed>>& parts = parts_[log];
  BRAID_DCHECK(parts.empty());  // each log is divided once, by one thread
  parts.resize(threads_);
  for (const uint64_t offset : (*logs_)[log].committed) {
    const std::string_view key = pool_->KeyAt(offset);
    const uint64_t head = HeadOf(key);
    const size_t part =
        bounds_.empty()
            ? (threads_ == 1 ? 0 : base::Hash64(key) % threads_)
            : static_cast<size_t>(std::upper_bound(bounds_.begin(), bounds_.end(), head) -
                                  bounds_.begin());
    BRAID_DCHECK(part < threads_);
    parts[part].push_back({head, pool_->As<EntryHeader>(offset)->sequence(), offset});
  }
}

void Replay::InsertPart(size_t part) {
  std::vector<Replayed> mine;
  for (const auto& parts : parts_) {
    BRAID_DCHECK(parts.size() == threads_);  // all logs are divided by now
    mine.insert(mine.end(), parts[part].begin(), parts[part].end());
  }
  // Among keys with the same head only versions of one key need an order.
  std::sort(mine.begin(), mine.end(), [](const Replayed& a, const Replayed& b) {
    if (a.head != b.head) return a.head < b.head;
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.offset < b.offset;
  });
  uint64_t bytes = 0;
  uint64_t entries = 0;
  for (size_t i = 0; i < mine.size(); ++i) {
    if (i + kAhead < mine.size()) {
      base::PrefetchRange(pool_->At(mine[i + kAhead].offset), 2 * sizeof(EntryHeader));
    }
    const uint64_t inserted = Insert(mine[i].offset);
    bytes += inserted;
    entries += inserted != 0 ? 1 : 0;
  }
  // Once, since all threads would fight for the counters' line.
  entries_->Account(bytes, entries);
}

/// Puts a committed entry into the memtable. A flush that was not committed may have marked it
/// obsolete. Returns its size.
uint64_t Replay::Insert(uint64_t offset) {
  auto* entry = pool_->As<EntryHeader>(offset);
  if (entry->state() == format::kStateObsolete) {
    // Not flushed. The sweep of extents must see it, nobody after the next crash: the version that
    // made this one obsolete is in the same log, so the flush to come marks it obsolete again, and
    // until that is committed every recovery comes by here.
    pool_->ops().StoreByte(entry->state_byte(), format::kStateLive);
  }
  entries_->Insert(offset);
  return entry->size();
}

}  // namespace braid::recovery
