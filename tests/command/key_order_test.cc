// Pools whose keys are in another order than that of their bytes.
#include "support/key_orders.h"

#include <string>
#include <vector>

#include "braid/db.h"
#include "command/command_runner.h"
#include "support/database.h"

namespace braid::test {
namespace {

class KeyOrderCommandTest : public CommandTest {
 protected:
  /// A pool in an order that the command does not know.
  void MakeForeignPool() {
    auto opened = DB::Open(TinyOptions(), Pool(), std::make_shared<NewestFirstOrder>());
    BRAID_ASSERT_OK(opened.status());
    BRAID_ASSERT_OK((*opened)->Put("a/1", "old"));
    BRAID_ASSERT_OK((*opened)->Put("a/2", "new"));
    BRAID_ASSERT_OK((*opened)->Close());
  }
};

TEST_F(KeyOrderCommandTest, ABuiltInOrderIsChosenOnceAndThenKnown) {
  Out({"put", Pool(), "a", "1", "--key-order", "reverse-bytewise"});
  Out({"put", Pool(), "ab", "2"});
  Out({"load", Pool(), "-"}, "b\t3\nc\t4\n");
  EXPECT_EQ(Out({"scan", Pool(), "--keys-only"}), "c\nb\nab\na\n");
  EXPECT_EQ(Out({"scan", Pool(), "--keys-only", "--from", "b", "--to", "a"}), "b\nab\n");
  EXPECT_EQ(Out({"count", Pool(), "--from", "a", "--to", "b"}), "0\n");
  EXPECT_EQ(Out({"get", Pool(), "ab"}), "2\n");
  EXPECT_NE(Out({"info", Pool()}).find("reverse-bytewise"), std::string::npos);
  Out({"verify", Pool()});
  Out({"compact", Pool()});
  Out({"stat", Pool()});
  Out({"metrics", Pool()});
  EXPECT_EQ(Out({"shell", Pool()}, "put d 5\nscan --to b\n"), "d\t5\nc\t4\n");
  EXPECT_EQ(Out({"dump", Pool(), "-"}), "d\t5\nc\t4\nb\t3\nab\t2\na\t1\n");
  EXPECT_EQ(Out({"delete", Pool(), "--to", "b"}), "2 keys deleted\n");
  EXPECT_EQ(Out({"scan", Pool(), "--keys-only"}), "b\nab\na\n");
  EXPECT_EQ(Out({"delete", Pool(), "--all"}), "3 keys deleted\n");
  EXPECT_EQ(Run({"delete", Pool(), "--all"}).exit_code, 1) << "there is none any more";
}

TEST_F(KeyOrderCommandTest, IntegersAreGivenAsHexDigits) {
  const std::vector<std::string> put = {"put", Pool(), "--hex", "--key-order", "int32-le"};
  for (const char* key : {"01000000", "ffffffff", "00000080", "00010000"}) {
    std::vector<std::string> words = put;
    words.insert(words.begin() + 2, {key, "31"});
    Out(words);
  }
  EXPECT_EQ(Out({"scan", Pool(), "--hex", "--keys-only"}),
            "00000080\nffffffff\n01000000\n00010000\n");
  ExpectError({"put", Pool(), "123", "v"}, "keys have 4");
  EXPECT_EQ(Out({"delete", Pool(), "--hex", "--to", "01000000"}), "2 keys deleted\n");
}

TEST_F(KeyOrderCommandTest, WhatDoesNotGoWithTheOrderIsRefused) {
  Out({"put", Pool(), "a", "1", "--key-order", "reverse-bytewise"});
  for (const char* verb : {"scan", "count", "delete"}) {
    ExpectError({verb, Pool(), "--prefix", "a"}, "give --from and --to");
  }
  ExpectError({"shell", Pool()}, "give --from and --to", "scan --prefix a\n");
  ExpectError({"scan", Pool(), "--key-order", "int64-le"}, "\"reverse-bytewise\"");
  ExpectError({"put", Path("other"), "a", "1", "--key-order", "by-weight"}, "by-weight");
  EXPECT_FALSE(Exists(Path("other")));
}

TEST_F(KeyOrderCommandTest, CopiesAndRepairedPoolsKeepTheOrder) {
  Out({"load", Pool(), "-", "--key-order", "reverse-bytewise"}, "a\t1\nb\t2\nc\t3\n");
  Out({"checkpoint", Pool(), Path("copy")});
  Out({"restore", Pool(), Path("restored")});
  Out({"repair", Pool(), Path("repaired")});
  for (const char* name : {"copy", "restored", "repaired"}) {
    EXPECT_EQ(Out({"scan", Path(name), "--keys-only"}), "c\nb\na\n") << name;
  }
}

TEST_F(KeyOrderCommandTest, AnOrderThatIsNotBuiltInIsReadEncodedAndNotWritten) {
  ASSERT_NO_FATAL_FAILURE(MakeForeignPool());
  const CommandResult scan = Run({"scan", Pool(), "--hex"});
  EXPECT_EQ(scan.exit_code, 0) << scan.err;
  EXPECT_EQ(scan.out, "6100fffffffffffffffd\t6e6577\n6100fffffffffffffffe\t6f6c64\n");
  EXPECT_NE(scan.err.find("test.newest-first"), std::string::npos) << scan.err;
  EXPECT_EQ(Run({"get", Pool(), "--hex", "6100fffffffffffffffd"}).out, "6e6577\n");
  for (const char* verb : {"verify", "stat", "count", "metrics"}) {
    EXPECT_EQ(Run({verb, Pool()}).exit_code, 0) << verb;
  }
  EXPECT_EQ(Run({"dump", Pool(), Path("records")}).exit_code, 0);
  ExpectError({"put", Pool(), "a", "1"}, "test.newest-first");
  ExpectError({"delete", Pool(), "--all"}, "test.newest-first");
  ExpectError({"compact", Pool()}, "test.newest-first");
  ExpectError({"shell", Pool()}, "test.newest-first");
  // What moves bytes keeps them and the name.
  Out({"restore", Pool(), Path("restored")});
  Out({"repair", Pool(), Path("repaired")});
  for (const char* name : {"restored", "repaired"}) {
    auto opened = DB::Open(TinyOptions(), Path(name), std::make_shared<NewestFirstOrder>());
    BRAID_ASSERT_OK(opened.status());
    EXPECT_EQ(ScanForward(opened->get()), (Pairs{{"a/2", "new"}, {"a/1", "old"}}));
  }
}

}  // namespace
}  // namespace braid::test
