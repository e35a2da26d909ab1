// Purpose: one budget of memory and one set of background threads for several databases of a
// process (docs/guide/several-pools.md).
#pragma once

#include <cstdint>
#include <memory>

#include "braid/status.h"

namespace braid {

/// How SharedResources are made.
struct SharedResourcesOptions {
  /// DRAM for all databases together, which Options::memory_budget_bytes is for one; 1 MiB at
  /// least, and as much again for each database that is open at the same time.
  uint64_t memory_budget_bytes = 1ull << 30;
  /// Threads for the background work of all databases together, 3 to 1024: one at least for each of
  /// flushes, merges, and space that is given back. 0: those that all databases of the process have
  /// without SharedResources, as many as processors of each kind at most. Made when there is work
  /// for them. One more waits for other processes that want to read, for each 127 databases.
  uint32_t background_threads = 0;
};

/// What SharedResources are used for, now.
struct SharedUsage {
  uint64_t memory_budget_bytes = 0;
  uint64_t memory_bytes = 0;  ///< taken by all databases, also by closed ones that iterators hold
  uint64_t databases = 0;     ///< that are open with them
  uint64_t threads = 0;       ///< made so far
};

/// A budget of memory and background threads for the databases that are opened with it, as
/// Options::resources. Databases keep it alive; it may be dropped before them or outlive them.
/// - Memory: a database that needs less than an equal part of the budget leaves the rest to the
///   others, who divide it equally. What one has beyond its equal part and another comes to need it
///   gives up; none is left without 1 MiB. Statistics::memory_budget_bytes is what a database may
///   take now.
/// - Threads: databases take turns, step by step. One whose writers wait goes first. Close waits
///   for the steps of its own database only.
/// Any thread. A child of fork() makes its own: an open with its parent's is InvalidArgument.
class SharedResources {
 public:
  /// Errors: InvalidArgument for limits that make no sense.
  static Result<std::shared_ptr<SharedResources>> Create(const SharedResourcesOptions& options);
  ~SharedResources();
  SharedResources(const SharedResources&) = delete;
  SharedResources& operator=(const SharedResources&) = delete;

  uint64_t memory_budget_bytes() const noexcept;
  /// Some microseconds for each database. Zeros in a child of the process that made it.
  SharedUsage Usage() const;

  /// For the library.
  struct Parts;
  const Parts& parts() const noexcept { return *parts_; }

 private:
  explicit SharedResources(std::unique_ptr<Parts> parts) noexcept;

  std::unique_ptr<Parts> parts_;
};

}  // namespace braid
