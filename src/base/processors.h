// Purpose: how many processors there are for this process.
// Thread safety: any thread.
// Persistence: none.
#pragma once

#include <cstddef>
#include <string>

namespace braid::base {

/// Processors that the process may use, at least 1: those that its first thread may run on; fewer
/// where a control group has a quota (cpu.max, cpu.cfs_quota_us), as that of a container may:
/// with more threads than that the kernel throttles all of them. Rounded up. Cost: some small files
/// are read. Throws std::bad_alloc.
size_t ProcessorsOfProcess();

/// What the control groups of the process allow, 0: as many as there are. `root`: where the files
/// of the system lie.
size_t ProcessorsByQuota(const std::string& root);

}  // namespace braid::base
