// braid repair: what it prints, what it refuses, its exit codes.
#include <nlohmann/json.hpp>
#include <string>

#include "command/command_runner.h"

namespace braid::test {
namespace {

using nlohmann::json;

class RepairCommandTest : public CommandTest {
 protected:
  std::string New() const { return Path("new"); }
  std::string Segment() const { return Pool() + "/segment-000000"; }

  void Load() {
    std::string records;
    for (int i = 100; i < 400; ++i) {
      records += "key" + std::to_string(i) + "\tvalue" + std::to_string(i) + "\n";
    }
    Out({"load", Pool(), File("records.tsv", records)});
  }
  /// Flips a bit of `text` wherever it lies in the pool: a flush may have copied it.
  void Harm(const std::string& text) {
    std::string bytes = ReadFileText(Segment());
    ASSERT_NE(bytes.find(text), std::string::npos) << text;
    for (size_t at; (at = bytes.find(text)) != std::string::npos;) {
      bytes[at] = static_cast<char>(bytes[at] ^ 4);
    }
    WriteFileText(Segment(), bytes);
  }
};

TEST_F(RepairCommandTest, OfASoundPoolLosesNothing) {
  Load();
  const std::string before = ReadFileText(Segment());
  const std::string said = Out({"repair", Pool(), New()});
  EXPECT_TRUE(said.starts_with("salvaged 300 records, ")) << said;
  EXPECT_NE(said.find("nothing is lost"), std::string::npos) << said;
  EXPECT_TRUE(ReadFileText(Segment()) == before) << "the pool was changed";
  EXPECT_EQ(Out({"scan", New()}), Out({"scan", Pool()}));
}

TEST_F(RepairCommandTest, DamagedValueIsListedByItsKeyAndExitCodeIsOne) {
  Load();
  Harm("value250");
  const CommandResult result = Run({"repair", Pool(), New()});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.err, "");
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_EQ(lines.size(), 2u) << result.out;
  EXPECT_TRUE(lines[0].starts_with("lost: segment-000000+0x")) << lines[0];
  EXPECT_NE(lines[0].find("value of an entry"), std::string::npos) << lines[0];
  EXPECT_TRUE(lines[0].ends_with(", key key250")) << lines[0];
  EXPECT_NE(lines[1].find("299 records"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("1 lost range"), std::string::npos) << lines[1];
  EXPECT_EQ(Run({"get", New(), "key250"}).exit_code, 1);
  EXPECT_EQ(Out({"get", New(), "key251"}), "value251\n");
}

TEST_F(RepairCommandTest, JsonHoldsFactsAndFindings) {
  Load();
  Harm("value250");
  const CommandResult result = Run({"repair", Pool(), New(), "--json"});
  EXPECT_EQ(result.exit_code, 1);
  const json report = json::parse(result.out);
  EXPECT_EQ(report["ok"], false);
  EXPECT_EQ(report["records"], 299);
  EXPECT_EQ(report["losses"], 1);
  ASSERT_EQ(report["findings"].size(), 1u);
  const json& finding = report["findings"][0];
  EXPECT_EQ(finding["lost"], true);
  EXPECT_EQ(finding["file"], "segment-000000");
  EXPECT_EQ(finding["key"], "key250");
  EXPECT_GT(finding["offset"], 0);
  EXPECT_FALSE(finding["object"].get<std::string>().empty());
  EXPECT_FALSE(finding["problem"].get<std::string>().empty());
}

TEST_F(RepairCommandTest, PoolWithoutHeadersIsSalvaged) {
  Load();
  const std::string want = Out({"scan", Pool()});
  std::string bytes = ReadFileText(Segment());
  bytes.replace(0, 9 * 4096, 9 * 4096, '\0');
  WriteFileText(Segment(), bytes);
  ExpectError({"verify", Pool()}, "braid repair");
  const CommandResult result = Run({"repair", Pool(), New()});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_NE(result.out.find("note: segment-000000+0x3000: manifest copy 1: "), std::string::npos)
      << result.out;
  EXPECT_EQ(Out({"scan", New()}), want);
}

TEST_F(RepairCommandTest, SizeOfAChunkMayBeSaidWhenNoHeaderTellsIt) {
  Load();
  const std::string want = Out({"scan", Pool()});
  std::string bytes = ReadFileText(Segment());
  // Headers and chunk states; 256 bytes fewer, so that the file's size tells nothing either.
  bytes.replace(0, 12 * 4096, 12 * 4096, '\0');
  bytes.resize(bytes.size() - 256);
  WriteFileText(Segment(), bytes);
  ExpectError({"repair", Pool(), New(), "--chunk-bytes", "1000"}, "power of two");
  const CommandResult result = Run({"repair", Pool(), New(), "--chunk-bytes", "1M"});
  EXPECT_NE(result.exit_code, 2) << result.err;
  EXPECT_EQ(Out({"scan", New()}), want);
  // What chunks say of their place does as well.
  const CommandResult guessed = Run({"repair", Pool(), Path("guessed")});
  EXPECT_NE(guessed.out.find("derived from the positions of chunks"), std::string::npos)
      << guessed.out;
  EXPECT_EQ(Out({"scan", Path("guessed")}), want);
}

TEST_F(RepairCommandTest, WrongSizeOfAChunkIsRefusedWhereAHeaderTells) {
  Load();
  ExpectError({"repair", Pool(), New(), "--chunk-bytes", "64K"}, "leave the size away");
  EXPECT_FALSE(Exists(New()));
}

TEST_F(RepairCommandTest, RefusesWhatIsThereAndWhatIsNoPool) {
  Load();
  ExpectError({"repair", Pool(), Pool()}, "something at");
  Out({"put", New(), "mine", "1"});
  ExpectError({"repair", Pool(), New()}, "something at");
  EXPECT_EQ(Out({"get", New(), "mine"}), "1\n");
  ExpectError({"repair", Path("none"), Path("other")}, "no pool at");
  EXPECT_FALSE(Exists(Path("other")));
  ASSERT_EQ(::mkdir(Path("folder").c_str(), 0700), 0);
  WriteFileText(Path("folder") + "/letter.txt", "dear reader");
  ExpectError({"repair", Path("folder"), Path("other")}, "no segment");
  EXPECT_EQ(ReadFileText(Path("folder") + "/letter.txt"), "dear reader");
  ExpectError({"repair", Pool()}, "NEW-POOL is required");
}

TEST_F(RepairCommandTest, OpenPoolIsRefused) {
  RunningCommand load(folder_.path(), {"load", Pool(), "-"});
  ASSERT_TRUE(WaitUntil([&] { return Exists(Segment()); }));
  ExpectError({"repair", Pool(), New()}, "is open in process " + std::to_string(load.pid()));
  EXPECT_EQ(load.Finish().exit_code, 0);
}

TEST_F(RepairCommandTest, KeysOfAnyBytesAreListed) {
  Out({"put", Pool(), "--hex", "ff00", std::string("7a7a7a7a7a7a7a7a")});
  Harm("zzzzzzzz");
  const CommandResult text = Run({"repair", Pool(), New()});
  EXPECT_NE(text.out.find(", key \\xff\\x00"), std::string::npos) << text.out;
  const CommandResult object = Run({"repair", Pool(), Path("new2"), "--json"});
  EXPECT_EQ(json::parse(object.out)["findings"][0]["key_hex"], "ff00");
}

}  // namespace
}  // namespace braid::test
