// braid_crash_tests: gtest's options, and
//   --mutant=<name>       look for that seeded fault instead of running the tests
//   --list_mutants        what there is to look for
// BRAID_MUTANT=<name> in the environment runs the tests, or replays one image
// (BRAID_CRASH_REPLAY), under the fault.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "crash/campaign.h"

int main(int argc, char** argv) {
  std::string mutant;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view kMutant = "--mutant=";
    if (argument == "--list_mutants") {
      braid::crash::ListMutants();
      return 0;
    }
    if (argument.substr(0, kMutant.size()) == kMutant) mutant = argument.substr(kMutant.size());
  }
  braid::crash::InstallDeathReport();
  if (!mutant.empty()) return braid::crash::RunMutant(mutant);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
