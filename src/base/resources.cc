// Purpose: making SharedResources, and finding the parts of a database's.
// Thread safety, persistence: see resources.h and braid/shared_resources.h.
#include "base/resources.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "base/no_throw.h"

namespace braid {

namespace {
constexpr uint64_t kMostBudget = 1ull << 48;
constexpr uint32_t kMostThreads = 1024;

Status Outside(const char* name, uint64_t value, uint64_t least, uint64_t most) {
  return Status::InvalidArgument(std::string(name) + " of SharedResources is " +
                                 std::to_string(value) + "; it must be between " +
                                 std::to_string(least) + " and " + std::to_string(most));
}
}  // namespace

SharedResources::SharedResources(std::unique_ptr<Parts> parts) noexcept
    : parts_(std::move(parts)) {}

SharedResources::~SharedResources() {
  // In a child the threads are not there, and a lock may be held forever.
  if (!parts_->origin.IsThisProcess()) (void)parts_.release();
}

Result<std::shared_ptr<SharedResources>> SharedResources::Create(
    const SharedResourcesOptions& options) {
  constexpr uint64_t kLeastBudget = base::SharedBudget::kLeast;
  const uint64_t bytes = options.memory_budget_bytes;
  if (bytes < kLeastBudget || bytes > kMostBudget) {
    return Outside("memory_budget_bytes", bytes, kLeastBudget, kMostBudget);
  }
  const uint32_t threads = options.background_threads;
  if (threads != 0 && (threads < base::Workers::kLanes || threads > kMostThreads)) {
    return Outside("background_threads", threads, base::Workers::kLanes, kMostThreads);
  }
  return base::CatchToStatus([&]() -> Result<std::shared_ptr<SharedResources>> {
    auto parts = std::make_unique<Parts>();
    parts->budget = std::make_shared<base::SharedBudget>(bytes);
    if (threads != 0) parts->workers = base::Workers::WithThreads(threads);
    return std::shared_ptr<SharedResources>(new SharedResources(std::move(parts)));
  });
}

uint64_t SharedResources::memory_budget_bytes() const noexcept { return parts_->budget->bytes(); }

SharedUsage SharedResources::Usage() const {
  SharedUsage usage;
  if (!parts_->origin.IsThisProcess()) return usage;
  const base::SharedBudget::Usage taken = parts_->budget->usage();
  usage.memory_budget_bytes = memory_budget_bytes();
  usage.memory_bytes = taken.bytes;
  usage.databases = taken.databases;
  const auto workers = parts_->workers != nullptr ? parts_->workers : base::Workers::OfProcess();
  usage.threads = workers->threads();
  return usage;
}

namespace base {

Status CheckResources(const Options& options) {
  if (options.resources == nullptr || options.resources->parts().origin.IsThisProcess()) {
    return Status::OK();
  }
  return Status::InvalidArgument(
      "options.resources were made before this process was forked; make SharedResources of its own "
      "for it");
}

void SizeForResources(Options* options) {
  if (options->resources == nullptr) return;
  options->memory_budget_bytes = options->resources->parts().budget->BaseOfNext();
}

Result<std::unique_ptr<SharedBudget::Share>> JoinBudget(const Options& options, uint64_t fixed) {
  if (options.resources != nullptr) return options.resources->parts().budget->Join(fixed);
  return std::make_shared<SharedBudget>(options.memory_budget_bytes)->Join(fixed);
}

void FillShared(const Options& options, Statistics* statistics) {
  if (options.resources == nullptr) return;
  const SharedUsage usage = options.resources->Usage();
  statistics->shared_memory_bytes = usage.memory_bytes;
  statistics->shared_budget_bytes = usage.memory_budget_bytes;
  statistics->shared_databases = usage.databases;
}

std::shared_ptr<Workers> WorkersOf(const Options& options) {
  if (options.resources != nullptr && options.resources->parts().workers != nullptr) {
    return options.resources->parts().workers;
  }
  return Workers::OfProcess();
}

}  // namespace base
}  // namespace braid
