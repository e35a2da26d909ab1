// ctest starts a process a test, and each would register more than ten thousand: three quarters of
// the suite's time. A process that is asked for one test registers its setup's alone.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "conformance/conformance.h"

namespace braid::test {
namespace {

/// The name behind the last slash when the filter names one test, else nothing.
std::string SetupOfFilter(int argc, char** argv) {
  constexpr std::string_view kFlag = "--gtest_filter=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(kFlag)) continue;
    const size_t slash = argument.rfind('/');
    const bool one = argument.find_first_of("*?:", kFlag.size()) == argument.npos;
    if (one && slash != argument.npos) return std::string(argument.substr(slash + 1));
  }
  return "";
}

}  // namespace
}  // namespace braid::test

int main(int argc, char** argv) {
  braid::test::TheOnlySetup() = braid::test::SetupOfFilter(argc, argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
