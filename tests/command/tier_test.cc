// A pool with a tier, from the command line: more data than the pool may hold, and what the verbs
// say without the tier.
#include <nlohmann/json.hpp>

#include "command/command_runner.h"
#include "support/database.h"

namespace braid::test {
namespace {

#if defined(BRAID_HAVE_ROCKSDB)

class TierCommandTest : public CommandTest {
 protected:
  static constexpr int kRecords = 60'000;  // of 1 KiB, into a pool of 32 MiB

  void SetUp() override {
    std::string text;
    for (int i = 0; i < kRecords; ++i) {
      text += NumberedKey(static_cast<uint64_t>(i)) + "\t" + std::to_string(i) +
              std::string(1000, 'v') + "\n";
    }
    records_ = File("in", text);
    Out({"load", Pool(), records_, "--tier", Path("tier"), "--max-size", "32M"});
  }

  std::string records_;
};

TEST_F(TierCommandTest, APoolTakesMoreThanItHolds) {
  EXPECT_EQ(Out({"count", Pool(), "--tier", Path("tier")}), std::to_string(kRecords) + "\n");
  EXPECT_EQ(Out({"get", Pool(), NumberedKey(17), "--tier", Path("tier"), "--raw"}),
            "17" + std::string(1000, 'v'));
  Out({"verify", Pool(), "--tier", Path("tier")});
  const auto info = nlohmann::json::parse(Out({"info", Pool(), "--json"}));
  EXPECT_EQ(info.at("tier"), Path("tier"));
  EXPECT_LE(info.at("pool_bytes").get<uint64_t>(), 32u << 20);
  EXPECT_NE(Out({"info", Pool()}).find(Path("tier")), std::string::npos);

  // Without it, nothing is shown as if it were all.
  for (const std::vector<std::string>& verb :
       {std::vector<std::string>{"get", Pool(), NumberedKey(17)},
        {"count", Pool()},
        {"scan", Pool()},
        {"verify", Pool()},
        {"compact", Pool()}}) {
    const CommandResult result = ExpectError(verb, "");
    EXPECT_NE(result.err.find(Path("tier")), std::string::npos) << verb[0] << ": " << result.err;
  }
  // A checkpoint has everything, and needs no tier.
  Out({"checkpoint", Pool(), Path("copy"), "--tier", Path("tier"), "--max-size", "32M"});
  EXPECT_EQ(Out({"count", Path("copy")}), std::to_string(kRecords) + "\n");
  // A repair has everything, in a pool with a tier of its own.
  Out({"repair", Pool(), Path("whole"), "--tier", Path("tier"), "--new-tier", Path("tier-2"),
       "--max-size", "32M"});
  EXPECT_EQ(Out({"count", Path("whole"), "--tier", Path("tier-2")}),
            std::to_string(kRecords) + "\n");
  // Without the tier it has what the pool holds, and says so.
  const CommandResult repaired = Run({"repair", Pool(), Path("repaired")});
  EXPECT_NE(repaired.exit_code, 0);
  EXPECT_NE((repaired.out + repaired.err).find(Path("tier")), std::string::npos)
      << repaired.out << repaired.err;
}

/// Of a pool of 16 chunks, logs, garbage that is not worth a collection and what is kept free take
/// all that does not live: more than usual goes before a write is refused.
TEST_F(TierCommandTest, ASmallPoolTakesAsMuch) {
  Out({"load", Path("small"), records_, "--tier", Path("small-tier"), "--max-size", "16M"});
  EXPECT_EQ(Out({"count", Path("small"), "--tier", Path("small-tier")}),
            std::to_string(kRecords) + "\n");
  Out({"verify", Path("small"), "--tier", Path("small-tier")});
}

#endif

}  // namespace
}  // namespace braid::test
