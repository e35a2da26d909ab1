// checkpoint and restore: the state of one moment, whole or not at all.
#include "command/command_runner.h"

namespace braid::test {
namespace {

using CheckpointTest = CommandTest;

TEST_F(CheckpointTest, KeepsTheStateOfItsMoment) {
  Out({"put", Pool(), "a", "1"});
  EXPECT_TRUE(Out({"checkpoint", Pool(), Path("monday")}).starts_with("checkpoint at '"));
  Out({"put", Pool(), "a", "2"});
  Out({"put", Pool(), "b", "3"});
  EXPECT_TRUE(Out({"restore", Path("monday"), Path("again")}).starts_with("restored '"));
  EXPECT_EQ(Out({"scan", Path("again")}), "a\t1\n");
  EXPECT_EQ(Out({"scan", Pool()}), "a\t2\nb\t3\n");
  // Both are pools of their own.
  Out({"put", Path("again"), "c", "4"});
  EXPECT_EQ(Out({"scan", Path("monday")}), "a\t1\n");
  for (const char* pool : {"monday", "again"}) EXPECT_EQ(Run({"verify", Path(pool)}).exit_code, 0);
}

TEST_F(CheckpointTest, ATargetThatIsThereAndADamagedCheckpointAreRefused) {
  Out({"put", Pool(), "a", "1"});
  Out({"checkpoint", Pool(), Path("monday")});
  ExpectError({"checkpoint", Pool(), Path("monday")}, Path("monday"));
  ExpectError({"restore", Path("monday"), Pool()}, Pool());
  ExpectError({"checkpoint", Pool(), Path("no/such/folder")}, "no/such");
  ExpectError({"restore", File("file", "no pool"), Path("new")}, "file");
  std::string segment = ReadFileText(Path("monday") + "/segment-000000");
  segment.replace(0, 4096, 4096, '\xee');
  File("monday/segment-000000", segment);
  ExpectError({"restore", Path("monday"), Path("new")}, "Corruption");
  EXPECT_FALSE(Exists(Path("new")));
  EXPECT_FALSE(Exists(Path("new.partial")));
  EXPECT_EQ(Out({"get", Pool(), "a"}), "1\n");
}

}  // namespace
}  // namespace braid::test
