// After a sync that failed nobody is told that a write is durable: neither who waited behind it,
// nor who comes later, by whatever call; nothing grows, and reads go on.
#include <thread>

#include "braid/update.h"
#include "injector.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

constexpr uint64_t kSyncKeys = 300;

WriteOptions Synced() {
  WriteOptions options;
  options.sync = true;
  return options;
}

class OneRecord final : public RecordSource {
 public:
  bool Next(Slice* key, Slice* value) override {
    *key = "ingested";
    *value = "v";
    return std::exchange(left_, false);
  }
  Status status() const override { return Status::OK(); }

 private:
  bool left_ = true;
};

struct SyncWay {
  const char* design;
  bool background;
};

class SyncErrorTest : public ::testing::TestWithParam<SyncWay> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.design = GetParam().design;
    options_.background_threads = GetParam().background;
    db_ = OpenOrFail(options_, path());
    ASSERT_NE(db_, nullptr);
    ASSERT_EQ(db_->GetStatistics().media_class, MediaClass::kPage);
    for (uint64_t i = 0; i < kSyncKeys; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
  }
  void TearDown() override { Inject({}); }

  std::string path() const { return folder_.Sub("pool"); }
  bool syncs() const { return std::string_view(GetParam().design) != "nvskiplist"; }

  /// The first sync of a call fails, and no other one.
  template <class Call>
  Status WithOneFailingSync(Call&& call) {
    Inject({Call_::kSync, 1, false, EIO});
    const Armed armed;
    return std::forward<Call>(call)();
  }
  /// Puts until the pool must grow and a sync fails.
  Status GrowWithFailingSync() {
    return WithOneFailingSync([&] {
      const std::string large(64 << 10, 'x');
      Status s;
      for (uint64_t i = 0; s.ok() && i < 4096; ++i) s = db_->Put("large" + NumberedKey(i), large);
      return s;
    });
  }

  void ExpectNoWriteIsTaken() {
    const WriteOptions synced = Synced();
    WriteBatch one;
    one.Put("k", "v");
    WriteBatch two;
    two.Put("k", "v");
    two.Delete("l");
    uint64_t deleted = 0;
    EXPECT_TRUE(IsRefused(db_->Put("k", "v")));
    EXPECT_TRUE(IsRefused(db_->Delete(NumberedKey(1))));
    EXPECT_TRUE(IsRefused(db_->Write(one)));
    EXPECT_TRUE(IsRefused(db_->CompareAndSwap(NumberedKey(2), "v", "w").status()));
    EXPECT_TRUE(IsRefused(db_->PutIfAbsent("k", "v").status()));
    EXPECT_TRUE(
        IsRefused(Update(db_.get(), {}, "k", [](std::optional<Slice>) { return "v"; }).status()));
    EXPECT_TRUE(IsRefused(db_->DeleteRange("", std::nullopt, &deleted)));
    EXPECT_EQ(deleted, 0u);
    EXPECT_TRUE(IsRefused(db_->Flush()));
    EXPECT_TRUE(IsRefused(db_->Compact()));
    EXPECT_TRUE(IsRefused(db_->BackgroundStatus()));
    EXPECT_TRUE(IsRefused(db_->Resume()));
    if (!syncs()) return;
    EXPECT_TRUE(IsRefused(db_->Put(synced, "k", "v")));
    EXPECT_TRUE(IsRefused(db_->Write(two)));
    EXPECT_TRUE(IsRefused(db_->Write(synced, WriteBatch())));
    EXPECT_TRUE(IsRefused(db_->PutIfAbsent(synced, "k", "v").status()));
    OneRecord record;
    EXPECT_TRUE(IsRefused(db_->Ingest(&record, {}, nullptr)));
    Result<std::unique_ptr<Transaction>> transaction = db_->BeginTransaction();
    BRAID_ASSERT_OK(transaction.status());
    BRAID_EXPECT_OK((*transaction)->Put("k", "v"));
    EXPECT_TRUE(IsRefused((*transaction)->Commit()));
  }
  static ::testing::AssertionResult IsRefused(const Status& s) {
    return HasCode(s, Status::Code::kIOError);
  }

  using Call_ = ::braid::test::Call;
  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
};
INSTANTIATE_TEST_SUITE_P(Faults, SyncErrorTest,
                         ::testing::Values(SyncWay{"braid", false}, SyncWay{"braid", true},
                                           SyncWay{"nvskiplist", false},
                                           SyncWay{"nvskiplist", true}),
                         [](const auto& way) {
                           return std::string(way.param.design) +
                                  (way.param.background ? "_background" : "_inline");
                         });

TEST_P(SyncErrorTest, AWriterThatWaitsBehindAFailingSyncGetsItsError) {
  if (!syncs()) GTEST_SKIP() << "the design takes no writes with sync on such media";
  std::thread behind;
  Status second;
  const std::function<void()> meanwhile = [&] {
    behind = std::thread([&] { second = db_->Put(Synced(), "second", "v"); });
    // It is written, and admitted, once it can be read; now it comes to wait for the sync.
    while (GetText(db_.get(), "second") != "v") std::this_thread::yield();
  };
  before_failure.store(&meanwhile);
  const Status first = WithOneFailingSync([&] { return db_->Put(Synced(), "first", "v"); });
  before_failure.store(nullptr);
  ASSERT_TRUE(behind.joinable());
  behind.join();
  EXPECT_TRUE(IsRefused(first));
  EXPECT_TRUE(IsRefused(second)) << "a sync that succeeds after one that failed tells nothing";
  ExpectNoWriteIsTaken();
}

TEST_P(SyncErrorTest, NoWriteIsTakenAfterwardsAndNothingGrows) {
  const Status failed = syncs()
                            ? WithOneFailingSync([&] { return db_->Put(Synced(), "first", "v"); })
                            : GrowWithFailingSync();
  EXPECT_TRUE(IsRefused(failed));
  ExpectNoWriteIsTaken();
  const Statistics before = db_->GetStatistics();
  for (uint64_t i = 0; i < 20'000; ++i) {
    ASSERT_FALSE(db_->PutIfAbsent("absent" + NumberedKey(i), std::string(100, 'v')).ok());
  }
  const Statistics after = db_->GetStatistics();
  EXPECT_EQ(after.memtable_entries, before.memtable_entries);
  EXPECT_EQ(after.l1_entries, before.l1_entries);
  EXPECT_LE(after.pool_used_bytes, before.pool_used_bytes);
  EXPECT_EQ(GetText(db_.get(), NumberedKey(7)), "v");
  EXPECT_TRUE(IsRefused(db_->Close()));
  db_ = OpenOrFail(options_, path());
  ASSERT_NE(db_, nullptr);
  BRAID_EXPECT_OK(db_->BackgroundStatus());
  for (uint64_t i = 0; i < kSyncKeys; ++i) ASSERT_EQ(GetText(db_.get(), NumberedKey(i)), "v");
  EXPECT_EQ(GetText(db_.get(), "absent" + NumberedKey(1)), "(not found)");
}

TEST_P(SyncErrorTest, AGrowthWhoseSyncFailsEndsWritesToo) {
  EXPECT_TRUE(IsRefused(GrowWithFailingSync()));
  ExpectNoWriteIsTaken();
  EXPECT_EQ(GetText(db_.get(), NumberedKey(7)), "v");
  (void)db_->Close();
  db_ = OpenOrFail(options_, path());
  ASSERT_NE(db_, nullptr);
  for (uint64_t i = 0; i < kSyncKeys; ++i) ASSERT_EQ(GetText(db_.get(), NumberedKey(i)), "v");
  VerifyReport report;
  BRAID_EXPECT_OK(db_->Verify(&report));
}

}  // namespace
}  // namespace braid::test
