// A snapshot that there was no memory for: reads at it say so, and don't show the newest state.
#include "injector.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

void ExpectReadsSaySo(DB* db, const Snapshot* snapshot) {
  ReadOptions at;
  at.snapshot = snapshot;
  std::string value;
  PinnedValue pinned;
  std::vector<std::string> values;
  const std::vector<Slice> keys{"k"};
  constexpr Status::Code kNoMemory = Status::Code::kOutOfMemory;
  EXPECT_TRUE(HasCode(db->Get(at, "k", &value), kNoMemory));
  EXPECT_TRUE(HasCode(db->GetPinned(at, "k", &pinned), kNoMemory));
  EXPECT_TRUE(HasCode(db->MultiGet(at, keys, &values)[0], kNoMemory));
  const std::unique_ptr<Iterator> it = db->NewIterator(at);
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(HasCode(it->status(), kNoMemory));
}

TEST(NoMemorySnapshotTest, ReadsAtItAreOutOfMemory) {
  TempFolder folder;
  Options options = TinyOptions();
  options.background_threads = false;
  const std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Put("k", "old"));
  bool failed = true;
  for (uint64_t k = 1; failed; ++k) {
    ASSERT_LT(k, 100u);
    Inject({Call::kNew, k, true, ENOMEM});
    std::shared_ptr<const Snapshot> snapshot;
    {
      const Armed armed;
      snapshot = db->GetSnapshot();
    }
    failed = HasFailed();
    Inject({});
    ASSERT_NE(snapshot, nullptr);
    if (failed) {
      ExpectReadsSaySo(db.get(), snapshot.get());
      std::shared_ptr<const Snapshot> other = snapshot;
      Inject({Call::kNew, k, true, ENOMEM});
      Status said;
      {
        const Armed armed;
        said = db->GetSnapshot(&other);
      }
      Inject({});
      EXPECT_TRUE(HasCode(said, Status::Code::kOutOfMemory)) << said.ToString();
      EXPECT_EQ(other, nullptr);
    } else {
      EXPECT_EQ(GetText(db.get(), "k", snapshot.get()), "old");
    }
  }
}

}  // namespace
}  // namespace braid::test
