// Purpose: the record list of a WriteBatch.
// Thread safety: none.
// Persistence: none.
#include "braid/write_batch.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "braid/options.h"

namespace braid {

namespace {
constexpr char kPutRecord = 1;
constexpr char kDeleteRecord = 2;
// A range. Its bounds may be missing, which empty ones don't say: the empty key is a key.
constexpr char kRangeRecord = 4;
constexpr char kWithBegin = 1;
constexpr char kWithEnd = 2;
constexpr size_t kRecordHead = 9;
constexpr const char* kKey = "key";
constexpr const char* kValue = "value";

// A record keeps both lengths in 32 bits. A key that is too long for a database and not for a
// record is the database's to refuse.
static_assert(kMaxValueBytes == std::numeric_limits<uint32_t>::max());

Status TooLong(size_t update, const char* what, size_t bytes) {
  return Status::InvalidArgument("update " + std::to_string(update) + " of the batch has a " +
                                 what + " of " + std::to_string(bytes) + " bytes; the limit is " +
                                 std::to_string(what == kKey ? kMaxKeyBytes : kMaxValueBytes));
}
}  // namespace

void WriteBatch::Add(char op, Slice key, Slice value) {
  // A length that is cut to 32 bits would make other updates of what lies behind it.
  if (std::max(key.size(), value.size()) > kMaxValueBytes) [[unlikely]] {
    const bool is_key = key.size() > kMaxValueBytes;
    if (status_.ok()) {
      const bool has_two_keys = (op & kRangeRecord) != 0;
      status_ = TooLong(count_ + 1, is_key || has_two_keys ? kKey : kValue,
                        is_key ? key.size() : value.size());
    }
    return;
  }
  const auto key_bytes = static_cast<uint32_t>(key.size());
  const auto value_bytes = static_cast<uint32_t>(value.size());
  char head[kRecordHead];
  head[0] = op;
  std::memcpy(head + 1, &key_bytes, 4);
  std::memcpy(head + 5, &value_bytes, 4);
  const size_t before = rep_.size();
  try {
    rep_.append(head, sizeof head).append(key).append(value);
  } catch (...) {
    rep_.resize(before);  // half a record would be read as a whole one
    throw;
  }
  ++count_;
}

void WriteBatch::Put(Slice key, Slice value) { Add(kPutRecord, key, value); }

void WriteBatch::Delete(Slice key) { Add(kDeleteRecord, key, {}); }

void WriteBatch::DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) {
  const size_t before = count_;
  const int op = kRangeRecord | (begin ? kWithBegin : 0) | (end ? kWithEnd : 0);
  Add(static_cast<char>(op), begin.value_or(Slice()), end.value_or(Slice()));
  ranges_ += count_ - before;
}

void WriteBatch::Clear() noexcept {
  rep_.clear();
  count_ = 0;
  ranges_ = 0;
  status_ = Status::OK();
}

void WriteBatch::Append(const WriteBatch& other) {
  // By way of a copy, so that a batch can be appended to itself.
  const std::string added = other.rep_;
  rep_ += added;
  count_ += other.count_;
  ranges_ += other.ranges_;
  if (status_.ok()) status_ = other.status_;
}

void WriteBatch::Iterate(Handler* handler) const {
  for (size_t at = 0; at < rep_.size();) {
    // Never beyond the bytes that are there, whatever has been written into them.
    BRAID_CHECK(rep_.size() - at >= kRecordHead);
    uint32_t key_bytes = 0;
    uint32_t value_bytes = 0;
    std::memcpy(&key_bytes, rep_.data() + at + 1, 4);
    std::memcpy(&value_bytes, rep_.data() + at + 5, 4);
    const size_t record = kRecordHead + size_t{key_bytes} + value_bytes;
    BRAID_CHECK(rep_.size() - at >= record);
    const Slice key(rep_.data() + at + kRecordHead, key_bytes);
    const Slice value(key.data() + key_bytes, value_bytes);
    const char op = rep_[at];
    if (op == kPutRecord) {
      handler->Put(key, value);
    } else if ((op & kRangeRecord) != 0) {
      handler->DeleteRange((op & kWithBegin) != 0 ? std::optional(key) : std::nullopt,
                           (op & kWithEnd) != 0 ? std::optional(value) : std::nullopt);
    } else {
      handler->Delete(key);
    }
    at += record;
  }
}

}  // namespace braid
