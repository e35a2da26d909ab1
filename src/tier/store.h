// Purpose: the interface of what lies below a pool, on a block device: sorted runs go in, keys are
// looked up and walked over. Of each key it has one version at most, the newest that was moved out
// of the pool, with its number; a delete is such a version, until it hides nothing any more.
// Thread safety: Get, MayHold, NewWalk, sizes by any thread; all else by one thread at a time,
// beside them.
// Invariants:
//   1. A run that was taken in is seen by each Get and NewWalk that begins later.
//   2. The numbers of a key's versions grow with the runs.
// Persistence: what Ingest has taken in may be lost with the power until Sync has returned; never a
// part of a run, and never a run while one taken in later stays.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"
#include "braid/status.h"
#include "index/read_view.h"
#include "tier/record.h"

namespace braid::tier {

/// An entry of a run; the bytes are the caller's.
struct RunEntry {
  std::string_view key;
  std::string_view value;
  uint64_t sequence = 0;
  bool is_delete = false;
};

/// Cursor over all there was when it was made: keys in the order of bytes, with their records.
class Walk {
 public:
  Walk() = default;
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
  virtual ~Walk() = default;

  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  /// To the first key >= `key` / the last key <= `key`.
  virtual void SeekGE(std::string_view key) = 0;
  virtual void SeekLE(std::string_view key) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  /// Until the next move.
  virtual std::string_view key() const = 0;
  virtual std::string_view record() const = 0;
  /// Not ok when it has stopped at damage; it is not valid then.
  virtual Status status() const = 0;
};

using Id = std::array<uint8_t, 16>;

struct Sizes {
  uint64_t bytes = 0;  ///< on the device
  /// Keys and deletes. A key that went more than once counts for each time, until the device's
  /// store has put its versions together; so it is 0 only where there is nothing.
  uint64_t records = 0;
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Its own number, which the pool knows, and that of the pool which it belongs to.
  virtual const Id& id() const noexcept = 0;
  virtual const Id& pool_id() const noexcept = 0;

  /// Takes in a run: ascending keys, each newer than what is there of it. Errors: OutOfSpace,
  /// IOError; then it has taken in nothing.
  virtual Status Ingest(std::span<const RunEntry> run) = 0;
  /// What was taken in so far is durable when it returns.
  virtual Status Sync() = 0;
  /// The number of the last run, those of earlier sessions included; 0: there was none.
  virtual uint64_t last_run() const noexcept = 0;
  /// Nothing that deletes of the runs up to this one hide can come back from the pool any more:
  /// these records may go. Not before.
  virtual void Settle(uint64_t run) noexcept = 0;

  /// The record of a key, or absent. Errors: Corruption, IOError.
  virtual Status Get(std::string_view key, Found* found) const = 0;
  /// False only where it has no record of the key. Without reading from the device where that can
  /// be helped.
  virtual bool MayHold(std::string_view key) const noexcept = 0;
  /// Throws std::bad_alloc.
  virtual std::unique_ptr<Walk> NewWalk() const = 0;
  /// At least the number of the newest version that ever was moved; 0: none was.
  virtual uint64_t newest_sequence() const noexcept = 0;
  /// Cost: nothing where the tier is as it was at the call before; else a look at each of its
  /// tables, in DRAM.
  virtual Sizes sizes() const = 0;
  /// DRAM that its filters, indexes and caches take. Cost: as sizes().
  virtual uint64_t memory_bytes() const noexcept { return 0; }
  /// Whether it puts together what it has taken in, or is about to.
  virtual bool IsBusy() const noexcept { return false; }
  /// Reads everything. Errors: Corruption, with the file's name.
  virtual Status Verify() const = 0;
  using Take = std::function<Status(std::string_view key, std::string_view record)>;
  /// Of keys behind the first one, up to the second one (none: to the end), some can't be read.
  using TellDamage = std::function<void(const Status& damage, std::string_view behind,
                                        const std::optional<std::string>& up_to)>;
  /// For a repair: all that can be read, in the order of keys, past what is damaged. Errors: those
  /// of `take`. Throws std::bad_alloc.
  virtual Status ForEachReadable(const Take& take, const TellDamage& tell) const = 0;
  /// Nothing may be called afterwards; walks that are alive may be used on. Another process may
  /// open it when the last of them is gone.
  virtual void Close() noexcept {}
};

}  // namespace braid::tier
