// Purpose: the crash simulator below the seam (persist.h): it records which stores are durable,
// which are pending in which cache line, and produces the memory that a power loss would leave
// behind. Only in the crashsim build; docs/internals/crash-simulator.md has the model and how it
// is used.
// Thread safety: one thread for everything; a store from another thread is reported as a violation.
// Invariants:
//   1. A line's pending stores are kept in program order; what a crash leaves of the line is its
//      durable words plus a prefix of them.
//   2. Rolling back the newest frame of a SimArea restores every line that went through the seam,
//      and the list of segments, to what they were when the frame was pushed.
// Persistence: none; this is the model of it, one a media class: CACHE_LINE (ADR): a flush marks
// what is pending in a line, the next fence of that thread makes what is marked durable, and any
// line may be written back at any time. BYTE (eADR): stores are durable in program order, at the
// latest at the next fence. PAGE (page cache): only a sync makes anything durable; any page may be
// written back at any time, as it was at some moment, and torn between sectors.
#pragma once

#if defined(BRAID_CRASHSIM)

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "media/persist.h"

namespace braid::sim {

inline constexpr size_t kWordsPerLine = media::kLineBytes / sizeof(uint64_t);
using LineWords = std::array<uint64_t, kWordsPerLine>;

/// Memory that stands for a device, with the segments published on it, and undo frames.
class SimArea {
 public:
  explicit SimArea(uint64_t bytes);
  ~SimArea();
  SimArea(const SimArea&) = delete;
  SimArea& operator=(const SimArea&) = delete;

  char* base() const noexcept { return base_; }
  uint64_t bytes() const noexcept { return bytes_; }
  uint64_t lines() const noexcept { return bytes_ / media::kLineBytes; }
  uint64_t* Words(uint64_t line) const noexcept {
    return reinterpret_cast<uint64_t*>(base_ + line * media::kLineBytes);
  }

  const std::vector<uint64_t>& segments() const noexcept { return segments_; }
  uint64_t published_bytes() const noexcept;
  /// Size of the segment that was added and is not yet published; 0: none.
  uint64_t unpublished() const noexcept { return unpublished_; }
  void set_unpublished(uint64_t bytes) noexcept { unpublished_ = bytes; }
  void Publish();
  /// Takes over the segments of a pool that lies in the area.
  void set_segments(std::vector<uint64_t> segments);

  void PushFrame();
  /// Keeps the line's content for PopFrame; call before the line changes. Cheap when it is kept
  /// already.
  void Save(uint64_t line) {
    if (frames_.empty() || saved_in_[line] == frames_.back().id) return;
    SaveSlow(line);
  }
  void PopFrame();
  /// Lines that are not what they were when the newest frame was pushed.
  std::vector<uint64_t> ChangedLines() const;
  bool has_frames() const noexcept { return !frames_.empty(); }

  /// All zero, no segments, no frames.
  void Reset();

 private:
  struct Frame {
    uint64_t id;
    size_t first_saved;
    std::vector<uint64_t> segments;
    uint64_t unpublished;
  };
  struct SavedLine {
    uint64_t line;
    LineWords words;
  };
  void SaveSlow(uint64_t line);

  char* base_;
  uint64_t bytes_;
  std::vector<uint64_t> segments_;
  uint64_t unpublished_ = 0;
  std::vector<Frame> frames_;
  std::vector<SavedLine> saved_;
  std::vector<uint64_t> saved_in_;  // by line: id of the frame that kept it last
  uint64_t next_frame_id_ = 1;
};

/// What a crash may leave in one word: by number of pending stores of its line that have arrived.
struct WordChoices {
  uint64_t word;  ///< of the area
  uint32_t line;  ///< position among the dirty lines
  std::vector<uint64_t> values;
};

/// Why the simulator stops for a look at the possible crash states.
enum class PointKind : uint8_t { kFence, kAcknowledge, kPublish, kSync, kHole };

inline constexpr size_t kSimPageBytes = 4096;
inline constexpr size_t kSimSectorBytes = 512;

/// What may or may not have been written back at a crash point: lines (ADR), pages (page cache), or
/// the stores as one sequence (eADR), each with its pending stores in program order.
class WritebackUnits {
 public:
  /// `lines`: of each dirty line its number and the order of its pending stores.
  struct Line {
    uint64_t line;
    std::vector<uint64_t> orders;
  };
  WritebackUnits(MediaClass media_class, std::vector<Line> lines);

  /// Number of pending stores a unit.
  const std::vector<uint32_t>& counts() const noexcept { return counts_; }
  /// The prefixes of the dirty lines when of each unit the first `choice` stores were written back.
  /// `tear`, if not 0, picks a page (PAGE only) whose later sectors are from another moment.
  std::vector<uint32_t> LinePrefixes(const std::vector<uint32_t>& choice, uint64_t tear) const;

 private:
  MediaClass media_class_;
  std::vector<Line> lines_;
  std::vector<uint32_t> unit_of_;              // by line
  std::vector<std::vector<uint64_t>> orders_;  // by unit, ascending
  std::vector<uint32_t> counts_;
};

class SimPersist final : public media::PersistHook {
 public:
  /// Listens to the stores to `memory`. `durable`, if not null, is another area that holds the
  /// durable content at all times and takes the images; without it images are made in `memory`
  /// itself. `seed` chooses the order in which the words of longer copies are stored.
  SimPersist(SimArea* memory, SimArea* durable, uint64_t seed,
             MediaClass media_class = MediaClass::kCacheLine);

  /// Starts over: nothing is pending, and the memory as it is now counts as durable. `content_hash`
  /// is the hash of that content (0 for an area that is all zero).
  void Start(uint64_t content_hash);
  /// After Start: what is pending in `other` is pending here too. So the caches of a machine whose
  /// process has died are handed to the process that comes next.
  void Inherit(const SimPersist& other);
  /// From here on the calling thread is the one that works.
  void AdoptThread() noexcept { thread_ = std::this_thread::get_id(); }
  /// Likewise, as thread number `lane` of several: a fence covers the flushes of its own lane.
  void AdoptThread(uint32_t lane);
  MediaClass media_class() const noexcept { return media_class_; }
  /// Before Start.
  void set_media_class(MediaClass media_class) noexcept { media_class_ = media_class; }
  /// Off: stores are only kept for the undo frames, fences and points are ignored.
  void set_tracking(bool tracking) noexcept { tracking_ = tracking; }
  /// Called at every crash point, before the fence or publication takes effect.
  void set_on_point(std::function<void(PointKind)> on_point) { on_point_ = std::move(on_point); }
  /// Called after every store and flush, before and after every fence.
  void set_on_step(std::function<void()> on_step) { on_step_ = std::move(on_step); }
  /// The driver calls it when an operation has returned to its caller.
  void Acknowledge() { Point(PointKind::kAcknowledge); }

  void BeforeStore(const void* address, size_t n) override;
  void AfterStore(const void* address, size_t n) override;
  void OnFlush(const void* address, size_t n) override;
  void OnFence() override;
  /// The medium has taken all pages of [offset, offset + n) (PAGE only).
  void OnSync(uint64_t offset, uint64_t n);
  /// The medium has taken the published pages to which something was flushed since it did so last
  /// (PAGE only).
  void OnSyncOfFlushed();
  /// A new segment in place of whatever was there: zeroes, durable at once, not part of the pool.
  void AddSegment(uint64_t offset, uint64_t bytes);
  void PublishSegment();
  /// The pages of [offset, offset + bytes) are given back: zeroes, durable at once. A crash before
  /// leaves them as they were, and this is a point for it. A store to them is a violation until
  /// FillHole.
  void PunchHole(uint64_t offset, uint64_t bytes);
  void FillHole(uint64_t offset, uint64_t bytes);

  /// What is pending, in units of write-back. Dirty lines are in the order of their first stores.
  WritebackUnits Units() const;
  /// The words that differ between the images of this moment, in ascending order.
  std::vector<WordChoices> Choices() const;
  /// Hash of the content that `prefixes` (one a dirty line) would leave. Equal content, equal hash,
  /// whatever led to it.
  uint64_t ImageHash(const std::vector<uint32_t>& prefixes) const;
  /// Writes that content into the image area. The caller has pushed a frame on it.
  void MakeImage(const std::vector<uint32_t>& prefixes);
  SimArea* image_area() const noexcept { return durable_ != nullptr ? durable_ : memory_; }
  SimArea* memory() const noexcept { return memory_; }

  /// Compares memory with durable + pending, line by line, over the whole pool.
  void CheckWholePool();
  /// The first store that went around the seam, as text; empty when there was none.
  const std::string& violation() const noexcept { return violation_; }

  uint64_t durable_hash() const noexcept { return durable_hash_; }
  uint64_t fences() const noexcept { return fences_; }
  uint64_t stores() const noexcept { return stores_; }

  /// Hash of everything in `area`, from scratch.
  static uint64_t HashOf(const SimArea& area);

 private:
  struct Pending {
    uint64_t value;
    uint64_t delta;  // xor of what this store and those before it do to the hash
    uint64_t order;  // among all stores
    uint8_t word;
  };
  struct DirtyLine {
    uint64_t line = 0;
    bool in_use = false;
    LineWords durable{};
    LineWords current{};
    std::vector<Pending> pending;
  };
  struct Mark {
    uint64_t line;
    uint64_t order;  // the newest store that the flush covers
  };
  static constexpr uint32_t kClean = ~0u;

  uint64_t LineOf(const void* address) const noexcept {
    return static_cast<uint64_t>(static_cast<const char*>(address) - memory_->base()) /
           media::kLineBytes;
  }
  static uint64_t PageOf(uint64_t line) noexcept {
    return line / (kSimPageBytes / media::kLineBytes);
  }
  bool Covers(const void* address, size_t n);
  void MakeZero(uint64_t offset, uint64_t bytes);
  void Point(PointKind kind);
  void Step() {
    if (on_step_) on_step_();
  }
  DirtyLine* Find(uint64_t line) noexcept {
    const uint32_t slot = slot_of_[line];
    return slot == kClean ? nullptr : &pool_[slot];
  }
  const DirtyLine* Find(uint64_t line) const noexcept {
    return const_cast<SimPersist*>(this)->Find(line);
  }
  DirtyLine* Dirty(uint64_t line);
  void Release(DirtyLine* dirty);
  void DropReleased();
  uint64_t DurableHash(uint64_t line) const;
  void RecordWord(uint64_t line, size_t word);
  /// Makes the stores to the line durable up to the one of that order.
  void MakeDurable(DirtyLine* dirty, uint64_t order);
  void CheckLine(uint64_t line);
  void CheckTouched();
  void Violate(uint64_t offset, const char* what);

  SimArea* memory_;
  SimArea* durable_;
  uint64_t seed_;
  MediaClass media_class_;
  bool tracking_ = true;
  std::function<void(PointKind)> on_point_;
  std::function<void()> on_step_;
  std::thread::id thread_;

  std::vector<uint32_t> slot_of_;  // by line: index into pool_, or kClean
  std::vector<DirtyLine> pool_;    // reused, so that the vectors in it keep their room
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> dirty_;           // slots in use, in the order of first stores
  bool released_ = false;                 // dirty_ names slots that are no longer in use
  std::vector<std::vector<Mark>> marks_;  // by lane: flushed and not yet fenced
  uint32_t lane_ = 0;
  std::vector<uint64_t> touched_;  // lines stored to since the last fence
  std::vector<bool> is_hole_;      // by page
  std::vector<bool> is_flushed_;   // by page: since the last sync of what was flushed (PAGE only)
  uint64_t durable_hash_ = 0;
  uint64_t fences_ = 0;
  uint64_t stores_ = 0;
  uint64_t order_ = 0;  // of the newest word stored
  std::string violation_;
};

/// How many images to look at.
struct ImageLimits {
  uint64_t exhaustive = 4096;  ///< all of them when there are at most this many
  uint64_t sampled = 1024;     ///< else so many
  uint64_t runs = ~0ull;       ///< at most so many where images are pruned by what is read
};

/// Which images of a crash point to look at, by number, so that one can be picked out and replayed.
class ImagePlan {
 public:
  /// `pending`: number of pending stores a dirty line.
  ImagePlan(std::vector<uint32_t> pending, const ImageLimits& limits, uint64_t seed);

  uint64_t size() const noexcept { return size_; }
  bool exhaustive() const noexcept { return exhaustive_; }
  /// The prefixes of image number `image`, below size(). Number 0 is "nothing was written back"; in
  /// a sampled plan number 1 is "everything was".
  void Choose(uint64_t image, std::vector<uint32_t>* prefixes) const;
  /// Everything was written back: what a process crash leaves.
  const std::vector<uint32_t>& all() const noexcept { return pending_; }

 private:
  void ChoosePair(uint64_t pair, std::vector<uint32_t>* prefixes) const;
  void ChooseRandom(uint64_t image, std::vector<uint32_t>* prefixes) const;

  std::vector<uint32_t> pending_;
  uint64_t seed_;
  uint64_t size_ = 1;
  bool exhaustive_ = true;
  uint64_t alone_ = 0;    // images with one line each
  uint64_t missing_ = 0;  // images that lack one line each
  uint64_t pairs_ = 0;
  bool all_pairs_ = false;
};

}  // namespace braid::sim

#endif  // BRAID_CRASHSIM
