// Purpose: the simulator's Media.
// Thread safety, invariants, persistence: see sim_media.h.
#include "sim/sim_media.h"

#if defined(BRAID_CRASHSIM)

#include <cstdio>

namespace braid::sim {

Status SimMedia::AddSegment(uint64_t bytes) {
  if (read_only_) return Status::NotSupported("the simulated pool is opened read-only");
  SimArea* area = sim_->memory();
  const uint64_t offset = area->published_bytes();
  if (bytes == 0 || bytes % media::kLineBytes != 0) {
    return Status::InvalidArgument("a segment must be a multiple of a cache line");
  }
  if (bytes > area->bytes() - offset) {
    return Status::OutOfSpace("the simulated device is full; give the SimArea more bytes");
  }
  sim_->AddSegment(offset, bytes);
  return Status::OK();
}

Status SimMedia::PublishSegment() {
  if (sim_->memory()->unpublished() == 0) {
    return Status::InvalidArgument("there is no segment to publish: call AddSegment first");
  }
  sim_->PublishSegment();
  return Status::OK();
}

Status SimMedia::PunchHole(uint64_t offset, uint64_t bytes) {
  if (read_only_) return Status::NotSupported(WhyNoHoles());
  sim_->PunchHole(offset, bytes);
  return Status::OK();
}

Status SimMedia::FillHole(uint64_t offset, uint64_t bytes) {
  if (!read_only_) sim_->FillHole(offset, bytes);
  return Status::OK();
}

Status SimMedia::SyncAll() {
  if (!read_only_) sim_->OnSyncOfFlushed();
  return Status::OK();
}

Status SimMedia::SyncPages(uint64_t offset, uint64_t bytes) {
  if (!read_only_) sim_->OnSync(offset, bytes);
  return Status::OK();
}

std::string SimMedia::Locate(uint64_t offset) const {
  uint64_t begin = 0;
  size_t index = 0;
  for (const uint64_t bytes : sim_->memory()->segments()) {
    if (offset < begin + bytes) break;
    begin += bytes;
    ++index;
  }
  char text[64];
  std::snprintf(text, sizeof text, "segment-%06zu+0x%llx", index,
                static_cast<unsigned long long>(offset - begin));
  return text;
}

}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
