// Purpose, thread safety, persistence: see failed_snapshot.h.
#include "engine/failed_snapshot.h"

#include "base/no_throw.h"

namespace braid::engine {

namespace {

class FailedSnapshot final : public Snapshot {
 public:
  uint64_t sequence() const noexcept override { return 0; }
  const void* owner() const noexcept override { return this; }
  Status status() const noexcept override { return Status::OutOfMemory(); }
};

/// Never destroyed: handles of static duration may outlive it.
const FailedSnapshot& TheFailedSnapshot() noexcept {
  alignas(FailedSnapshot) static unsigned char room[sizeof(FailedSnapshot)];
  static const FailedSnapshot* const snapshot = ::new (room) FailedSnapshot;
  return *snapshot;
}

}  // namespace

std::shared_ptr<const Snapshot> NewFailedSnapshot() noexcept {
  return {std::shared_ptr<const Snapshot>(), &TheFailedSnapshot()};
}

Status CheckSnapshot(const Snapshot& snapshot, const void* owner) noexcept {
  if (snapshot.owner() == owner) return Status::OK();
  if (&snapshot == &TheFailedSnapshot()) return snapshot.status();
  return base::NoThrow([] {
    return Status::InvalidArgument(
        "the snapshot is of another database; take one of this database with GetSnapshot()");
  });
}

}  // namespace braid::engine
