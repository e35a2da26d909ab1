// Purpose: what the tier keeps with a key: number, kind, run and value; and the answer of a lookup.
// Thread safety: values.
// Persistence: the bytes of a record are part of the tier's format (docs/internals/formats.md).
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/check.h"
#include "format/entry.h"
#include "index/read_view.h"

namespace braid::tier {

/// In front of the value.
struct RecordHead {
  uint64_t sequence_and_op;  // as in EntryHeader, without flags
  uint64_t run;              // that brought it

  uint64_t sequence() const noexcept { return sequence_and_op >> 8; }
  format::EntryOp op() const noexcept {
    return static_cast<format::EntryOp>(sequence_and_op & format::kOpMask);
  }
  bool is_delete() const noexcept { return op() == format::EntryOp::kDelete; }
};
static_assert(sizeof(RecordHead) == 16);

/// False: the bytes are no record.
inline bool ReadRecordHead(std::string_view record, RecordHead* head) noexcept {
  if (record.size() < sizeof *head) return false;
  std::memcpy(head, record.data(), sizeof *head);
  return head->op() == format::EntryOp::kPut || head->op() == format::EntryOp::kDelete;
}

inline void AppendRecord(uint64_t sequence, bool is_delete, uint64_t run, std::string_view value,
                         std::string* record) {
  BRAID_DCHECK(sequence <= format::kMaxSequence && (!is_delete || value.empty()));
  const auto op = is_delete ? format::EntryOp::kDelete : format::EntryOp::kPut;
  const RecordHead head{sequence << 8 | static_cast<uint64_t>(op), run};
  record->append(reinterpret_cast<const char*>(&head), sizeof head);
  record->append(value);
}

/// What a lookup has found. Keeps the value.
class Found {
 public:
  /// False: the bytes are no record.
  bool Take(std::string&& record) {
    RecordHead head;
    if (!ReadRecordHead(record, &head)) return false;
    bytes_ = std::move(record);
    Show(head);
    return true;
  }
  /// The same with what another has taken. Throws std::bad_alloc.
  void Copy(std::string_view bytes) {
    RecordHead head;
    BRAID_CHECK(ReadRecordHead(bytes, &head));
    bytes_.assign(bytes);
    Show(head);
  }
  void Clear() noexcept { result_ = {}; }
  /// For Copy; while it shows something.
  std::string_view bytes() const noexcept { return bytes_; }
  /// As that of a table; its value is good as long as this object is.
  const index::LookupResult& result() const noexcept { return result_; }

 private:
  void Show(const RecordHead& head) noexcept {
    // Where the number of the run stood: what a ValueRef leads to (index/read_view.h).
    const auto size = static_cast<uint32_t>(bytes_.size() - sizeof head);
    std::memcpy(bytes_.data() + sizeof head - sizeof size, &size, sizeof size);
    result_.state = head.is_delete() ? index::LookupResult::State::kDeleted
                                     : index::LookupResult::State::kFound;
    result_.sequence = head.sequence() & format::kMaxSequence;
    result_.value = index::ValueRef::At(bytes_.data() + sizeof head - sizeof size);
  }

  std::string bytes_;
  index::LookupResult result_;
};

}  // namespace braid::tier
