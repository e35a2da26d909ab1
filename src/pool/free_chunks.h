// Purpose: the free chunks of a pool: a list for each region, the reserve for deletes and copies,
// and a contiguous run that is kept for a large value; and those of them that are holes, whose
// pages were given back to the file system (holes.h). Chunk numbers only; the caller stores the
// states on the medium, and asks the file system.
// Thread safety: all calls from any thread; each is one step to the others.
// Invariants:
//   1. A chunk is in one list at most, that of its region, and no chunk twice: else two would get
//      it.
//   2. A list has room for all chunks of its region, so that freeing one allocates nothing.
//   3. The chunks of a segment that was announced and not yet listed count neither as free nor as
//      used.
//   4. What is taken has its pages. So the reserve has: a hole may find the device full.
//   5. The chunks in front of a list are those that were free for longest, as long as nobody looks
//      for a run.
// Persistence: none; an open fills the lists from the states on the medium.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "format/layout.h"

namespace braid::pool {

/// What an allocation is for: it decides whether the last free chunks may be used.
enum class AllocationClass : uint8_t {
  kWrite,       ///< puts and batches: leave the reserve alone
  kDelete,      ///< deletes: may use the reserve, so that space can be freed in a full pool
  kBackground,  ///< merges and collection: may use everything
  kFlush,       ///< copies of a log: use what is kept for them
};

/// The class of one write.
constexpr AllocationClass ClassOf(format::EntryOp op) noexcept {
  return op == format::EntryOp::kDelete ? AllocationClass::kDelete : AllocationClass::kWrite;
}

class FreeChunks {
 public:
  /// Room for so many chunks in the list of a region.
  void Reserve(uint32_t region, uint64_t chunks);
  /// A segment of `chunks`, some of them in use, as it is found or made before anybody allocates.
  /// The last one of `free` is taken first. `holes`: these may be some.
  void Add(uint32_t region, uint64_t chunks, const std::vector<uint64_t>& free, bool holes = false);
  /// The same in two steps, for a segment that comes while others allocate: it is there; its free
  /// chunks can be taken, after all that were free before. Reserve has made room.
  void Announce(uint64_t chunks, uint64_t free) noexcept;
  void List(uint32_t region, const std::vector<uint64_t>& free) noexcept;

  /// First of `count` neighbouring chunks of a region, none when there are none with pages that
  /// this class may have. What is kept is for writes of large values only.
  std::optional<uint64_t> Take(uint64_t count, uint32_t region, AllocationClass allocation);
  void GiveBack(uint64_t chunk, uint32_t region) noexcept;
  /// A chunk has become one whose entries are to be copied; as many chunks are kept free for that,
  /// twice over, unless KeepForCopies says less. / It has ceased to be one.
  void AddWriteAhead() noexcept { write_ahead_.fetch_add(1, std::memory_order_relaxed); }
  void RemoveWriteAhead() noexcept;
  /// No more than so many are kept for copies, those of one flush, where the pool can be made
  /// larger for the next one; and an eighth of what AddWriteAhead counts, which the towers of all
  /// copies take. ~0: as many as AddWriteAhead says.
  void KeepForCopies(uint64_t chunks) noexcept {
    most_copies_.store(chunks, std::memory_order_relaxed);
  }
  /// A flush has ended, or gives its copies back: what it took by kFlush is no longer a part of
  /// what is kept for copies. Before any of these chunks is free. `copied`: so many chunks of logs
  /// have been copied, and will be free once readers have left them.
  void EndCopies(uint64_t copied) noexcept;
  /// Writes leave more alone than they do else: what deletes hide takes room to be let go. Twice as
  /// much, or twice what a list has if there are half of `most_lists`: deletes leave room for one.
  void KeepForRewrites(uint64_t most_lists) noexcept {
    most_lists_.store(most_lists, std::memory_order_relaxed);
  }

  /// Keeps the free chunks of a run, and those that become free there, for an extent of up to
  /// `count` chunks that a write asks for; one run at a time, the last one. So the rest of it can
  /// be emptied without other allocations filling it again.
  void KeepRun(uint64_t first, uint64_t count, uint32_t region);
  /// Anybody may have the chunks of the run that was kept.
  void LetRunGo() noexcept;
  /// Whether a write could have a run of `count` chunks now, without growth.
  bool HasRun(uint64_t count);

  /// Free chunks that nobody gets until PutBack, in no order, while the file system is asked to
  /// take or to give their pages. All of these throw std::bad_alloc, and have done nothing then.
  using Aside = std::vector<uint64_t>;
  /// Those that were free for longest, at most `most`, while more than `keep` with pages are left
  /// in the region. Not those of the run that is kept.
  Aside SetColdAside(uint32_t region, uint64_t most, uint64_t keep);
  /// At most `most` holes of a region.
  Aside SetHolesAside(uint32_t region, uint64_t most);
  /// The holes of a run.
  Aside SetHolesOfRunAside(uint64_t first, uint64_t count, uint32_t region);
  struct Missing {
    Aside chunks;
    uint32_t region = 0;
  };
  /// Those without which Take finds nothing, or some of them; empty: holes would not help. What
  /// must be left to others may be in any region.
  Missing SetMissingAside(uint64_t count, uint32_t region, AllocationClass allocation);
  /// They are holes now, or not.
  void PutBack(const Aside& chunks, uint32_t region, bool holes) noexcept;
  /// How many times chunks were put back. / Waits until some were since it was `times`: who has
  /// found no room meanwhile might have one of them. False: none was, and none is aside. Who has
  /// set them aside asks the file system, and for no chunk.
  uint64_t times_put_back() const noexcept;
  bool AwaitPutBack(uint64_t times) noexcept;
  /// Whether the device had pages for the holes that were asked for last. Where it had none, holes
  /// are no room: a write that waits for some would wait for good.
  void NoteFill(bool had_pages) noexcept;

  /// Holes among them.
  uint64_t free() const;
  uint64_t free_of(uint32_t region) const;
  /// With pages.
  uint64_t resident_of(uint32_t region) const;
  uint64_t holes_of(uint32_t region) const;
  uint64_t holes() const;
  /// Those of [first, first + count) that are holes, or may be.
  std::vector<uint64_t> HolesIn(uint64_t first, uint64_t count, uint32_t region) const;
  /// Free chunks except those that writes must leave alone; below zero when too few are left.
  int64_t spare() const;
  /// Those that writes must leave alone where no flush is under way.
  uint64_t reserve_at_rest() const;
  /// Those that writes will have to leave alone once they have taken `more` chunks.
  uint64_t reserve(uint64_t more = 0) const;
  /// Chunks that hold something, headers among them.
  uint64_t used() const;
  /// Exact when none is allocated or freed meanwhile.
  uint64_t write_ahead() const noexcept { return write_ahead_.load(std::memory_order_relaxed); }
  /// Chunks that were taken in all, except for copies, for which room is kept.
  uint64_t taken() const noexcept { return taken_.load(std::memory_order_relaxed); }
  /// All free chunks of a region, as they are now.
  std::vector<uint64_t> ListOf(uint32_t region) const;

 private:
  struct Region {
    std::vector<uint64_t> free;   // with pages, taken from the back; has room for all there are
    std::vector<uint64_t> holes;  // has room for all there are
    std::vector<uint64_t> aside;  // has room for all there are
    size_t all() const noexcept { return free.size() + holes.size() + aside.size(); }
  };
  uint64_t TakeOne(std::vector<uint64_t>* free) BRAID_REQUIRES(mutex_);
  std::optional<size_t> FindRun(const std::vector<uint64_t>& sorted, uint64_t count,
                                bool kept_too) const BRAID_REQUIRES(mutex_);
  static void Sort(std::vector<uint64_t>* chunks);
  std::vector<uint64_t> FreeAndHoles(const Region& region) const BRAID_REQUIRES(mutex_);
  Aside MoveAside(Region* region, std::vector<uint64_t>* from, Aside chunks) BRAID_REQUIRES(mutex_);
  bool IsKept(uint64_t chunk) const noexcept BRAID_REQUIRES(mutex_) {
    return chunk - kept_.first < kept_.count;
  }
  uint64_t Count() const noexcept BRAID_REQUIRES(mutex_);
  uint64_t Resident() const noexcept BRAID_REQUIRES(mutex_);
  /// Those that a write may hope for.
  uint64_t Usable() const noexcept BRAID_REQUIRES(mutex_) {
    return holes_refused_ ? Resident() : Count();
  }
  uint64_t ReserveFor(AllocationClass allocation, uint64_t more_logs = 0) const noexcept
      BRAID_REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::array<Region, format::kMaxRegions> regions_ BRAID_GUARDED_BY(mutex_);
  base::CondVar put_back_;
  uint64_t times_put_back_ BRAID_GUARDED_BY(mutex_) = 0;
  bool holes_refused_ BRAID_GUARDED_BY(mutex_) = false;
  uint64_t chunks_ BRAID_GUARDED_BY(mutex_) = 0;  // free or not, those of the next field among them
  uint64_t unlisted_ BRAID_GUARDED_BY(mutex_) =
      0;  // free chunks of a segment that is just being added
  // The run that is kept, and how many of its chunks are free, with pages; no chunks: there is
  // none.
  struct {
    uint64_t first = 0;
    uint64_t count = 0;
    uint64_t free = 0;
    uint32_t region = 0;
  } kept_ BRAID_GUARDED_BY(mutex_);
  std::atomic<uint64_t> write_ahead_{0};
  std::atomic<uint64_t> leaving_{0};  // of these: copied, and free soon; at most so many
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint64_t> most_copies_{~0ull};  // that are kept free for
  std::atomic<uint64_t> copied_{0};           // chunks that the flush under way has taken
  std::atomic<uint64_t> most_lists_{0};       // of levels that are rewritten; 0: none is
};

}  // namespace braid::pool
