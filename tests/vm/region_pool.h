// A pool whose regions lie on the NVDIMMs of two NUMA nodes, written and read from both.
#pragma once

#include <string>

namespace braid::test {

/// Makes the pool, with its second region in `folder`; a thread on each node writes its keys and
/// flushes. Then the process is killed: does not return but for a failure.
int FillRegionsAndDie(const std::string& pool, const std::string& folder);

/// Opens the pool without any option, reads all keys from both nodes along the lists, and prints
/// "@regions-read keys=N upper-local=N upper-remote=N bottom-local=N bottom-remote=N".
int ReadRegions(const std::string& pool);

}  // namespace braid::test
