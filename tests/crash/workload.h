// The histories that the crash tests run: seeded mixes of operations on a pool so small that
// flushes, merges, collection and growth happen all the time.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "braid/options.h"
#include "crash/oracle.h"
#include "support/store_kind.h"

namespace braid::crash {

enum class Action : uint8_t {
  kPut,
  kSyncPut,  ///< WriteOptions::sync
  kDelete,
  kBatch,
  kTransaction,   ///< that reads what it writes, and commits
  kRangeBatch,    ///< puts, deletes, and deletes of ranges; half of them by a transaction
  kIngest,        ///< many records, sorted
  kBrokenIngest,  ///< one whose source fails somewhere
  kFlush,
  kCompact,
  kTakeSnapshot,
  kDropSnapshot,
  kReadSnapshot,
  kTakeIterator,
  kMoveIterator,
  kDropIterator,
  kRead,
  kReopen,
  kCrash,  ///< lose power somewhere in the operations that follow, recover, go on
};

inline constexpr uint64_t kChunkBytes = 4096;                    ///< of all pools
inline constexpr const char* kRunTier = "memory:crash-run";      ///< of the run
inline constexpr const char* kImageTier = "memory:crash-image";  ///< of what a crash left

/// A mix: weights of actions, and the shapes of keys and values.
struct Workload {
  std::string name;
  std::vector<std::pair<Action, uint32_t>> weights;
  uint32_t operations = 60;   ///< a run
  uint32_t prefill = 0;       ///< puts before them; their points, and the open's, are not looked at
  uint32_t point_one_in = 1;  ///< of the points that follow one in so many is looked at
  uint32_t cost = 1;          ///< of an image: a dear one has its share of images divided by it
  uint32_t keys = 24;
  uint32_t ranges = 1;        ///< of keys, written in turn, a table each
  uint32_t max_batch = 8;     ///< updates of a batch
  uint32_t max_ingest = 30;   ///< records of an ingest
  uint32_t max_value = 80;    ///< most values are at most this long
  uint32_t large_one_in = 0;  ///< one value in so many is an extent; 0: none
  uint64_t initial_bytes = 128u << 10;
  uint64_t max_bytes = 0;
  uint64_t memtable_bytes = 0;  ///< 0: drawn, 1 to 4 KiB
  uint64_t memory_bytes = 0;    ///< about the memory budget; 0: drawn, mostly plenty
  MediaClass media_class = MediaClass::kCacheLine;
  uint64_t tier_bytes = 0;  ///< more than these go to a tier; 0: there is none
  bool compared = false;    ///< in the order of a comparator, which is that of bytes
  uint32_t threads = 1;     ///< more: threaded_run.h
  test::StoreKind kind = test::KindNamed(test::StoreKind::kLinked);
};

/// For gtest, which would print bytes.
inline void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }

/// All of them, in the order in which they are run.
const std::vector<Workload>& AllWorkloads();
const Workload* FindWorkload(const std::string& name);

Options DrawOptions(const Workload& workload, Random* random);
/// The same pool opened with other run-time settings, which must not matter.
Options OtherSettings(const Options& options, Random* random);

/// Draws actions and updates of one run.
class Generator {
 public:
  Generator(const Workload& workload, uint64_t seed) : workload_(workload), random_(seed) {}

  Action NextAction();
  /// Updates of a put, delete, batch or ingest; of the last the keys ascend.
  std::vector<Update> Updates(Action action);
  /// For one update of a range batch in three: the end of the range that begins with its key.
  std::optional<std::string> RangeEnd(const std::string& begin);
  Random& random() noexcept { return random_; }

 private:
  std::string Key();
  std::string Value();

  const Workload& workload_;
  Random random_;
  uint64_t written_ = 0;
  uint32_t range_ = 0;  // that keys are of
  uint32_t drawn_ = 0;  // of it so far
};

}  // namespace braid::crash
