// One run of several threads under the scheduler: writers, readers, and the store's own background
// threads, on a handful of keys. At each crash point the calls made so far say what may be found:
// what some order of them leaves that explains all that was read (durable linearizability;
// Izraelevitz, Mendes, Scott 2016). So a read that returned what the crash takes back shows as well
// as a lost write does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "braid/db.h"
#include "crash/crash_points.h"
#include "crash/scheduler.h"

namespace braid::crash {

/// A call of a thread. Pending calls may have taken effect or not.
struct Call {
  enum class Kind : uint8_t { kWrite, kGet, kScan };
  Kind kind = Kind::kWrite;
  std::vector<Update> updates;       // of a put, delete or batch
  std::string key;                   // of a get
  std::optional<std::string> found;  // by a get
  Content content;                   // found by a scan
  uint64_t begun = 0;
  uint64_t ended = 0;  // 0: pending
};

/// The contents that orders of `calls` may leave: an order has all calls that have ended and any of
/// the pending writes, keeps calls apart that did not overlap, and explains what was found. At most
/// 32 calls. Empty when there is no such order: the calls themselves are not linearizable.
std::vector<Content> ContentsAfter(const Content& before, const std::vector<Call>& calls);

class ThreadedRun final : CrashPoints {
 public:
  ThreadedRun(Device* device, const Workload& workload, uint64_t seed, const RunSettings& settings);
  std::optional<Failure> Run();

 private:
  Allowed AllowedNow(bool process_crash) override;
  uint64_t version() const override { return version_; }

  void Fill(uint64_t writes);
  void Work(uint32_t thread);
  Call Draw(Random* random, uint32_t thread, uint32_t number) const;
  Status Perform(Call* call);
  void Finish();

  Random random_;
  Options options_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<DB> db_;
  Content before_;
  std::vector<Call> calls_;
  uint64_t clock_ = 0;
  uint64_t version_ = 0;
  Allowed allowed_;
  uint64_t allowed_version_ = ~0ull;
};

}  // namespace braid::crash
