// Purpose: WriteBatch, updates that become visible and durable together or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "braid/status.h"

namespace braid {

/// A list of updates, applied in order by DB::Write as one atomic step; a later update of the same
/// key wins, and a later DeleteRange that covers it. Not thread-safe. Copies its keys and values.
/// Made by the caller and not by a database: where memory runs out it throws std::bad_alloc as a
/// std::string does, and stays as it was. An update whose key or value is longer than
/// kMaxValueBytes is not added; status() says so from then on, and DB::Write refuses the batch.
class WriteBatch {
 public:
  /// Receives the updates in order.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void Put(Slice key, Slice value) = 0;
    virtual void Delete(Slice key) = 0;
    /// As the DeleteRange of the batch was called.
    virtual void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) = 0;
  };

  void Put(Slice key, Slice value);
  void Delete(Slice key);
  /// Deletes the keys from `begin` (inclusive; none: from the first) to `end` (exclusive; none: to
  /// the last): those that the database holds when the batch is written, and those of the updates
  /// before this one. Readers, snapshots and crashes find all of it or nothing, however many keys
  /// these are. An empty range is ok. Cost: DB::Write reads the keys, without their values, while
  /// writes to the ranges wait; then it holds all of them in DRAM, beside the memory budget (some
  /// 120 bytes a key, and the key), and all writes wait for its deletes, some hundred nanoseconds
  /// each. Where nobody needs one step, DB::DeleteRange deletes in smaller ones.
  void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end);
  void Clear() noexcept;
  /// Adds the updates of `other` after those here, and what its status() says.
  void Append(const WriteBatch& other);
  /// ok, or InvalidArgument about the first update that was too long since the last Clear().
  const Status& status() const noexcept { return status_; }
  /// Calls `handler` for every update that was added.
  void Iterate(Handler* handler) const;

  /// Number of updates.
  size_t Count() const noexcept { return count_; }
  /// How many of them are ranges.
  size_t Ranges() const noexcept { return ranges_; }
  /// Bytes the batch holds in memory: keys, values and 9 bytes an update.
  size_t ApproximateBytes() const noexcept { return rep_.size(); }

 private:
  void Add(char op, Slice key, Slice value);

  std::string rep_;  // records: op (1 byte), key length, value length (u32 each), key, value;
                     // a range has its end where others have their value
  size_t count_ = 0;
  size_t ranges_ = 0;
  Status status_;
};

}  // namespace braid
