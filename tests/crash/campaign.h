// Runs workloads over many seeds, reports failures with the line that replays them, and keeps the
// books.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crash/crash_run.h"

namespace braid::crash {

/// How large the whole test run is: BRAID_TEST_SIZE=push (default), night or release.
struct CampaignSize {
  const char* name;
  sim::ImageLimits images;
  uint64_t total_images;  // checked ones, over all workloads
};
const CampaignSize& Size();
/// How many of them are this workload's: half go to ADR, a third to the page cache, the rest to
/// eADR, which has the fewest states.
uint64_t ImagesFor(const Workload& workload);

/// The share of a workload in BRAID_CRASH_SECONDS, which is for all of them together; infinite
/// when it is not set.
double SecondsAWorkload();

/// Runs `workload` with seeds from *next_seed on until `images` more are checked, the time is up or
/// an image is wrong. Returns the failure as text, with the line that replays it.
std::optional<std::string> RunWorkload(Device* device, const Workload& workload, uint64_t images,
                                       double seconds, uint64_t* next_seed);

/// The position in BRAID_CRASH_REPLAY=seed:point:image, if set. Ends the process when it is
/// malformed.
std::optional<Position> ReplayFromEnvironment();
std::optional<std::string> ReplayOne(Device* device, const Workload& workload, const Position& at);

/// Seed of the first run: BRAID_SEED, which scripts/test.py chooses anew for each push, or 1.
uint64_t FirstSeed();

/// One line of counts.
std::string Describe(const Counts& counts, double seconds);

/// Reports a process that dies or hangs with the line that replays the image under way.
void InstallDeathReport();

/// What braid_crash_tests does for --mutant: the workload that is known to find the fault, then all
/// in turn, with growing budgets, until an image is wrong. Prints one line. Returns 0 when the
/// mutant was killed, 1 when it survived.
int RunMutant(const std::string& name);
/// Prints a line for each: name, part, kind of mistake, and the tests that find it when the crash
/// tests don't, with tabs between.
void ListMutants();

}  // namespace braid::crash
