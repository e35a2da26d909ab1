// Purpose: the record list of a WriteBatch. Thread safety: none. Persistence: none.
#include "braid/write_batch.h"

#include <cstring>

namespace braid {

namespace {
constexpr char kPutRecord = 1;
constexpr char kDeleteRecord = 2;
constexpr size_t kRecordHead = 9;

void AppendRecord(std::string* rep, char op, Slice key, Slice value) {
  const auto key_bytes = static_cast<uint32_t>(key.size());
  const auto value_bytes = static_cast<uint32_t>(value.size());
  char head[kRecordHead];
  head[0] = op;
  std::memcpy(head + 1, &key_bytes, 4);
  std::memcpy(head + 5, &value_bytes, 4);
  const size_t before = rep->size();
  try {
    rep->append(head, sizeof head).append(key).append(value);
  } catch (...) {
    rep->resize(before);  // half a record would be read as a whole one
    throw;
  }
}
}  // namespace

void WriteBatch::Put(Slice key, Slice value) {
  AppendRecord(&rep_, kPutRecord, key, value);
  ++count_;
}

void WriteBatch::Delete(Slice key) {
  AppendRecord(&rep_, kDeleteRecord, key, {});
  ++count_;
}

void WriteBatch::Clear() noexcept {
  rep_.clear();
  count_ = 0;
}

void WriteBatch::Append(const WriteBatch& other) {
  // By way of a copy, so that a batch can be appended to itself.
  const std::string added = other.rep_;
  rep_ += added;
  count_ += other.count_;
}

void WriteBatch::Iterate(Handler* handler) const {
  for (size_t at = 0; at + kRecordHead <= rep_.size();) {
    uint32_t key_bytes = 0;
    uint32_t value_bytes = 0;
    std::memcpy(&key_bytes, rep_.data() + at + 1, 4);
    std::memcpy(&value_bytes, rep_.data() + at + 5, 4);
    const Slice key(rep_.data() + at + kRecordHead, key_bytes);
    const Slice value(key.data() + key_bytes, value_bytes);
    if (rep_[at] == kPutRecord) {
      handler->Put(key, value);
    } else {
      handler->Delete(key);
    }
    at += kRecordHead + key_bytes + value_bytes;
  }
}

}  // namespace braid
