// Purpose: deletes all keys of ranges, on their own or within a batch. The keys are read and then
// deleted in batches, not covered by one mark: a mark would have to be asked for by every later
// read of the range, and outlive every table that it covers. So deleting costs by the number of
// keys, and nothing afterwards.
// Thread safety: any thread; one at a time, the others wait.
// Invariants:
//   1. The whole is one step among writes; see range_deleter.cc.
//   2. What Write deletes is one batch with what it writes: readers and crashes find all or
//      nothing.
// Persistence: that of batches (writer.h); a crash in the middle of a Delete leaves some of the
// keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "read/reader.h"
#include "write/writer.h"

namespace braid::write {

class RangeDeleter {
 public:
  /// What is deleted from, and outlives the deleter.
  struct Store {
    const Options* options;
    pool::PmemPool* pool;
    const level::VersionSet* versions;
    const space::Reclaimer* reclaimer;
    read::Reader* reader;
    Writer* writer;
  };

  explicit RangeDeleter(const Store& store) noexcept : store_(store) {}

  /// Keys from `begin` to before `end`; none: to the last. `deleted`: how many went, after an error
  /// too. Errors: as a batch.
  Status Delete(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                uint64_t* deleted);

  /// All updates of a batch, which may have ranges, as one step; `unchanged` (may be null) as for
  /// Writer::WriteAll: of the keys of ranges it counts as a change that one was put. Errors: as a
  /// batch, and Corruption.
  Status Write(const WriteOptions& options, const WriteBatch& batch,
               const Writer::Unchanged* unchanged);

 private:
  struct Keys;
  struct Range {
    Slice begin;
    std::optional<Slice> end;  // exclusive; none: to the last key
  };
  Status Admit();
  /// What is read: keys from `from` on, `step` at most. Busy where one was put after `since`.
  struct Look {
    const std::string* from;
    size_t step;
    uint64_t since = index::kLatest;
  };

  template <class Call>
  Status WhileKept(const base::KeyRangeSet& ranges, Call&& call);
  Status DeleteKeys(const WriteOptions& options, const Range& range, uint64_t* deleted);
  Status WriteShown(const WriteOptions& options, Writer::NetUpdates updates,
                    const Writer::Unchanged* unchanged);
  Status ReadKeys(const Range& range, const Look& look, Keys* keys);
  Status CheckKeyOf(const level::MergingIterator& at) const;
  Status CheckAge(const level::MergingIterator& at, const index::ReadView& view,
                  uint64_t since) const;

  const Store store_;
};

}  // namespace braid::write
