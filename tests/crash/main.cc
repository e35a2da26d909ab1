// braid_crash_tests: gtest's options, and
//   --list_mutants        names of the seeded faults, one a line
//   BRAID_MUTANT=<name>   (or --mutant=<name>) look for that fault instead of running the tests;
//   with
//                         BRAID_CRASH_REPLAY: replay one image under it
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/mutants.h"
#include "crash/campaign.h"
#include "crash/mutant_names.h"

int main(int argc, char** argv) {
  using braid::crash::kMutantNames;
  const char* environment = std::getenv("BRAID_MUTANT");
  std::string mutant = environment != nullptr ? environment : "";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    constexpr std::string_view kMutant = "--mutant=";
    if (argument == "--list_mutants") {
      for (size_t k = 1; k < kMutantNames.size(); ++k) {
        std::printf("%.*s\n", static_cast<int>(kMutantNames[k].size()), kMutantNames[k].data());
      }
      return 0;
    }
    if (argument.substr(0, kMutant.size()) == kMutant) mutant = argument.substr(kMutant.size());
  }
  braid::crash::InstallDeathReport();
  if (!mutant.empty() && !braid::crash::ReplayFromEnvironment().has_value()) {
    return braid::crash::RunMutant(mutant);
  }
  if (!mutant.empty()) {
    const auto found = braid::crash::FindMutant(mutant);
    if (!found.has_value()) {
      std::fprintf(stderr, "no mutant is called %s; --list_mutants names them\n", mutant.c_str());
      return 2;
    }
    braid::base::active_mutant = *found;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
