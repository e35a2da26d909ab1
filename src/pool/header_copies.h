// Purpose: the header of a pool, of which the medium has two copies: its features, whether it was
// closed cleanly, its number of segments.
// Thread safety: Make and Read before others know the pool; all else from any thread.
// Invariants:
//   1. At every moment one copy on the medium is intact, and what it says was true.
//   2. A header that is written later has a higher count.
//   3. What a copy says of the devices lies in a record of its own behind it, and counts where both
//      are of the same change; so does what it says of the tier.
//   4. Features and the number of segments only grow; of what get() gives without a lock, only they
//      and the marks of a session change once the pool is open.
// Persistence: a change is the pool's once the first of the copies has it; durable on return.
#pragma once

#include <cstdint>
#include <optional>

#include "base/mutex.h"
#include "braid/options.h"
#include "braid/status.h"
#include "format/layout.h"
#include "media/persist.h"
#include "pool/chunk_space.h"

namespace braid::pool {

class HeaderCopies {
 public:
  HeaderCopies(ChunkSpace* space, media::PersistOps* ops) noexcept : space_(*space), ops_(*ops) {}

  /// That of a new pool with one segment, in DRAM; Write makes it the pool's.
  void Make(const Options& options) BRAID_NO_THREAD_CHECK;
  /// The newer intact copy. Errors: Corruption, NotSupported.
  Status Read() BRAID_NO_THREAD_CHECK;
  Status Write();

  // Without the lock: see invariant 4.
  const format::PoolHeader& get() const noexcept BRAID_NO_THREAD_CHECK { return header_; }
  /// Of the copy that was read: its offset.
  uint64_t place() const noexcept BRAID_NO_THREAD_CHECK {
    return format::kPoolHeaderOffset[newest_];
  }

  /// Dirty shutdowns that the header says, of the copy that was read or written; none: it does not
  /// say.
  std::optional<uint64_t> dirty_shutdowns() const BRAID_NO_THREAD_CHECK { return dirty_shutdowns_; }
  /// The next change of the header says so too.
  void SetDirtyShutdowns(std::optional<uint64_t> count);

  /// The tier that the header names, of the copy that was read or written; none: it names none.
  /// Errors: Corruption (neither copy's record is intact).
  Result<std::optional<format::TierRecord>> tier() const;
  /// The next change of the header names it; with the feature kIncompatTier.
  void SetTier(const format::TierRecord& record);
  /// Before that feature is announced.
  Status PrepareTier();

  /// Readers must know `incompat`.
  Status Require(uint64_t incompat);
  /// The same, but nothing is written when the header says so already.
  Status Announce(uint64_t incompat);
  /// The same of what readers need not know.
  Status AnnounceCompat(uint64_t compat);
  Status AnnounceFormatVersion();
  /// Writes follow, which may use the features `incompat`.
  Status MarkDirty(uint64_t incompat);
  /// The pool was closed in order. When the medium fails meanwhile it is marked dirty again.
  Status MarkClean();
  Status SetGenerationFloor(uint64_t floor);
  Status SetSegments(uint64_t segments);

 private:
  Status WriteLocked() BRAID_REQUIRES(mutex_);
  void WriteDeviceRecord(uint64_t place) BRAID_REQUIRES(mutex_);
  std::optional<uint64_t> ReadDeviceRecord() const BRAID_REQUIRES(mutex_);
  void WriteTierRecord(uint64_t place) BRAID_REQUIRES(mutex_);
  std::optional<format::TierRecord> ReadTierRecord() BRAID_REQUIRES(mutex_);

  ChunkSpace& space_;
  media::PersistOps& ops_;
  mutable base::Mutex mutex_;
  format::PoolHeader header_ BRAID_GUARDED_BY(mutex_){};
  int newest_ BRAID_GUARDED_BY(mutex_) = 0;  // copy that is known to be intact
  std::optional<uint64_t> dirty_shutdowns_ BRAID_GUARDED_BY(mutex_);
  std::optional<format::TierRecord> tier_ BRAID_GUARDED_BY(mutex_);
};

}  // namespace braid::pool
