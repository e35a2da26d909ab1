// What a store has no use for any more is given back to the file system, and nothing that it has.
#include <string>

#include "conformance.h"

namespace braid::test {
namespace {

class GiveBackTest : public ConformanceTest {
 protected:
  void SetUp() override {
    if (!GetParam().tiny) GTEST_SKIP() << "more than this test writes stays for use again";
    ConformanceTest::SetUp();
    ASSERT_LT(options_.pool.initial_bytes, 2u << 20) << "so much is kept";
    Result<PoolInfo> info = DB::Inspect(path_);
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    if (!info->why_no_holes.empty()) GTEST_SKIP() << info->why_no_holes;
  }
  void Overwrite(int keys, char fill) {
    const std::string value(500, fill);
    for (int i = 0; i < keys; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), value));
  }
  void Check(int keys, char fill) {
    const std::string value(500, fill);
    std::string found;
    for (int i = 0; i < keys; ++i) {
      BRAID_ASSERT_OK(db_->Get(NumberedKey(i), &found));
      ASSERT_EQ(found, value) << i;
    }
    VerifyReport report;
    BRAID_ASSERT_OK(db_->Verify(&report));
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, GiveBackTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(GiveBackTest, DeletedDataLeavesTheFiles) {
  constexpr int kKeys = 3000;
  Overwrite(kKeys, 'a');
  Overwrite(kKeys, 'b');
  BRAID_ASSERT_OK(db_->Compact());
  Check(kKeys, 'b');
  for (int i = kKeys / 8; i < kKeys; ++i) BRAID_ASSERT_OK(db_->Delete(NumberedKey(i)));
  for (int round = 0; round < 3; ++round) BRAID_ASSERT_OK(db_->Compact());
  const Statistics emptied = db_->GetStatistics();
  EXPECT_LE(emptied.pool_hole_bytes, emptied.pool_free_bytes);
  // More than any reserve; a design that merges nothing frees less.
  const bool frees = emptied.pool_free_bytes > emptied.pool_bytes / 2 + (1u << 20);
  if (frees) {
    EXPECT_LT(emptied.pool_allocated_bytes, emptied.pool_bytes);
    EXPECT_GT(emptied.given_back_bytes, 0u);
    EXPECT_GT(emptied.pool_hole_bytes, 0u);
  }
  Check(kKeys / 8, 'b');
  // And holes are used again.
  Overwrite(kKeys, 'c');
  Check(kKeys, 'c');
  Reopen();
  Check(kKeys, 'c');
  Overwrite(kKeys, 'd');
  BRAID_ASSERT_OK(db_->Compact());
  Check(kKeys, 'd');
}

}  // namespace
}  // namespace braid::test
