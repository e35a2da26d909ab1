// Purpose: WriteBatch, updates that become visible and durable together or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "braid/status.h"

namespace braid {

/// A list of updates, applied in order by DB::Write as one atomic step; a later update of the same
/// key wins. Not thread-safe. Copies its keys and values. Made by the caller and not by a database:
/// where memory runs out it throws std::bad_alloc as a std::string does, and stays as it was. An
/// update whose key or value is longer than kMaxValueBytes is not added; status() says so from then
/// on, and DB::Write refuses the batch.
class WriteBatch {
 public:
  /// Receives the updates in order.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void Put(Slice key, Slice value) = 0;
    virtual void Delete(Slice key) = 0;
  };

  void Put(Slice key, Slice value);
  void Delete(Slice key);
  void Clear() noexcept;
  /// Adds the updates of `other` after those here, and what its status() says.
  void Append(const WriteBatch& other);
  /// ok, or InvalidArgument about the first update that was too long since the last Clear().
  const Status& status() const noexcept { return status_; }
  /// Calls `handler` for every update that was added.
  void Iterate(Handler* handler) const;

  /// Number of updates.
  size_t Count() const noexcept { return count_; }
  /// Bytes the batch holds in memory: keys, values and 9 bytes an update.
  size_t ApproximateBytes() const noexcept { return rep_.size(); }

 private:
  void Add(char op, Slice key, Slice value);

  std::string rep_;  // records: op (1 byte), key length, value length (u32 each), key, value
  size_t count_ = 0;
  Status status_;
};

}  // namespace braid
