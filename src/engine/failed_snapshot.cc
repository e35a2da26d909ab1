// Purpose: snapshots that carry an error.
// Thread safety, persistence: see failed_snapshot.h.
#include "engine/failed_snapshot.h"

#include <utility>

#include "base/check.h"
#include "base/no_throw.h"

namespace braid::engine {

namespace {

Status NoMemory() noexcept { return Status::OutOfMemory(); }

Status NotSupportedHere() noexcept {
  return base::CatchToStatus([] {
    return Status::NotSupported(
        "the design of this database has no snapshots; a pool of the design \"braid\" has them");
  });
}

template <Status (*kWhy)() noexcept>
class FailedSnapshot final : public Snapshot {
 public:
  uint64_t sequence() const noexcept override { return 0; }
  const void* owner() const noexcept override { return this; }
  Status status() const noexcept override { return kWhy(); }
};

class SnapshotWithReason final : public Snapshot {
 public:
  explicit SnapshotWithReason(Status why) noexcept : why_(std::move(why)) {}
  uint64_t sequence() const noexcept override { return 0; }
  const void* owner() const noexcept override { return this; }
  Status status() const noexcept override {
    return base::CatchToStatus([&] { return why_; });
  }

 private:
  const Status why_;
};

/// Never destroyed: handles of static duration may outlive it.
template <class Kind>
const Kind& TheOne() noexcept {
  alignas(Kind) static unsigned char room[sizeof(Kind)];
  static const Kind* const snapshot = ::new (room) Kind;
  return *snapshot;
}

const Snapshot& WithoutMemory() noexcept { return TheOne<FailedSnapshot<NoMemory>>(); }
const Snapshot& NotSupported() noexcept { return TheOne<FailedSnapshot<NotSupportedHere>>(); }

}  // namespace

std::shared_ptr<const Snapshot> NewFailedSnapshot() noexcept {
  return {std::shared_ptr<const Snapshot>(), &WithoutMemory()};
}

std::shared_ptr<const Snapshot> NewFailedSnapshot(Status why) {
  BRAID_DCHECK(!why.ok());  // it would pass for a state of the database
  return std::make_shared<SnapshotWithReason>(std::move(why));
}

std::shared_ptr<const Snapshot> NewUnsupportedSnapshot() noexcept {
  return {std::shared_ptr<const Snapshot>(), &NotSupported()};
}

Status CheckSnapshot(const Snapshot& snapshot, const void* owner) noexcept {
  if (snapshot.owner() == owner) return Status::OK();
  if (Status s = snapshot.status(); !s.ok()) return s;
  return base::CatchToStatus([] {
    return Status::InvalidArgument(
        "the snapshot is of another database; take one of this database with GetSnapshot()");
  });
}

}  // namespace braid::engine
