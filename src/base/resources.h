// Purpose: what SharedResources consist of, and what a database that is opened without any has in
// their place: one way for both.
// Thread safety: constant.
// Persistence: none. A forked process does not touch those of its parent.
#pragma once

#include <memory>

#include "base/forks.h"
#include "base/shared_budget.h"
#include "base/workers.h"
#include "braid/options.h"
#include "braid/shared_resources.h"
#include "braid/statistics.h"

namespace braid {

struct SharedResources::Parts {
  std::shared_ptr<base::SharedBudget> budget;
  std::shared_ptr<base::Workers> workers;  // null: those of the process
  base::Origin origin;
};

namespace base {

/// Errors: InvalidArgument where options.resources belong to the parent of this process.
Status CheckResources(const Options& options);
/// Sizes by which a database that opens with shared resources chooses what it can't resize later.
/// Else `options` as they are.
void SizeForResources(Options* options);
/// A share of the budget of options.resources or, without, all of one of its own. `fixed`: bytes
/// that the database can't give up. Errors: those of SharedBudget::Join.
Result<std::unique_ptr<SharedBudget::Share>> JoinBudget(const Options& options, uint64_t fixed);
/// What all databases take that share options.resources; without, nothing.
void FillShared(const Options& options, Statistics* statistics);
/// Those of options.resources or, without, of the process. Throws std::bad_alloc.
std::shared_ptr<Workers> WorkersOf(const Options& options);

}  // namespace base
}  // namespace braid
