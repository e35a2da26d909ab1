// "It has hundreds of options" (rocksdb#172): braid has at most 40 public fields in Options and
// what lies in it. Counted are the fields that include/braid/options.h declares, by its text; left
// out are those that the default design refuses, since they belong to another one alone, and those
// that take an object which the program has made (a listener, shared resources): they are no
// numbers to choose.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "support/build_paths.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr size_t kMostFields = 40;

std::string Header() {
  std::ifstream file(BRAID_TEST_SOURCE_DIR "/include/braid/options.h");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

/// Names of the fields of each struct whose name ends so, as "name" with its type.
std::map<std::string, std::vector<std::pair<std::string, std::string>>> Structs() {
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> found;
  const std::string text = Header();
  const std::regex head(R"(struct (\w*Options) \{([^}]*(?:\{[^}]*\}[^}]*)*)\};)");
  // A type (with what stands in its angle brackets), a name, perhaps a value.
  const std::regex field(R"(^\s*((?:\w|::)+(?:<[^;]*>)?)\s+(\w+)\s*(?:=[^;]*)?$)");
  for (std::sregex_iterator at(text.begin(), text.end(), head), end; at != end; ++at) {
    std::vector<std::pair<std::string, std::string>> fields;
    const std::string body = (*at)[2];
    size_t begin = 0;
    for (size_t stop = body.find(';'); stop != std::string::npos; stop = body.find(';', begin)) {
      const std::string statement = body.substr(begin, stop - begin);
      std::smatch match;
      if (std::regex_search(statement, match, field)) fields.emplace_back(match[2], match[1]);
      begin = stop + 1;
    }
    found[(*at)[1]] = fields;
  }
  return found;
}

/// "pool.max_bytes" and so on, without those that take an object.
std::set<std::string> AllFields() {
  const auto structs = Structs();
  std::set<std::string> names;
  for (const auto& [name, type] : structs.at("Options")) {
    if (type.starts_with("std::shared_ptr<")) continue;
    if (!structs.contains(type)) {
      names.insert(name);
      continue;
    }
    for (const auto& [inner, inner_type] : structs.at(type)) names.insert(name + "." + inner);
  }
  return names;
}

/// Whether the default design refuses the option as one of a part that other
/// designs have.
bool IsForOtherDesigns(const OptionName& option) {
  std::vector<std::string> values = {"1", "2", "3", "true", "false", "0.5", "16M"};
  for (size_t begin = 0; begin <= option.values.size();) {
    const size_t end = std::min(option.values.find(", ", begin), option.values.size());
    values.push_back(option.values.substr(begin, end - begin));
    begin = end + 2;
  }
  for (const std::string& value : values) {
    TempFolder folder;
    Options options;
    options.pool.initial_bytes = 16ull << 20;
    if (!options.Set(option.name, value).ok()) continue;
    const auto db = DB::Open(options, folder.Sub("pool"));
    const std::string refusal = db.status().ToString();
    if (refusal.find("is for designs that") != std::string::npos) return true;
  }
  return false;
}

TEST(FewOptionsTest, ThereAreAtMostForty) {
  const std::set<std::string> fields = AllFields();
  ASSERT_TRUE(fields.contains("design") && fields.contains("logger") &&
              fields.contains("memory_budget_bytes") && fields.contains("pool.region_paths") &&
              fields.contains("pool.chunk_bytes") && fields.contains("leaf.span"))
      << "the header is not understood any more";
  std::set<std::string> others;
  for (const OptionName& option : OptionNames()) {
    EXPECT_TRUE(fields.contains(option.name)) << option.name << " is no field of the header";
    if (IsForOtherDesigns(option)) others.insert(option.name);
  }
  EXPECT_TRUE(others.contains("leaf.ranges"));
  for (const std::string& name : others) {
    EXPECT_TRUE(name.starts_with("leaf.") || name.starts_with("levels.")) << name;
  }
  RecordProperty("fields", static_cast<int>(fields.size()));
  RecordProperty("of_other_designs", static_cast<int>(others.size()));
  std::string list;
  for (const std::string& name : others) list += " " + name;
  std::printf("%zu fields, %zu of them refused by the default design:%s\n", fields.size(),
              others.size(), list.c_str());
  EXPECT_LE(fields.size() - others.size(), kMostFields);
}

TEST(FewOptionsTest, NoneNeedsToBeSet) {
  TempFolder folder;
  auto db = DB::Open({}, folder.Sub("pool"));
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  BRAID_EXPECT_OK((*db)->Put("key", "value"));
}

}  // namespace
}  // namespace braid::test
