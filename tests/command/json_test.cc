// docs/guide/json.md says of every verb with --json which fields it prints, and these are all.
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "braid/statistics.h"
#include "command/command_runner.h"
#include "support/build_paths.h"

namespace braid::test {
namespace {

using nlohmann::json;
using Fields = std::set<std::string>;

/// The fields of an object, those of nested ones as "name.field", of lists as "name[].field".
void AddFields(const json& object, const std::string& prefix, Fields* fields) {
  for (const auto& [name, value] : object.items()) {
    if (value.is_object()) {
      AddFields(value, prefix + name + ".", fields);
      continue;
    }
    fields->insert(prefix + name);
    if (!value.is_array()) continue;
    for (const json& element : value) {
      if (element.is_object()) AddFields(element, prefix + name + "[].", fields);
    }
  }
}

class JsonTest : public CommandTest {
 protected:
  struct Documented {
    Fields always;
    Fields sometimes;
  };
  JsonTest() {
    std::string verb;
    const std::string described = ReadFileText(BRAID_TEST_SOURCE_DIR "/docs/guide/json.md");
    for (const std::string& line : Lines(described)) {
      if (line.starts_with("## ")) verb = line.substr(3);
      if (!line.starts_with("| `")) continue;
      const std::string field = line.substr(3, line.find('`', 3) - 3);
      Documented& page = documented_[verb];
      (line.find("(optional)") == std::string::npos ? page.always : page.sometimes).insert(field);
    }
  }
  /// Compares the first object that the command prints with the page.
  void Check(const std::string& verb, const std::string& out) {
    checked_.insert(verb);
    ASSERT_TRUE(documented_.contains(verb)) << "docs/guide/json.md has no part '" << verb << "'";
    ASSERT_FALSE(out.empty()) << verb;
    Fields found;
    AddFields(json::parse(Lines(out).front()), "", &found);
    // A field for each statistic is documented as one.
    for (const StatisticsField& field : ListFields({})) {
      for (const char* prefix : {"", "a_second.", "values."}) {
        const Documented& page = documented_[verb];
        const std::string any = std::string(prefix) + "STATISTIC";
        if (page.always.contains(any) && found.erase(prefix + std::string(field.name)) > 0) {
          found.insert(any);
        }
      }
    }
    for (const std::string& field : documented_[verb].always) {
      // A list without elements shows nothing of them.
      const size_t list = field.find("[].");
      if (list != std::string::npos) {
        const auto first = found.lower_bound(field.substr(0, list + 3));
        if (first == found.end() || !first->starts_with(field.substr(0, list + 3))) continue;
      }
      EXPECT_TRUE(found.contains(field)) << verb << " does not print '" << field << "'";
    }
    for (const std::string& field : found) {
      EXPECT_TRUE(documented_[verb].always.contains(field) ||
                  documented_[verb].sometimes.contains(field))
          << "docs/guide/json.md does not tell of '" << field << "' of " << verb;
    }
  }

  std::map<std::string, Documented> documented_;
  Fields checked_;
};

TEST_F(JsonTest, EveryVerbPrintsWhatItsPartOfThePageSays) {
  Check("load", Out({"load", Pool(), File("records", "a\t1\nb\t2\n"), "--json"}));
  for (const char* verb : {"info", "stat", "scan", "count", "verify", "compact"}) {
    Check(verb, Out({verb, Pool(), "--json"}));
  }
  Check("get", Out({"get", Pool(), "a", "--json"}));
  EXPECT_EQ(Run({"put", Pool(), "to be deleted", "x"}).exit_code, 0);
  Check("delete", Out({"delete", Pool(), "--prefix", "to be", "--json"}));
  Check("dump", Out({"dump", Pool(), Path("dump"), "--json"}));
  Check("options", Out({"options", "--json"}));
  Check("repair", Out({"repair", Pool(), Path("repaired"), "--json"}));
  Check("ingest", Out({"ingest", Path("ingested"), Path("dump"), "--json"}));
  Check("checkpoint", Out({"checkpoint", Pool(), Path("checkpoint"), "--json"}));
  Check("restore", Out({"restore", Path("checkpoint"), Path("restored"), "--json"}));
  RunningCommand load(folder_.path(), {"load", Pool(), "-", "--publish-stats", "--batch", "1"});
  ASSERT_TRUE(WaitUntil([this] { return Exists(Pool() + ".stats.json"); }));
  const std::vector<std::string> looks =
      Lines(Out({"top", Pool(), "--json", "--count=2", "--interval=0.2"}));
  Check("top", looks.back());
  EXPECT_EQ(load.Finish().exit_code, 0);
  for (const auto& [verb, page] : documented_) EXPECT_TRUE(checked_.contains(verb)) << verb;
}

TEST_F(JsonTest, FindingsOfARepairAreThoseOfThePage) {
  Out({"put", Pool(), "a", "1"});
  std::string segment = ReadFileText(Pool() + "/segment-000000");
  for (size_t at = 0x3000; at < 0x3010; ++at) segment[at] = '\xee';
  File("pool/segment-000000", segment);
  const CommandResult result = Run({"repair", Pool(), Path("repaired"), "--json"});
  ASSERT_FALSE(json::parse(result.out).at("findings").empty()) << result.out;
  Check("repair", result.out);
}

TEST_F(JsonTest, EveryVerbWithJsonIsOnThePage) {
  for (const std::string& line : Lines(Out({"help"}))) {
    if (!line.starts_with("  ")) continue;
    const std::string verb = line.substr(2, line.find(' ', 2) - 2);
    const CommandResult help = Run({verb, "--help"});
    // The one of bench names a file.
    if (verb == "bench" || help.out.find("--json") == std::string::npos) continue;
    if (help.out.find("\n  --json") == std::string::npos) continue;
    EXPECT_TRUE(documented_.contains(verb)) << verb;
  }
}

}  // namespace
}  // namespace braid::test
