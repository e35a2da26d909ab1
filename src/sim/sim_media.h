// Purpose: a Media over memory of the crash simulator, so that a database can be opened on the
// bytes that a crash would have left. Only in the crashsim build.
// Thread safety: one thread.
// Invariants:
//   1. The area and the simulator outlive the media.
// Persistence: publication of a segment is atomic, and a crash point precedes it; an unpublished
// segment does not survive.
#pragma once

#if defined(BRAID_CRASHSIM)

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "media/media.h"
#include "sim/sim_persist.h"

namespace braid::sim {

class SimMedia final : public media::Media {
 public:
  /// `boot_id`: another one than the last writer's is a power loss, the same one a process crash.
  /// `read_only`: says so; what is stored all the same is for the caller to take back.
  SimMedia(SimPersist* sim, std::string boot_id, bool read_only = false)
      : sim_(sim), boot_id_(std::move(boot_id)), read_only_(read_only) {}

  char* base() const noexcept override { return sim_->memory()->base(); }
  uint64_t reserved_bytes() const noexcept override { return sim_->memory()->bytes(); }
  MediaClass media_class() const noexcept override { return sim_->media_class(); }
  bool media_class_forced() const noexcept override { return false; }
  std::vector<uint64_t> segment_bytes() const override { return sim_->memory()->segments(); }
  Status AddSegment(uint64_t bytes) override;
  Status PublishSegment() override;
  Status DropSegment() override { return Status::OK(); }
  /// Of pages to which something was flushed since the last one only: finer than any real medium
  /// marks them (media/sync_marks.h), so that what is not flushed is found.
  Status SyncAll() override;
  Status SyncPages(uint64_t offset, uint64_t bytes) override;
  void Prefault(uint64_t, uint64_t) noexcept override {}
  const char* WhyNoHoles() const noexcept override {
    return read_only_ ? "the simulated pool is opened read-only" : nullptr;
  }
  Status PunchHole(uint64_t offset, uint64_t bytes) override;
  Status FillHole(uint64_t offset, uint64_t bytes) override;
  bool read_only() const noexcept override { return read_only_; }
  std::string boot_id() const override { return boot_id_; }
  /// Of the memory modules below; none: they do not say. Before the pool is opened.
  void set_dirty_shutdowns(std::optional<uint64_t> count) { dirty_shutdowns_ = count; }
  std::optional<uint64_t> dirty_shutdowns() const override { return dirty_shutdowns_; }
  std::string Locate(uint64_t offset) const override;
  media::PersistHook* hook() noexcept override { return sim_; }

 private:
  SimPersist* sim_;
  std::string boot_id_;
  const bool read_only_;
  std::optional<uint64_t> dirty_shutdowns_;
};

}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
