// Closing while other threads are inside calls: when Close returns, nobody works on the pool any
// more, and whoever opens it at that moment finds it whole. In every mode, by random orders.
#include <atomic>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "base/activity.h"
#include "braid/update.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/folder_state.h"
#include "support/store_kind.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

/// The bytes of a pool. Not its times: the kernel notes those of mappings when it likes.
std::map<std::string, uint64_t> BytesOf(const std::string& pool) {
  std::map<std::string, uint64_t> bytes;
  for (const auto& [path, state] : StateOfFolder(pool)) bytes[path] = state.hash;
  return bytes;
}

uint32_t Running(base::Activity activity) {
  return (*base::activity_board)[static_cast<size_t>(activity)].load();
}

/// A call that merges for long, by itself or with the threads of the database.
enum class LongCall : uint8_t { kCompact, kPut, kFlushAndCompact, kVerify };

struct Way {
  LongCall call;
  bool background;
};

class CloseBesideCallTest : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    options_ = TinyOptions();
    options_.pool.chunk_bytes = 256 << 10;
    options_.pool.initial_bytes = 16 << 20;
    options_.background_threads = GetParam().background;
    options_.memtable.bytes = 1 << 20;
    options_.compaction.batch_entries = 4096;
    // Nothing is merged before the call is made, or a put has filled one memtable more.
    options_.compaction.l0_trigger = GetParam().call == LongCall::kPut ? kTables : 20;
    options_.compaction.l0_slowdown = 30;
    db_ = OpenOrFail(options_, path());
    ASSERT_NE(db_, nullptr);
    uint64_t next = 0;
    while (db_->GetStatistics().l0_tables < kTables - 1) {
      for (int i = 0; i < 200; ++i) ASSERT_NO_FATAL_FAILURE(Put(next++ * 7919 % 50'000));
    }
  }
  std::string path() const { return folder_.Sub("pool"); }
  void Put(uint64_t i) {
    const std::string key = NumberedKey(i);
    BRAID_ASSERT_OK(db_->Put(key, "value of " + key));
    keys_.insert(key);
  }

  /// Returns when the database is closed.
  void CallUntilClosed() {
    for (uint64_t i = 0;; ++i) {
      Status s;
      VerifyReport report;
      switch (GetParam().call) {
        case LongCall::kCompact:
          s = db_->Compact();
          break;
        case LongCall::kPut:
          s = db_->Put("put" + NumberedKey(i), std::string(100, 'p'));
          break;
        case LongCall::kFlushAndCompact:
          s = i % 2 == 0 ? db_->Flush() : db_->Compact();
          break;
        case LongCall::kVerify:
          s = db_->Verify(&report);
          break;
      }
      if (s.IsClosed()) return;
      EXPECT_TRUE(IsOk(s));
      if (!s.ok()) return;
    }
  }

  /// Until the call is inside, and has begun to merge.
  void AwaitMerge(const std::atomic<bool>& inside) {
    const bool merges = GetParam().call != LongCall::kVerify;
    while (!inside.load() ||
           (merges && Running(base::Activity::kMerge) == 0 && db_->GetStatistics().merges == 0)) {
      std::this_thread::yield();
    }
  }

  static constexpr uint64_t kTables = 6;
  TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  std::set<std::string> keys_;
};
std::string NameOfWay(const ::testing::TestParamInfo<Way>& way) {
  constexpr const char* kNames[] = {"Compact", "Put", "FlushAndCompact", "Verify"};
  return std::string(kNames[static_cast<size_t>(way.param.call)]) +
         (way.param.background ? "_background" : "_inline");
}
INSTANTIATE_TEST_SUITE_P(
    Lifecycle, CloseBesideCallTest,
    ::testing::Values(Way{LongCall::kCompact, false}, Way{LongCall::kCompact, true},
                      Way{LongCall::kPut, false}, Way{LongCall::kPut, true},
                      Way{LongCall::kFlushAndCompact, false}, Way{LongCall::kFlushAndCompact, true},
                      Way{LongCall::kVerify, false}, Way{LongCall::kVerify, true}),
    NameOfWay);

TEST_P(CloseBesideCallTest, NothingIsStoredAfterCloseReturns) {
  std::atomic<bool> inside{false};
  std::thread caller([&] {
    inside.store(true);
    CallUntilClosed();
  });
  AwaitMerge(inside);
  BRAID_EXPECT_OK(db_->Close());
  const std::unique_ptr<DB> next = OpenOrFail(options_, path());
  caller.join();
  ASSERT_NE(next, nullptr) << "whoever opens at once finds the pool being written to";
  VerifyReport report;
  BRAID_EXPECT_OK(next->Verify(&report));
  for (const std::string& key : keys_) {
    ASSERT_EQ(GetText(next.get(), key), "value of " + key);
  }
}

TEST_P(CloseBesideCallTest, TheBytesOfThePoolStayAsCloseHasLeftThem) {
  std::atomic<bool> inside{false};
  std::thread caller([&] {
    inside.store(true);
    CallUntilClosed();
  });
  AwaitMerge(inside);
  BRAID_EXPECT_OK(db_->Close());
  const auto closed = BytesOf(path());
  caller.join();
  EXPECT_EQ(BytesOf(path()), closed);
}

// What a snapshot has kept is being dropped when the database closes, and sparse chunks wait for
// their collection: the drop goes on at the next open, and nothing else begins before.
TEST(CloseBesideDropTest, ADropThatIsStoppedGoesOnAtTheNextOpen) {
  for (const bool background : {false, true}) {
    TempFolder folder;
    Options options = TinyOptions();
    options.background_threads = background;
    options.pool.initial_bytes = 16 << 20;
    options.memtable.bytes = 1 << 20;
    options.compaction.batch_entries = 2;  // asked after each whether to stop
    options.compaction.l0_trigger = 20;
    options.compaction.l0_slowdown = 30;
    options.compaction.recluster_share = 0;
    std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    Model model;
    const auto put = [&](const std::string& key, const std::string& value) {
      model[key] = value;
      return db->Put(key, value);
    };
    // What is kept is too little of all to be dropped before the call.
    constexpr uint64_t kKept = 4'000;
    constexpr uint64_t kSparse = 40'000;
    for (uint64_t i = 0; i < kKept; ++i) BRAID_ASSERT_OK(put("k" + NumberedKey(i), "old"));
    for (uint64_t i = 0; i < kSparse; ++i) {
      BRAID_ASSERT_OK(put("s" + NumberedKey(i), std::string(100, 's')));
    }
    std::shared_ptr<const Snapshot> snapshot = db->GetSnapshot();
    for (uint64_t i = 0; i < kKept; ++i) BRAID_ASSERT_OK(put("k" + NumberedKey(i), "new"));
    BRAID_ASSERT_OK(db->Compact());
    EXPECT_EQ(db->GetStatistics().l1_entries, model.size() + kKept);
    snapshot.reset();
    for (uint64_t i = 0; i < kSparse; ++i) {
      if (i % 4 == 0) continue;
      BRAID_ASSERT_OK(put("s" + NumberedKey(i), std::string(100, 't')));
    }
    std::atomic<bool> returned{false};
    std::thread caller([&] {
      const Status s = db->Compact();
      EXPECT_TRUE(s.ok() || s.IsClosed()) << s.ToString();
      returned.store(true);
    });
    // The drop is the first merge within a collection.
    while (!returned.load() &&
           (Running(base::Activity::kCollect) == 0 || Running(base::Activity::kMerge) == 0)) {
      std::this_thread::yield();
    }
    BRAID_EXPECT_OK(db->Close());
    caller.join();
    db = OpenOrFail(options, folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    ExpectContent(db.get(), model);
    BRAID_ASSERT_OK(db->Compact());
    EXPECT_EQ(db->GetStatistics().l1_entries, model.size()) << "background " << background;
    ExpectContent(db.get(), model);
    ExpectVerified(db.get());
  }
}

TEST(CloseBesideFullPoolTest, WritersThatWaitForSpaceAreWaitedFor) {
  for (const bool background : {false, true}) {
    TempFolder folder;
    Options options = TinyOptions();
    options.background_threads = background;
    options.pool.max_bytes = 4 << 20;
    options.pool.initial_bytes = 4 << 20;
    std::unique_ptr<DB> db = OpenOrFail(options, folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    std::atomic<uint64_t> stalls{0};
    std::vector<std::thread> writers;
    for (uint64_t t = 0; t < 3; ++t) {
      writers.emplace_back([&, t] {
        for (uint64_t i = 0;; ++i) {
          const Status s = db->Put(NumberedKey((i * 3 + t) % 9000), std::string(400, 'x'));
          if (s.IsClosed()) return;
          EXPECT_TRUE(s.ok() || s.IsOutOfSpace()) << s.ToString();
          if (s.IsOutOfSpace()) stalls.fetch_add(1);
        }
      });
    }
    while (stalls.load() < 20) std::this_thread::yield();
    BRAID_EXPECT_OK(db->Close());
    const auto closed = BytesOf(folder.Sub("pool"));
    for (std::thread& writer : writers) writer.join();
    EXPECT_EQ(BytesOf(folder.Sub("pool")), closed) << "background " << background;
    db = OpenOrFail(options, folder.Sub("pool"));
    ASSERT_NE(db, nullptr);
    VerifyReport report;
    BRAID_EXPECT_OK(db->Verify(&report));
  }
}

/// What threads have been told, each of its own keys.
struct Told {
  Model model;
  Status unexpected;
};

/// One life of a database: opened, used by threads in every way, ended in some way, opened again at
/// once by another handle.
class Life {
 public:
  Life(uint64_t seed, const StoreKind& kind, const std::string& pool) : random_(seed), pool_(pool) {
    options_ = RandomTinyOptions(&random_);
    kind.ApplyTo(&options_);
    options_.background_threads = random_.OneIn(2);
    // Chunks of 4 KiB are too small for what some combinations keep.
    options_.pool.chunk_bytes = std::max<uint64_t>(options_.pool.chunk_bytes, 16 << 10);
  }

  void Run(Model* model) {
    Open(model);
    if (db_ == nullptr) return;
    const uint64_t count = random_.Between(1, 3);
    told_.assign(count, {});
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < count; ++t) {
      threads.emplace_back([this, t, seed = random_.Next()] { UseUntilClosed(t, seed); });
    }
    const uint64_t enough = random_.Between(0, 400);
    while (calls_.load() < enough) std::this_thread::yield();
    MayFork();
    EXPECT_TRUE(IsOk(db_->Close()));
    Result<std::unique_ptr<DB>> next = DB::Open(options_, pool_);
    EXPECT_TRUE(IsOk(next.status())) << Describe(options_);
    for (std::thread& thread : threads) thread.join();
    for (Told& told : told_) {
      EXPECT_TRUE(IsOk(told.unexpected)) << Describe(options_);
      for (const auto& [key, value] : told.model) (*model)[key] = value;
    }
    if (!next.ok()) return;
    Compare(next->get(), *model);
    db_.reset();
    if (random_.OneIn(2)) {
      EXPECT_TRUE(IsOk((*next)->Close()));
    }
  }

 private:
  void Open(Model* model) {
    db_ = OpenOrFail(options_, pool_);
    if (db_ != nullptr) Compare(db_.get(), *model);
  }
  void Compare(DB* db, const Model& model) {
    for (const auto& [key, value] : model) {
      const std::string expected = value.empty() ? "(not found)" : value;
      EXPECT_EQ(GetText(db, key), expected) << Describe(options_);
      if (::testing::Test::HasFailure()) return;
    }
    VerifyReport report;
    EXPECT_TRUE(IsOk(db->Verify(&report))) << Describe(options_);
  }
  /// A child that ends in one of the ways in which children end, in the middle of all this.
  void MayFork() {
#if !defined(__SANITIZE_THREAD__)
    if (!random_.OneIn(4)) return;
    const uint64_t how = random_.Between(0, 3);
    const ChildOutcome outcome = RunInChild(60, [&](int) -> int {
      if (how == 0) std::quick_exit(0);
      if (how == 1) {
        ::execlp("true", "true", static_cast<char*>(nullptr));
        return 1;
      }
      if (db_->Put("k", "v").ok()) return 2;
      if (how == 2) db_.reset();
      std::exit(0);
    });
    EXPECT_EQ(outcome.exit_code, 0) << "child " << how << ": " << outcome.ToString();
#endif
  }

  void UseUntilClosed(uint64_t thread, uint64_t seed) {
    Random random(seed);
    Told& told = told_[thread];
    const Capabilities can = db_->GetCapabilities();
    for (;;) {
      const Status s = CallOnce(thread, can, &random, &told);
      calls_.fetch_add(1);
      if (s.IsClosed()) return;
      if (s.ok() || s.IsNotFound() || s.IsNotSupported()) continue;
      told.unexpected = s;
      return;
    }
  }
  Status CallOnce(uint64_t thread, const Capabilities& can, Random* random, Told* told) {
    const std::string key = std::to_string(thread) + NumberedKey(random->Between(0, 200));
    const std::string value =
        std::to_string(random->Next()) + std::string(random->Between(0, 600), 'v');
    switch (random->Between(0, 40)) {
      case 0:
        return db_->Compact();
      case 1:
        return db_->Flush();
      case 2: {
        VerifyReport report;
        return random->OneIn(4) ? db_->Verify(&report) : Status::OK();
      }
      case 3:
        return Scan(random);
      case 4: {
        if (!can.compare_and_swap) return Status::OK();
        const auto known = told->model.find(key);
        std::optional<Slice> expected;
        if (known != told->model.end() && !known->second.empty()) expected = known->second;
        // What an earlier life has left may be there: only what this one knows is compared.
        if (known == told->model.end()) return Status::OK();
        Result<bool> swapped = db_->CompareAndSwap(key, expected, value);
        if (swapped.ok() && !*swapped) return Status::Aborted("another value than the one put");
        return Note(swapped.status(), key, value, told);
      }
      case 5: {
        if (!can.atomic_batches) return Status::OK();
        WriteBatch batch;
        batch.Put(key, value);
        batch.Delete(key + "x");
        const Status s = db_->Write(batch);
        (void)Note(s, key + "x", "", told);
        return Note(s, key, value, told);
      }
      case 6:
        return Note(db_->Delete(key), key, "", told);
      case 7: {
        if (!can.transactions) return Status::OK();
        Result<std::unique_ptr<Transaction>> begun = db_->BeginTransaction();
        if (!begun.ok()) return begun.status();
        Status s = (*begun)->Put(key, value);
        if (s.ok()) s = (*begun)->Commit();
        return s.IsBusy() ? Status::OK() : Note(s, key, value, told);
      }
      case 8:
        return db_->BackgroundStatus();
      default:
        return Note(db_->Put(key, value), key, value, told);
    }
  }
  Status Scan(Random* random) {
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    const uint64_t steps = random->Between(0, 300);
    it->SeekToFirst();
    for (uint64_t i = 0; i < steps && it->Valid(); ++i) it->Next();
    return it->status();
  }
  static Status Note(const Status& s, const std::string& key, const std::string& value,
                     Told* told) {
    if (s.ok()) told->model[key] = value;
    return s;
  }

  Random random_;
  const std::string pool_;
  Options options_;
  std::unique_ptr<DB> db_;
  std::vector<Told> told_;
  std::atomic<uint64_t> calls_{0};
};

class LifecycleTest : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Lifecycle, LifecycleTest, ::testing::Range(size_t{0}, StoreKinds().size()),
                         [](const auto& kind) { return StoreKinds()[kind.param].name; });

TEST_P(LifecycleTest, LivesInRandomOrdersLoseNothing) {
  const StoreKind& kind = StoreKinds()[GetParam()];
  SCOPED_TRACE(ReplayLine());
  Random random(DeriveSeed(GetParam()));
  const uint64_t lives = Sized(12, 400);
  const TempFolder folder;
  Model model;
  for (uint64_t i = 0; i < lives && !HasFailure(); ++i) {
    // Another pool now and then, so that the first life is lived as well.
    if (i % 6 == 0) model.clear();
    Life life(random.Next(), kind, folder.Sub("pool" + std::to_string(i / 6)));
    life.Run(&model);
  }
}

}  // namespace
}  // namespace braid::test
