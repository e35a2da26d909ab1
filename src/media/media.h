// Purpose: where a pool's bytes live. A pool is an array of segments, mapped one after the other
// into one reserved address range, so that a pool offset plus base() is an address. FileMedia maps
// files of a directory through libpmem2; the crash simulator brings memory of its own.
// Thread safety: AddSegment, PublishSegment and DropSegment are called by one thread at a time; the
// rest by any.
// Invariants:
//   1. A published segment never moves and is never unmapped before Close.
// Persistence: PublishSegment is the commit point of a segment's existence: what was persisted in
// it before is there whenever the segment is there.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "braid/key_order.h"
#include "braid/options.h"
#include "braid/status.h"
#include "media/persist.h"

namespace braid::media {

class ReadersFile;

class Media {
 public:
  virtual ~Media() = default;

  /// First address of the reserved range.
  virtual char* base() const noexcept = 0;
  virtual uint64_t reserved_bytes() const noexcept = 0;
  virtual MediaClass media_class() const noexcept = 0;
  virtual bool media_class_forced() const noexcept = 0;
  /// Sizes of the published segments, in order; all are mapped when the media is opened.
  virtual std::vector<uint64_t> segment_bytes() const = 0;

  /// Allocates (never sparse) and maps a segment of `bytes` zero bytes behind the last one. It does
  /// not exist after a crash until PublishSegment. Errors: OutOfSpace, IOError.
  virtual Status AddSegment(uint64_t bytes) = 0;
  /// The same on the device of a region, where the regions lie on devices of their own.
  virtual Status AddSegmentOf(uint32_t /*region*/, uint64_t bytes) { return AddSegment(bytes); }
  /// Makes the segment that AddSegment mapped last a part of the pool.
  virtual Status PublishSegment() = 0;
  /// Takes back the segment that AddSegment mapped last, after PublishSegment failed or was not
  /// called. Error: it may still be found at the next open.
  virtual Status DropSegment() = 0;

  /// Page-cache media: makes all stores so far survive power loss. Other media: nothing to do.
  Status Sync(Site site) { return IsDropped(site) ? Status::OK() : SyncAll(); }
  /// Likewise for the pages of [offset, offset + bytes) only, which lie in one segment.
  Status SyncRange(uint64_t offset, uint64_t bytes, Site site) {
    return IsDropped(site) ? Status::OK() : SyncPages(offset, bytes);
  }
  /// Of page-cache media: where the caller marks all flushes from here on, so that Sync leaves
  /// alone what needs none; null: Sync does not ask. Before any other thread knows the pool.
  virtual SyncMarks* UseSyncMarks() noexcept { return nullptr; }
  /// ok, or the error of the first sync that failed. Every later one, PublishSegment's included,
  /// gives the same: what was lost is not known, and syncs after it would not tell.
  virtual Status SyncError() const { return Status::OK(); }
  /// Touches pages ahead of their use, so that no writer pays for the first touch. A hint.
  virtual void Prefault(uint64_t offset, uint64_t bytes) noexcept = 0;

  /// Null where pages can be given back to the file system, else why not, in words.
  virtual const char* WhyNoHoles() const noexcept { return "this medium has no file system"; }
  /// So many bytes of the segments keep their pages whatever is free: what a user has asked for
  /// when the pool was made is there.
  virtual uint64_t kept_bytes() const noexcept { return 0; }
  /// Gives the pages of [offset, offset + bytes) back, whole pages of one segment: they read as
  /// zeros from then on; after a crash as zeros, or as they were. A read may bring a page
  /// again. Errors: NotSupported (and WhyNoHoles says why from then on), IOError.
  virtual Status PunchHole(uint64_t /*offset*/, uint64_t /*bytes*/) {
    return Status::NotSupported(WhyNoHoles());
  }
  /// Asks for pages that were given back, or may have been: until they are given back again a store
  /// to them finds room. Nothing where they are there. Errors: OutOfSpace, IOError.
  virtual Status FillHole(uint64_t /*offset*/, uint64_t /*bytes*/) { return Status::OK(); }
  /// False: all of it is zeros, in a hole, or was never written. A system call.
  virtual bool HasData(uint64_t /*offset*/, uint64_t /*bytes*/) const noexcept { return true; }
  /// Bytes that the segments take on their file systems, holes not among them; none: not known.
  virtual std::optional<uint64_t> allocated_bytes() const { return std::nullopt; }

  /// What a concurrent reader of a pool may look at (reader_slots.h).
  struct Cut {
    uint64_t tables;    ///< up to this id, and no log
    uint64_t sequence;  ///< no number in these tables is higher
  };
  virtual std::optional<Cut> cut() const noexcept { return std::nullopt; }
  /// The engine that writes answers concurrent readers from here on: the lock says so, and they may
  /// ask through the file that is returned. Null: there is none.
  virtual std::shared_ptr<ReadersFile> AnswerReaders() { return nullptr; }
  /// It does not, and the lock says so.
  virtual void RefuseReaders() {}

  /// True when the medium was opened for reading: what is stored is seen by this process alone.
  virtual bool read_only() const noexcept { return false; }
  /// Of a medium opened for reading: from now on a store faults.
  virtual Status Seal() { return Status::OK(); }

  /// 0, or 1 + the offset at which the medium first failed under a load or store: from then on what
  /// was read may be zeros, and what was stored is lost.
  virtual const std::atomic<uint64_t>& fault() const noexcept {
    static const std::atomic<uint64_t> none{0};
    return none;
  }

  /// How often the memory modules below the pool were shut down dirty, in sum; none: not told.
  virtual std::optional<uint64_t> dirty_shutdowns() const { return std::nullopt; }

  /// NUMA node of the device that holds `offset`; negative when it is not known.
  virtual int NodeAt(uint64_t /*offset*/) const { return -1; }

  /// Name of the order that the pool's keys are encoded for (braid/key_order.h): a new pool's
  /// header gets it, and an older one's must have it. It is passed through here because the code
  /// that opens the medium knows it, and nothing between there and the header needs it. Set before
  /// the pool is opened.
  const std::string& key_order() const noexcept { return key_order_; }
  void set_key_order(std::string name) { key_order_ = std::move(name); }

  /// Lets another handle open the pool; the mappings stay until destruction.
  virtual void Unlock() {}

  /// An identifier of this run of the operating system: unwritten cache contents cannot outlive it.
  virtual std::string boot_id() const = 0;
  /// Name of the file that holds `offset`, and the place in it, for messages:
  /// "segment-000001+0x1f0".
  virtual std::string Locate(uint64_t offset) const = 0;
#if defined(BRAID_CRASHSIM)
  virtual PersistHook* hook() noexcept { return nullptr; }
#endif

 protected:
  virtual Status SyncAll() = 0;
  virtual Status SyncPages(uint64_t offset, uint64_t bytes) = 0;

 private:
  std::string key_order_{kBytewiseOrder};
};

}  // namespace braid::media
