// Tests what the manifest does about a copy of it that a crash has torn.

#include "level/manifest.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/test_pool.h"

namespace braid::level {
namespace {

using format::ManifestRecord;

class ManifestTest : public ::testing::Test {
 protected:
  ManifestRecord* Copy(int which) {
    return pool_->As<ManifestRecord>(format::kManifestOffset[which]);
  }

  test::TestPool pool_{[](pmem::PmemPool* fresh) { return Manifest(fresh).Create(); }};
};

TEST_F(ManifestTest, ATornCopyCannotBeCompletedByTheCommitsOfALaterSession) {
  Manifest before(pool_.get());
  ASSERT_TRUE(before.Load().ok());
  const uint64_t old_count = before.record().commit_count;
  constexpr uint64_t kId = 7;
  before.AddTable({kId, 0, 0, 1, 3, 3});
  const ManifestRecord old = *Copy(0);
  ASSERT_TRUE(before.Commit().ok());
  const ManifestRecord lost = *Copy(0);
  // The crash: of the first copy all is durable but the line with L1's record, the other is old.
  constexpr size_t kLine = offsetof(ManifestRecord, tables[1]) / 64 * 64;
  ManifestRecord torn = lost;
  std::memcpy(reinterpret_cast<char*>(&torn) + kLine, reinterpret_cast<const char*>(&old) + kLine,
              64);
  ASSERT_NE(std::memcmp(&torn, &lost, sizeof lost), 0);
  *Copy(0) = torn;
  *Copy(1) = old;
  Copy(1)->check = format::StructCheck(*Copy(1), format::kManifestOffset[1]);

  Manifest after(pool_.get());
  ASSERT_TRUE(after.Load().ok());
  EXPECT_EQ(after.record().commit_count, old_count);
  EXPECT_EQ(after.FindTable(kId), nullptr);
  // The next commit happens to have the same line there, and this is all of it that arrives.
  std::memcpy(reinterpret_cast<char*>(Copy(0)) + kLine,
              reinterpret_cast<const char*>(&lost) + kLine, 64);
  Manifest again(pool_.get());
  ASSERT_TRUE(again.Load().ok());
  EXPECT_EQ(again.FindTable(kId), nullptr) << "the lost commit is back";
}

TEST_F(ManifestTest, ACommitSurvivesTheLossOfEitherCopy) {
  for (const int lost : {0, 1}) {
    const uint64_t id = 7 + static_cast<uint64_t>(lost);
    Manifest before(pool_.get());
    ASSERT_TRUE(before.Load().ok());
    before.AddTable({id, 0, 0, 1 + static_cast<uint32_t>(lost), 3, 3});
    ASSERT_TRUE(before.Commit().ok());
    Copy(lost)->last_sequence ^= 1;
    Manifest after(pool_.get());
    ASSERT_TRUE(after.Load().ok());
    EXPECT_NE(after.FindTable(id), nullptr) << "without copy " << lost;
  }
}

}  // namespace
}  // namespace braid::level
