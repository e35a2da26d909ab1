// Opens a database on the memory that a crash would have left, and says what is wrong with it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "braid/db.h"
#include "crash/oracle.h"
#include "crash/position.h"
#include "crash/read_tree.h"
#include "crash/workload.h"
#include "sim/sim_persist.h"
#include "sim/sim_reads.h"
#include "tier/memory_store.h"

namespace braid::crash {

constexpr uint64_t kReaderOneIn = 8;  ///< images are opened for reading first
constexpr uint64_t kRepairOneIn = 4;  ///< images are repaired as well as opened
constexpr size_t kMaxDepth = 3;       ///< crashes inside recovery inside recovery ...

struct Counts {
  uint64_t images = 0;  ///< checked: recovered and looked at, all kinds; duplicates don't count
  uint64_t pruned = 0;  ///< not recovered: equal in all that a checked one of the point read
  uint64_t nested[kMaxDepth + 1] = {};  ///< of the checked: crashes inside recovery, by depth
  uint64_t process_crashes = 0;         ///< of the checked: nothing lost, same boot
  uint64_t continued = 0;   ///< of the checked: followed by operations, Close and another open
  uint64_t duplicates = 0;  ///< the same content under the same demands came before
  uint64_t readers = 0;     ///< of the checked: opened for reading first
  uint64_t repaired = 0;    ///< of the checked: repaired first, and pools that were closed
  uint64_t rechecked = 0;   ///< pruned ones that were run all the same, to test the pruning
  uint64_t points = 0;
  uint64_t complete = 0;  ///< of the points: every image is checked or pruned
  uint64_t runs = 0;
  uint64_t operations = 0;

  void Add(const Counts& other);
};

/// An image that lies in the area, with what may be found in it.
struct Image {
  uint64_t hash = 0;  ///< of its content
  uint64_t seed = 0;  ///< of what is looked at besides: crashes in recovery, more operations
  uint64_t settings_seed = 0;  ///< of the settings it is opened with
  uint64_t version = 0;        ///< of the oracle
  bool process_crash = false;
  /// Of a process crash: what lies in the caches, and may still be lost with the power.
  const sim::SimPersist* cache = nullptr;
  Allowed allowed;
};

class ImageChecker {
 public:
  /// Images lie in `area`, which the checker leaves as it found it only if the caller has pushed a
  /// frame.
  explicit ImageChecker(sim::SimArea* area);

  /// A new run: forgets the images seen.
  void Begin(const Workload& workload, const Options& options, const std::string& boot_id);
  void set_boot_id(const std::string& boot_id) { boot_id_ = boot_id; }
  /// True the first time an image of this content and these demands comes.
  bool IsNew(const Image& image);
  /// True where reads are noted and BRAID_CRASH_PRUNE is not 0.
  bool prunes() const noexcept { return prunes_; }
  /// Looks at the images of the point at which `sim` stands, under `demands`, until all that
  /// recovery may read is known, or the limits are reached. Returns what is wrong with the image
  /// that *position then names; `position` may be null.
  std::string Explore(sim::SimPersist* sim, const Image& demands, const sim::ImageLimits& limits,
                      size_t depth, Position* position);
  /// Makes one image and checks it.
  std::string CheckPrefixes(sim::SimPersist* sim, const std::vector<uint32_t>& prefixes,
                            const Image& demands, size_t depth);
  /// Recovers the image and checks it. Empty when all is well.
  std::string Check(const Image& image) {
    AdoptThread();
    TakeTier(image.process_crash);
    return CheckAtDepth(image, 0);
  }

  /// From here on the calling thread is the one that recovers.
  void AdoptThread() {
    for (const Level& level : levels_) level.sim->AdoptThread();
  }

  Counts& counts() noexcept { return counts_; }
  /// The tier of the run.
  tier::MemoryDevice& run_tier() noexcept { return run_tier_; }

 private:
  struct Level {
    std::unique_ptr<sim::SimPersist> sim;       ///< what the recovery at that depth stores
    std::unique_ptr<sim::ReadTracker> tracker;  ///< what it reads
    bool tracked = false;
    uint64_t outcome = 0;  ///< hash of what came out of the last check
  };

  std::string CheckAtDepth(const Image& image, size_t depth);
  /// Whether crashes inside the recovery of the image are looked at.
  static bool WillCrashAgain(const Image& image, size_t depth);
  /// Looks at crashes inside the recovery that runs at `depth`.
  void NestedPoint(const Image& outer, const Allowed& allowed, size_t depth, Random* random);
  /// Opens some images for reading, and takes back what that has stored. What is shown narrows
  /// `allowed`: an open for writing must show the same.
  std::string CheckReader(const Image& image, Options options, const std::string& boot_id,
                          size_t depth, Allowed* allowed);
  /// Salvages what lies in the area, as a repair does: no byte of it was damaged, so nothing may be
  /// lost, and what is brought back must be what an open may show. `closed`: in order, so there is
  /// nothing to remark upon either.
  std::string CheckSalvage(const std::string& boot_id, Allowed allowed, bool closed);
  /// Of some images.
  std::string CheckRepair(const Image& image, const std::string& boot_id);
  /// Opens the image once more and compares.
  std::string CheckAgain(const Options& options, const std::string& boot_id, size_t depth,
                         Allowed* allowed, std::unique_ptr<DB>* db);
  std::string CheckBytes() const;
  std::string Recheck(sim::SimPersist* sim, ReadTree* tree, const Image& demands, size_t depth,
                      Random* random);
  Result<std::unique_ptr<DB>> Open(size_t depth, const Options& options,
                                   const std::string& boot_id);
  static bool WillRead(const Image& image) {
    return Random(Mix64(image.seed + 13)).OneIn(kReaderOneIn);
  }
  static bool WillRepair(const Image& image) {
    return Random(Mix64(image.seed + 17)).OneIn(kRepairOneIn);
  }
  /// Ends a database as a process crash does: what its destructor stores is taken back.
  void Abandon(std::unique_ptr<DB> db);
  std::string ContinueAndReopen(std::unique_ptr<DB> db, const Allowed& found, size_t depth,
                                const std::string& boot_id, Random* random);

  /// The image's tier becomes what a crash now leaves of the run's.
  void TakeTier(bool process_crash);

  sim::SimArea* area_;
  tier::MemoryDevice run_tier_{kRunTier};
  tier::MemoryDevice image_tier_{kImageTier};
  const Workload* workload_ = nullptr;
  Options options_;
  std::string boot_id_;
  bool may_prune_;
  bool prunes_ = false;  // only ADR: the tree thinks in prefixes of lines
  std::array<Level, kMaxDepth + 1> levels_;
  std::string nested_failure_;
  std::unordered_set<uint64_t> seen_;
  uint64_t seen_version_ = 0;
  Counts counts_;
};

/// Checks all that Verify can see. Empty when all is well.
std::string CheckStructure(DB* db, VerifyReport* report = nullptr);
/// Deletes everything and expects the pool to be as empty as a new one of these segments: a chunk
/// that is not is lost. `most_left`: what lives in an emptied pool takes so many bytes at most.
/// Empty when all is well, and when a full pool takes no more deletes.
std::string CheckEmptied(DB* db, const std::set<std::string>& keys, const sim::SimArea& area,
                         uint64_t most_left = 0);

}  // namespace braid::crash
