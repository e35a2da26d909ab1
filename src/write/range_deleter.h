// Purpose: deletes all keys of a range. The keys are read and then deleted in batches, not covered
// by one mark: a mark would have to be asked for by every later read of the range, and outlive
// every table that it covers. So deleting costs by the number of keys, and nothing afterwards.
// Thread safety: any thread; one at a time, the others wait.
// Invariants:
//   1. The whole is one step among writes; see range_deleter.cc.
// Persistence: that of batches (writer.h); a crash in the middle leaves some of the keys.
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

 private:
  struct Keys;

  Status DeleteKeys(const WriteOptions& options, const KeyRange& range, uint64_t* deleted);
  Status ReadKeys(const KeyRange& range, const std::string& from, size_t step, Keys* keys);
  Status CheckKeyOf(const level::MergingIterator& at) const;

  const Store store_;
};

}  // namespace braid::write
