// A growth that finds no memory leaves nothing behind: the pool grows when there is some again.
#include "injector.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

class GrowthMemoryTest : public ::testing::Test {
 protected:
  /// A put that the pool must grow for, without memory from allocation `at` on. False when it has
  /// enough of them before.
  bool GrowsAfterFailureAt(uint64_t at) {
    TempFolder folder;
    Options options = TinyOptions();
    options.background_threads = false;
    options.pool.initial_bytes = 512ull << 10;
    const std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
    if (db == nullptr) return false;
    const std::string value(options.pool.initial_bytes, 'v');
    const uint64_t before = db->GetStatistics().pool_bytes;
    Inject({.call = Call::kNew, .at = at, .lasting = true});
    Status put;
    {
      const Armed armed;
      put = db->Put("key", value);
    }
    const bool failed = HasFailed();
    Inject({});
    EXPECT_TRUE(put.ok() || put.IsOutOfMemory()) << put.ToString();
    if (!put.ok()) put = db->Put("key", value);
    EXPECT_TRUE(put.ok()) << "after allocation " << at << ": " << put.ToString();
    EXPECT_GT(db->GetStatistics().pool_bytes, before);
    EXPECT_TRUE(GetText(db.get(), "key") == value);
    const Status closed = db->Close();
    EXPECT_TRUE(closed.ok()) << "after allocation " << at << ": " << closed.ToString();
    return failed;
  }
};

TEST_F(GrowthMemoryTest, APoolGrowsOnceThereIsMemoryAgain) {
  uint64_t at = 1;
  while (GrowsAfterFailureAt(at) && !HasFailure()) ++at;
  EXPECT_GT(at, 5u) << "a growth takes memory";
}

}  // namespace
}  // namespace braid::test
