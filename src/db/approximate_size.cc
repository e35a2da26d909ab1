// Purpose: size of a key range, from as much of it as is cheap to read (approximate_size.h).
// Thread safety: as the iterator's.
// Persistence: none.
#include "db/approximate_size.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/no_throw.h"

namespace braid {
namespace {

// Reads keys as fractions of a number whose digits are the bytes after a common prefix. Each digit
// has the radix that the keys seen use: decimal digits in text count as 10, not as 256, or the
// density of such keys would come out wrong by orders of magnitude.
class KeyScale {
 public:
  explicit KeyScale(size_t prefix_bytes) : prefix_bytes_(prefix_bytes) {
    low_.fill(255);
    high_.fill(0);
  }

  void Note(Slice key) {
    for (size_t i = 0; i < kDigits && prefix_bytes_ + i < key.size(); i++) {
      const auto byte = static_cast<uint8_t>(key[prefix_bytes_ + i]);
      low_[i] = std::min(low_[i], byte);
      high_[i] = std::max(high_[i], byte);
    }
  }

  double Position(Slice key) const {
    double position = 0;
    double unit = 1;
    for (size_t i = 0; i < kDigits && prefix_bytes_ + i < key.size(); i++) {
      if (low_[i] > high_[i]) break;
      const auto byte = static_cast<uint8_t>(key[prefix_bytes_ + i]);
      unit /= high_[i] - low_[i] + 1;
      position += unit * (std::clamp(byte, low_[i], high_[i]) - low_[i]);
    }
    return position;
  }

 private:
  static constexpr size_t kDigits = 8;

  size_t prefix_bytes_;
  std::array<uint8_t, kDigits> low_;
  std::array<uint8_t, kDigits> high_;
};

size_t CommonPrefixBytes(Slice a, Slice b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
                             a.begin());
}

}  // namespace

uint64_t ApproximateSize(Iterator* iterator, Slice start, std::optional<Slice> limit,
                         uint64_t total_entries) {
  if (limit && start >= *limit) return 0;
  limit ? iterator->SeekForPrev(*limit) : iterator->SeekToLast();
  if (iterator->Valid() && limit && iterator->key() == *limit) iterator->Prev();
  if (!iterator->Valid() || iterator->key() < start) return 0;
  const std::string last(iterator->key());
  iterator->Seek(start);
  if (!iterator->Valid()) return 0;
  const std::string first(iterator->key());

  KeyScale scale(CommonPrefixBytes(first, last));
  scale.Note(last);
  uint64_t entries = 0;
  uint64_t bytes = 0;
  for (; iterator->Valid() && (!limit || iterator->key() < *limit); iterator->Next()) {
    if (entries == kMaxEntriesRead) break;
    scale.Note(iterator->key());
    bytes += iterator->key().size() + iterator->value().size();
    entries++;
  }
  if (entries < kMaxEntriesRead || !iterator->Valid() || (limit && iterator->key() >= *limit)) {
    return bytes;
  }

  const std::string stop(iterator->key());
  const double read_span = scale.Position(stop) - scale.Position(first);
  const double rest_span = scale.Position(last) - scale.Position(stop);
  const double read_bytes = static_cast<double>(bytes);
  const double ceiling = std::max(
      read_bytes, read_bytes / static_cast<double>(entries) * static_cast<double>(total_entries));
  // Keys that differ only behind the digits looked at give no span: all that is known is the cap.
  const double estimate =
      read_span > 0 ? read_bytes * (1 + std::max(0.0, rest_span) / read_span) : ceiling;
  return static_cast<uint64_t>(std::llround(std::min(estimate, ceiling)));
}

uint64_t ApproximateSizeBy(const Comparator& comparator, Iterator* iterator, Slice start,
                           std::optional<Slice> limit, uint64_t total_entries) {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  const auto is_within = [&] { return !limit || comparator.Compare(iterator->key(), *limit) < 0; };
  for (iterator->Seek(start); iterator->Valid() && is_within(); iterator->Next()) {
    if (entries == kMaxEntriesRead) {
      const uint64_t rest = (std::max(total_entries, entries) - entries) / 2;
      return bytes + bytes / entries * rest;
    }
    bytes += iterator->key().size() + iterator->value().size();
    entries++;
  }
  return bytes;
}

Status ApproximateSizesOf(DB* db, const Comparator* comparator, std::span<const KeyRange> ranges,
                          uint64_t* sizes) {
  std::fill_n(sizes, ranges.size(), 0);
  return base::CatchToStatus([&] {
    const Statistics now = db->GetStatistics();
    const uint64_t entries = now.memtable_entries + now.l0_entries + now.l1_entries;
    const std::unique_ptr<Iterator> iterator = db->NewIterator({});
    Status s;
    for (size_t i = 0; i < ranges.size() && s.ok(); ++i) {
      const KeyRange& range = ranges[i];
      sizes[i] =
          comparator == nullptr
              ? ApproximateSize(iterator.get(), range.begin, range.end, entries)
              : ApproximateSizeBy(*comparator, iterator.get(), range.begin, range.end, entries);
      s = iterator->status();
    }
    if (!s.ok()) std::fill_n(sizes, ranges.size(), 0);
    return s;
  });
}

}  // namespace braid
