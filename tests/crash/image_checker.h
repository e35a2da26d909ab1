// Opens a database on the memory that a crash would have left, and says what is wrong with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "braid/db.h"
#include "crash/oracle.h"
#include "crash/workload.h"
#include "pmem/sim_persist.h"

namespace braid::crash {

struct Counts {
  uint64_t images = 0;           ///< checked, all kinds
  uint64_t nested[3] = {};       ///< of them: crashes inside recovery, by depth (index 0 is unused)
  uint64_t process_crashes = 0;  ///< of them: nothing lost, same boot
  uint64_t continued = 0;        ///< of them: followed by 32 operations, Close and another open
  uint64_t duplicates = 0;       ///< not checked: the same content under the same demands before
  uint64_t points = 0;
  uint64_t runs = 0;
  uint64_t operations = 0;

  void Add(const Counts& other);
};

/// An image that lies in the area, with what may be found in it.
struct Image {
  uint64_t hash = 0;     ///< of its content
  uint64_t seed = 0;     ///< of everything that the check draws
  uint64_t version = 0;  ///< of the oracle
  bool process_crash = false;
  Allowed allowed;
};

class ImageChecker {
 public:
  /// Images lie in `area`, which the checker leaves as it found it only if the caller has pushed a
  /// frame.
  explicit ImageChecker(pmem::SimArea* area);

  /// A new run: forgets the images seen.
  void Begin(const Workload& workload, const Options& options, const std::string& boot_id);
  void set_boot_id(const std::string& boot_id) { boot_id_ = boot_id; }
  /// True the first time an image of this content and these demands comes.
  bool IsNew(const Image& image);
  /// Recovers the image and checks it. Empty when all is well.
  std::string Check(const Image& image) {
    for (const auto& sim : sims_) sim->AdoptThread();
    return CheckAtDepth(image, 0);
  }

  Counts& counts() noexcept { return counts_; }

 private:
  static constexpr size_t kMaxDepth = 2;

  std::string CheckAtDepth(const Image& image, size_t depth);
  /// Looks at crashes inside the recovery that runs at `depth`.
  void NestedPoint(const Image& outer, const Allowed& allowed, size_t depth, Random* random);
  Result<std::unique_ptr<DB>> Open(size_t depth, const Options& options,
                                   const std::string& boot_id);
  /// Ends a database as a process crash does: what its destructor stores is taken back.
  void Abandon(std::unique_ptr<DB> db);
  std::string ContinueAndReopen(std::unique_ptr<DB> db, const Allowed& found, size_t depth,
                                const std::string& boot_id, Random* random);

  pmem::SimArea* area_;
  const Workload* workload_ = nullptr;
  Options options_;
  std::string boot_id_;
  std::vector<std::unique_ptr<pmem::SimPersist>> sims_;  // one a depth of recovery
  std::string nested_failure_;
  std::unordered_set<uint64_t> seen_;
  uint64_t seen_version_ = 0;
  Counts counts_;
};

/// Checks all that Verify can see. Empty when all is well.
std::string CheckStructure(DB* db);
/// Deletes everything and expects the pool to be as empty as a new one of these segments: a chunk
/// that is not is lost. Empty when all is well, and when a full pool takes no more deletes.
std::string CheckEmptied(DB* db, const std::set<std::string>& keys, const pmem::SimArea& area);

}  // namespace braid::crash
