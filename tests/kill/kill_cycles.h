// Cycles of starting a writer, killing it, and checking what is left.
#pragma once

#include <sys/types.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "kill_options.h"
#include "oracle.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {

/// Starts this program again with `arguments`.
pid_t Spawn(const std::vector<std::string>& arguments);

/// When a writer is killed. The last four are aimed at by what the writer says it is doing.
enum class Moment { kAtStart, kWriting, kClosing, kOpen, kRecovery, kMerge, kGrowth, kCount };

/// Kills by the job the process died in, as it left it in shared memory.
struct KillCounts {
  uint64_t all = 0;
  uint64_t open = 0;      ///< in DB::Open, outside of recovery
  uint64_t recovery = 0;  ///< in recovery
  uint64_t merge = 0;     ///< in a merge or a collection
  uint64_t growth = 0;    ///< while the pool grew
  uint64_t flush = 0;     ///< in a flush, and in none of the above

  uint64_t aimed() const { return open + recovery + merge + growth; }
};

class KillCycles {
 public:
  /// `tiered`: what the pool is not to hold goes to a tier.
  KillCycles(Medium medium, uint64_t seed, bool tiered = false)
      : folder_(medium),
        pool_(folder_.Sub("pool")),
        tier_(tiered ? folder_.Sub("tier") : ""),
        random_(seed) {}

  /// One kill of a writer at work, others while the pool is opened again, then a check of all that
  /// is in it. The kinds of kills take turns by the number of the cycle.
  void Cycle(uint64_t number);

  uint64_t writes() { return oracle_->writes.load(); }
  /// Entries that checks have found in the tier.
  uint64_t tier_entries() const { return tier_entries_; }
  /// Records that repairs have taken from it.
  uint64_t of_tiers() const { return of_tiers_; }
  uint64_t swaps() { return oracle_->swaps.load(); }
  uint64_t resolved_old() const { return resolved_old_; }
  uint64_t resolved_new() const { return resolved_new_; }
  /// Pools that were repaired before they were opened.
  uint64_t repaired() const { return repaired_; }
  /// Pools that a reader has looked at before a writer did.
  uint64_t read_only() const { return read_only_; }
  const KillCounts& kills() const { return kills_; }

 private:
  /// With `open_only` the writer recovers and closes but writes nothing: what was in flight at the
  /// kill before is not resolved yet.
  void Kill(Moment moment, bool open_only);
  /// Kills until one hits, a few times at most.
  void KillAimed(Moment moment, bool open_only);
  /// Waits for the moment; false when the writer hangs on the way there.
  bool AwaitMoment(Moment moment, pid_t pid);
  void HoldIn(pid_t pid, base::Activity activity);
  /// False when the writer has ended what it does, or takes too long, without being seen at it.
  bool AwaitActivity(base::Activity activity);
  bool WaitForStage(Stage stage);
  void CountKill(Stage stage);
  void CheckPool();
  /// What a repair of the pool that the killed writer has left brings back; nothing when there was
  /// no pool yet.
  void Repair(const Options& options, std::optional<Model>* repaired);
  void CheckRepaired(DB* db, const Model& repaired);
  const StoreKind& store() const {
    return tier_.empty() ? KillStore(store_) : TieredKillStore(store_);
  }
  Options OptionsOf(uint64_t seed) const;
  void ReadOnly(Options options, std::optional<Pairs>* shown);
  void CheckCounters(DB* db, Model* model);
  void ResolveThread(DB* db, uint32_t t);
  void StartOver();

  TempFolder folder_;
  const std::string pool_;
  const std::string tier_;  // empty: there is none
  Random random_;
  Oracle oracle_;
  KillCounts kills_;
  uint64_t resolved_old_ = 0;
  uint64_t resolved_new_ = 0;
  uint64_t read_only_ = 0;
  uint64_t tier_entries_ = 0;
  uint64_t of_tiers_ = 0;
  uint64_t repaired_ = 0;
  uint64_t store_ = 0;  // of the pool
};

}  // namespace braid::test
