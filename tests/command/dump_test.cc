// dump, and load and ingest of what it wrote: every byte comes back, in every format.
#include <nlohmann/json.hpp>
#include <random>

#include "command/command_runner.h"

namespace braid::test {
namespace {

using nlohmann::json;

class DumpTest : public CommandTest {
 protected:
  DumpTest() {
    // Every byte as a key of its own, keys of random bytes, empty ones, and long values.
    std::string lines = "\t00\n";
    std::random_device device;
    const unsigned seed = device();
    std::mt19937 random(seed);
    std::printf("[ seed     ] %u\n", seed);
    const auto hex = [&random](size_t length) {
      constexpr char kDigits[] = "0123456789abcdef";
      std::string text;
      for (size_t i = 0; i < 2 * length; ++i) text.push_back(kDigits[random() % 16]);
      return text;
    };
    char byte[3];
    for (int i = 0; i < 256; ++i) {
      std::snprintf(byte, sizeof byte, "%02x", i);
      lines += std::string(byte) + "\t" + hex(i % 7) + "\n";
    }
    for (int i = 0; i < 500; ++i)
      lines += hex(2 + random() % 60) + "\t" + hex(random() % 300) + "\n";
    lines += hex(1000) + "\t" + hex(100000) + "\n";
    Out({"load", Pool(), File("records.hex", lines), "--hex"});
    all_ = Out({"scan", Pool(), "--hex"});
  }
#if defined(BRAID_HAVE_ROCKSDB)
  static constexpr bool kHasSst = true;
#else
  static constexpr bool kHasSst = false;
#endif
  std::string all_;  // what the pool holds
};

TEST_F(DumpTest, LoadReadsEveryFormatBackByteForByte) {
  int target = 0;
  const auto check = [&](std::vector<std::string> dump, std::vector<std::string> load) {
    const std::string name = "copy" + std::to_string(++target);
    dump.insert(dump.begin(), {"dump", Pool(), Path(name + ".dump")});
    load.insert(load.begin(), {"load", Path(name), Path(name + ".dump")});
    EXPECT_TRUE(Out(dump).starts_with("dumped ")) << Join(dump);
    Out(load);
    EXPECT_TRUE(Out({"scan", Path(name), "--hex"}) == all_) << Join(dump);
  };
  check({}, {});
  check({"--hex"}, {"--hex"});
  check({"--format=jsonl"}, {"--format=jsonl"});
  if (kHasSst) check({"--format=sst"}, {"--format=sst"});
}

TEST_F(DumpTest, IngestReadsEveryFormatBackByteForByte) {
  int target = 0;
  const auto check = [&](std::vector<std::string> dump, std::vector<std::string> ingest) {
    const std::string name = "copy" + std::to_string(++target);
    dump.insert(dump.begin(), {"dump", Pool(), Path(name + ".dump")});
    ingest.insert(ingest.begin(), {"ingest", Path(name), Path(name + ".dump")});
    Out(dump);
    EXPECT_TRUE(Out(ingest).starts_with("ingested ")) << Join(ingest);
    EXPECT_TRUE(Out({"scan", Path(name), "--hex"}) == all_) << Join(ingest);
    EXPECT_EQ(Run({"verify", Path(name)}).exit_code, 0);
  };
  check({}, {});
  check({}, {"--sorted"});
  check({"--format=jsonl"}, {"--format=jsonl", "--sorted"});
  if (kHasSst) check({"--format=sst"}, {"--format=sst"});
}

TEST_F(DumpTest, IngestSortsAndTakesTheLaterRecordOfAKey) {
  const std::string file = File("mixed.tsv", "b\t1\na\t2\nb\t3\n");
  const json object = json::parse(Out({"ingest", Path("p"), file, "--json", "--prefix", "x/"}));
  EXPECT_EQ(object.at("complete"), true);
  EXPECT_EQ(Out({"scan", Path("p")}), "x/a\t2\nx/b\t3\n");
  Out({"put", Path("p"), "x/a", "newer"});
  Out({"ingest", Path("p"), File("newest.tsv", "x/a\tnewest\n")});
  EXPECT_EQ(Out({"get", Path("p"), "x/a"}), "newest\n");
}

TEST_F(DumpTest, WhatIsOutOfOrderOrBadLoadsNothing) {
  const std::string mixed = File("mixed.tsv", "a\t1\n\nc\t2\nb\t3\n");
  ExpectError({"ingest", Path("p"), mixed, "--sorted"}, mixed + ":4: ");
  ExpectError({"ingest", Path("p"), mixed, "--sorted"}, "leave --sorted out");
  ExpectError({"ingest", Path("p"), File("bad.tsv", "a\t1\nb\n"), "--sorted"}, "bad.tsv:2: no TAB");
  EXPECT_EQ(Out({"count", Path("p")}), "0\n");
}

TEST_F(DumpTest, BoundsAreThoseOfScan) {
  Out({"put", Path("p"), "user/1", "a"});
  Out({"put", Path("p"), "user/2", "b"});
  Out({"put", Path("p"), "zebra", "c"});
  const std::vector<std::vector<std::string>> bounds = {{"--prefix", "user/"},
                                                        {"--from", "user/2"},
                                                        {"--to", "user/2"},
                                                        {"--from", "z", "--to", "a"}};
  for (const auto& bound : bounds) {
    std::vector<std::string> dump = {"dump", Path("p")};
    std::vector<std::string> scan = {"scan", Path("p")};
    dump.insert(dump.end(), bound.begin(), bound.end());
    scan.insert(scan.end(), bound.begin(), bound.end());
    EXPECT_EQ(Out(dump), Out(scan)) << Join(dump);
  }
  const json object =
      json::parse(Out({"dump", Path("p"), Path("f"), "--json", "--prefix", "user/"}));
  EXPECT_EQ(object.at("records"), 2);
  EXPECT_EQ(object.at("bytes"), ReadFileText(Path("f")).size());
}

TEST_F(DumpTest, AFileIsReplacedOnlyOnRequestAndOnlyAsAWhole) {
  const std::string file = File("there", "mine");
  ExpectError({"dump", Pool(), file}, "--force");
  EXPECT_EQ(ReadFileText(file), "mine");
  Out({"dump", Pool(), file, "--force"});
  EXPECT_EQ(Out({"dump", Pool()}), ReadFileText(file));
  EXPECT_FALSE(Exists(file + ".partial"));
  ExpectError({"dump", Pool(), folder_.path()}, "is not an ordinary file");
  ExpectError({"dump", Pool(), "/dev/null", "--force"}, "is not an ordinary file");
  ExpectError({"dump", Pool(), Path("no/such/folder")}, "No such file");
  ExpectError({"dump", Pool(), "--json"}, "--json needs FILE");
  ExpectError({"dump", Pool(), "--format", "sst"}, "can't go to stdout");
  ExpectError({"dump", Pool(), "--format", "xml"}, "--format");
  ExpectError({"dump", Path("none")}, "no pool at");
}

TEST_F(DumpTest, AnSstOfNothingIsRefusedAndLeavesNothing) {
  if (!kHasSst) GTEST_SKIP() << "built without RocksDB";
  ExpectError({"dump", Pool(), Path("f"), "--format=sst", "--from", "z", "--to", "a"},
              "can't be empty");
  EXPECT_FALSE(Exists(Path("f")));
  EXPECT_FALSE(Exists(Path("f.partial")));
}

TEST_F(DumpTest, WhatIsNoSstIsRefused) {
  if (!kHasSst) GTEST_SKIP() << "built without RocksDB";
  ExpectError({"load", Path("p"), File("f", "a\tb\n"), "--format=sst"}, "can't read");
  Out({"dump", Pool(), Path("cut"), "--format=sst"});
  const std::string whole = ReadFileText(Path("cut"));
  ExpectError({"load", Path("p"), File("cut", whole.substr(0, whole.size() / 2)), "--format=sst"},
              "can't read");
  std::string flipped = whole;
  flipped[100] = static_cast<char>(flipped[100] ^ 1);
  ExpectError({"load", Path("p"), File("flipped", flipped), "--format=sst"}, "checksum");
  ExpectError({"load", Path("p"), Path("missing"), "--format=sst"}, "check the path");
  ExpectError({"load", Path("p"), "-", "--format=sst"}, "can't come from stdin");
}

TEST_F(DumpTest, StopsWhenNobodyReads) {
  const std::string command =
      CommandPath() + " dump " + Pool() + " | head -1 >" + Path("head") + "; exit ${PIPESTATUS[0]}";
  EXPECT_EQ(std::system(("bash -c '" + command + "'").c_str()), 0);
  EXPECT_EQ(Lines(ReadFileText(Path("head"))).size(), 1u);
}

}  // namespace
}  // namespace braid::test
