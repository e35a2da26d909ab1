// compact: what it does and what it says.
#include <nlohmann/json.hpp>

#include "command/command_runner.h"

namespace braid::test {
namespace {

using CompactTest = CommandTest;

TEST_F(CompactTest, MergesEverythingAndKeepsTheRecords) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "key" + std::to_string(i) + "\tvalue\n";
  Out({"load", Pool(), File("records.tsv", text)});
  const std::string before = Out({"scan", Pool()});
  const auto object = nlohmann::json::parse(Out({"compact", Pool(), "--json"}));
  EXPECT_EQ(Out({"stat", Pool(), "l0_entries"}), "0\n");
  EXPECT_EQ(Out({"stat", Pool(), "l1_entries"}), "3000\n");
  EXPECT_LE(object["merged_entries"], 3000);
  EXPECT_GT(object["used_bytes"], 0);
  EXPECT_EQ(Out({"scan", Pool()}), before);
  // Nothing is left to do.
  EXPECT_EQ(nlohmann::json::parse(Out({"compact", Pool(), "--json"}))["merged_entries"], 0);
  EXPECT_TRUE(
      Out({"compact", Pool()}).starts_with("merged 0 records, reclustered 0, freed 0 chunks"));
}

TEST_F(CompactTest, TakesARange) {
  Out({"put", Pool(), "b", "1"});
  Out({"compact", Pool(), "--from", "a", "--to", "c"});
  Out({"compact", Pool(), "--prefix", "b"});
  Out({"compact", Pool(), "--from", "c", "--to", "a"});  // nothing lies there
  EXPECT_EQ(Out({"get", Pool(), "b"}), "1\n");
  ExpectError({"compact", Pool(), "--hex", "--from", "x"}, "hex");
}

TEST_F(CompactTest, NeedsAPool) {
  ExpectError({"compact", Pool()}, "no pool at");
  ExpectError({"compact"}, "POOL is required");
  EXPECT_FALSE(Exists(Pool()));
}

}  // namespace
}  // namespace braid::test
