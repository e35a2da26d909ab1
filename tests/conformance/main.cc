// ctest starts a process a test, and scripts/testing one for some tests of a setup; each would
// register more than ten thousand, three quarters of the suite's time. A process that is asked for
// tests of one setup registers those alone.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "conformance/conformance.h"

namespace braid::test {
namespace {

/// The setup that all tests named by the filter share, the name behind their last slash; else
/// nothing.
std::string SetupOfFilter(int argc, char** argv) {
  constexpr std::string_view kFlag = "--gtest_filter=";
  for (int i = 1; i < argc; ++i) {
    std::string_view rest = argv[i];
    if (!rest.starts_with(kFlag)) continue;
    rest.remove_prefix(kFlag.size());
    std::string_view setup;
    while (!rest.empty()) {
      const std::string_view name = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      const size_t slash = name.rfind('/');
      if (slash == name.npos || name.find_first_of("*?-") != name.npos) return "";
      if (!setup.empty() && name.substr(slash + 1) != setup) return "";
      setup = name.substr(slash + 1);
    }
    return std::string(setup);
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
