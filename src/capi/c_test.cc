// What the C calls do when the database below throws or refuses: they must turn it into an error.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>

#include "braid/version.h"
#include "capi/handles.h"

namespace braid::capi {
namespace {

enum class Mood { kBadAlloc, kException, kOther, kCorruption };

Status Answer(Mood mood) {
  switch (mood) {
    case Mood::kBadAlloc:
      throw std::bad_alloc();
    case Mood::kException:
      throw std::runtime_error("a message of its own");
    case Mood::kOther:
      throw 7;
    case Mood::kCorruption:
      break;
  }
  return Status::Corruption("the first problem");
}

class FailingIterator : public Iterator {
 public:
  explicit FailingIterator(const Mood* mood) : mood_(mood) {}
  bool Valid() const override { return true; }
  void SeekToFirst() override { Move(); }
  void SeekToLast() override { Move(); }
  void Seek(Slice) override { Move(); }
  void SeekForPrev(Slice) override { Move(); }
  void Next() override { Move(); }
  void Prev() override { Move(); }
  Slice key() const override { return "key"; }
  Slice value() const override { return {}; }
  Status status() const override { return Answer(*mood_); }

 private:
  void Move() { (void)Answer(*mood_); }

  const Mood* mood_;
};

class FailingTransaction : public Transaction {
 public:
  explicit FailingTransaction(const Mood* mood) : mood_(mood) {}
  Status Get(Slice, std::string*) override { return Answer(*mood_); }
  Status GetForUpdate(Slice, std::string*) override { return Answer(*mood_); }
  Status Put(Slice, Slice) override { return Answer(*mood_); }
  Status Delete(Slice) override { return Answer(*mood_); }
  Status DeleteRange(std::optional<Slice>, std::optional<Slice>) override { return Answer(*mood_); }
  const Snapshot* snapshot() const noexcept override { return nullptr; }
  Status Commit(const WriteOptions&) override { return Answer(*mood_); }
  void Rollback() noexcept override {}

 private:
  const Mood* mood_;
};

class FailingDb : public DB {
 public:
  explicit FailingDb(const Mood* mood) : mood_(mood) {}
  Status Put(const WriteOptions&, Slice, Slice) override { return Answer(*mood_); }
  Status Delete(const WriteOptions&, Slice) override { return Answer(*mood_); }
  Status Write(const WriteOptions&, const WriteBatch&) override { return Answer(*mood_); }
  Result<bool> CompareAndSwap(const WriteOptions&, Slice, std::optional<Slice>, Slice) override {
    return Answer(*mood_);
  }
  Status Get(const ReadOptions&, Slice, std::string*) override { return Answer(*mood_); }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions&) override {
    (void)Answer(*mood_);
    return std::make_unique<FailingIterator>(mood_);
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override {
    (void)Answer(*mood_);
    return nullptr;
  }
  Result<std::unique_ptr<Transaction>> BeginTransaction() override {
    if (begins_) return std::unique_ptr<Transaction>(new FailingTransaction(mood_));
    return Answer(*mood_);
  }
  Status Flush() override { return Answer(*mood_); }
  Status Compact() override { return Answer(*mood_); }
  bool GetProperty(std::string_view, std::string*) override {
    (void)Answer(*mood_);
    return false;
  }
  Statistics GetStatistics() override { return {}; }
  Status Verify(VerifyReport* report, const std::function<void(double)>&) override {
    report->problems = {"the first problem", "the second"};
    return Answer(*mood_);
  }
  Status Close() override { return Answer(*mood_); }
  void BeginTransactionsFromNowOn() { begins_ = true; }

 private:
  const Mood* mood_;
  bool begins_ = false;
};

class CApiTest : public ::testing::Test {
 protected:
  CApiTest() : db_(new braid_t{std::make_unique<FailingDb>(&mood_)}) {}
  ~CApiTest() override {
    braid_close(db_);
    braid_free(error_);
    braid_readoptions_destroy(read_);
    braid_writeoptions_destroy(write_);
    braid_writebatch_destroy(batch_);
  }

  /// The error of the last call, which is forgotten.
  std::string TakeError() {
    const std::string text = error_ != nullptr ? error_ : "";
    braid_free(error_);
    error_ = nullptr;
    return text;
  }

  Mood mood_ = Mood::kBadAlloc;
  braid_t* db_;
  braid_readoptions_t* read_ = braid_readoptions_create();
  braid_writeoptions_t* write_ = braid_writeoptions_create();
  braid_writebatch_t* batch_ = braid_writebatch_create();
  char* error_ = nullptr;
};

TEST_F(CApiTest, EveryCallTurnsAnExceptionIntoAnError) {
  for (Mood mood : {Mood::kBadAlloc, Mood::kException, Mood::kOther, Mood::kCorruption}) {
    mood_ = mood;
    const char* expected = mood == Mood::kBadAlloc    ? "out of memory"
                           : mood == Mood::kException ? "a message of its own"
                           : mood == Mood::kOther     ? "unknown exception"
                                                      : "the first problem";
    auto expect_error = [&](const char* call) {
      EXPECT_NE(TakeError().find(expected), std::string::npos) << call << ", " << expected;
    };
    braid_put(db_, write_, "k", 1, "v", 1, &error_);
    expect_error("put");
    braid_delete(db_, write_, "k", 1, &error_);
    expect_error("delete");
    braid_write(db_, write_, batch_, &error_);
    expect_error("write");
    EXPECT_EQ(braid_compare_and_swap(db_, write_, "k", 1, "v", 1, "w", 1, &error_), 0);
    expect_error("compare and swap");
    EXPECT_EQ(braid_put_if_absent(db_, write_, "k", 1, "v", 1, &error_), 0);
    expect_error("put if absent");
    size_t length = 9;
    EXPECT_EQ(braid_get(db_, read_, "k", 1, &length, &error_), nullptr);
    EXPECT_EQ(length, 0u);
    expect_error("get");
    braid_flush(db_, &error_);
    expect_error("flush");
    braid_verify(db_, &error_);
    expect_error("verify");
  }
}

TEST_F(CApiTest, CallsOfATransactionTurnAnExceptionIntoAnError) {
  EXPECT_EQ(braid_begin_transaction(db_, &error_), nullptr);
  EXPECT_NE(TakeError().find("out of memory"), std::string::npos);
  static_cast<FailingDb*>(db_->rep.get())->BeginTransactionsFromNowOn();
  braid_transaction_t* transaction = braid_begin_transaction(db_, &error_);
  ASSERT_NE(transaction, nullptr);
  for (Mood mood : {Mood::kBadAlloc, Mood::kException, Mood::kOther, Mood::kCorruption}) {
    mood_ = mood;
    auto expect_error = [&](const char* call) { EXPECT_NE(TakeError(), "") << call; };
    size_t length = 9;
    EXPECT_EQ(braid_transaction_get(transaction, "k", 1, &length, &error_), nullptr);
    EXPECT_EQ(length, 0u);
    expect_error("get");
    EXPECT_EQ(braid_transaction_get_for_update(transaction, "k", 1, &length, &error_), nullptr);
    expect_error("get for update");
    braid_transaction_put(transaction, "k", 1, "v", 1, &error_);
    expect_error("put");
    braid_transaction_delete(transaction, "k", 1, &error_);
    expect_error("delete");
    braid_transaction_delete_range(transaction, nullptr, 0, nullptr, 0, &error_);
    expect_error("delete range");
    EXPECT_EQ(braid_transaction_commit(transaction, write_, &error_), 0);
    expect_error("commit");
  }
  braid_transaction_destroy(transaction);
}

TEST_F(CApiTest, CallsWithoutErrptrSwallowAnException) {
  for (Mood mood : {Mood::kBadAlloc, Mood::kException, Mood::kOther}) {
    mood_ = mood;
    braid_compact_range(db_, nullptr, 0, nullptr, 0);
    EXPECT_EQ(braid_property_value(db_, "braid.stats"), nullptr);
    EXPECT_EQ(braid_statistics_json(db_), nullptr);
    const char* keys[] = {"a"};
    const size_t lengths[] = {1};
    uint64_t size = 9;
    braid_approximate_sizes(db_, 1, keys, lengths, keys, lengths, &size);
    EXPECT_EQ(size, 0u);
  }
}

TEST_F(CApiTest, ReadsWithASnapshotThatCouldNotBeMadeFailAndSayWhy) {
  // With the last mood the database answers null, which says of one that can do snapshots that
  // there was no memory.
  for (Mood mood : {Mood::kBadAlloc, Mood::kException, Mood::kCorruption}) {
    mood_ = mood;
    const char* expected = mood == Mood::kException ? "a message of its own" : "memory";
    auto expect_error = [&](const char* call) {
      EXPECT_NE(TakeError().find(expected), std::string::npos) << call << ", " << expected;
    };
    const braid_snapshot_t* snapshot = braid_create_snapshot(db_);
    ASSERT_NE(snapshot, nullptr);
    braid_snapshot_get_error(snapshot, &error_);
    expect_error("snapshot");
    braid_readoptions_set_snapshot(read_, snapshot);
    size_t length = 9;
    EXPECT_EQ(braid_get(db_, read_, "k", 1, &length, &error_), nullptr);
    expect_error("get");
    EXPECT_EQ(braid_get_pinned(db_, read_, "k", 1, &error_), nullptr);
    expect_error("get pinned");
    const char* keys[] = {"k"};
    const size_t lengths[] = {1};
    char* value = nullptr;
    braid_multi_get(db_, read_, 1, keys, lengths, &value, &length, &error_);
    EXPECT_EQ(value, nullptr);
    expect_error("multi get");
    braid_iterator_t* iterator = braid_create_iterator(db_, read_);
    braid_iter_seek_to_first(iterator);
    EXPECT_EQ(braid_iter_valid(iterator), 0);
    braid_iter_get_error(iterator, &error_);
    expect_error("iterator");
    braid_iter_destroy(iterator);
    braid_release_snapshot(db_, snapshot);
    // Without it they reach the database again, whose answer is another.
    braid_readoptions_set_snapshot(read_, nullptr);
    mood_ = Mood::kOther;
    braid_get(db_, read_, "k", 1, &length, &error_);
    EXPECT_NE(TakeError().find("unknown exception"), std::string::npos);
  }
}

TEST_F(CApiTest, AnIteratorThatCouldNotBeMadeIsEmptyAndHasAnError) {
  braid_iterator_t* iterator = braid_create_iterator(db_, read_);
  ASSERT_EQ(iterator, nullptr);
  braid_iter_seek_to_first(iterator);
  braid_iter_next(iterator);
  EXPECT_EQ(braid_iter_valid(iterator), 0);
  size_t length = 9;
  EXPECT_EQ(braid_iter_key(iterator, &length), nullptr);
  EXPECT_EQ(length, 0u);
  braid_iter_get_error(iterator, &error_);
  EXPECT_NE(TakeError().find("out of memory"), std::string::npos);
  braid_iter_destroy(iterator);
}

TEST_F(CApiTest, AnIteratorWhoseMoveThrowsIsInvalidUntilTheNextGoodSeek) {
  mood_ = Mood::kCorruption;
  braid_iterator_t* iterator = braid_create_iterator(db_, read_);
  ASSERT_NE(iterator, nullptr);
  EXPECT_EQ(braid_iter_valid(iterator), 1);
  mood_ = Mood::kBadAlloc;
  braid_iter_next(iterator);
  EXPECT_EQ(braid_iter_valid(iterator), 0);
  braid_iter_get_error(iterator, &error_);
  EXPECT_NE(TakeError().find("out of memory"), std::string::npos);
  mood_ = Mood::kCorruption;
  braid_iter_seek(iterator, "k", 1);
  EXPECT_EQ(braid_iter_valid(iterator), 1);
  size_t length = 9;
  EXPECT_NE(braid_iter_value(iterator, &length), nullptr) << "an empty value is not NULL";
  EXPECT_EQ(length, 0u);
  braid_iter_destroy(iterator);
}

TEST_F(CApiTest, VerifyTellsHowManyProblemsThereAre) {
  mood_ = Mood::kCorruption;
  braid_verify(db_, &error_);
  EXPECT_NE(TakeError().find("1 of 2 problems"), std::string::npos);
}

TEST_F(CApiTest, ANullErrptrLosesTheErrorOnly) {
  braid_put(db_, write_, "k", 1, "v", 1, nullptr);
  mood_ = Mood::kCorruption;
  braid_put(db_, write_, "k", 1, "v", 1, nullptr);
  SUCCEED();
}

TEST(CApiErrors, ALaterMessageReplacesTheEarlierOne) {
  char* error = nullptr;
  EXPECT_FALSE(SaveError(&error, Status::OK()));
  EXPECT_EQ(error, nullptr);
  EXPECT_TRUE(SaveError(&error, Status::IOError("first")));
  EXPECT_TRUE(SaveError(&error, Status::IOError("second")));
  EXPECT_NE(std::strstr(error, "second"), nullptr);
  EXPECT_FALSE(SaveError(&error, Status::OK()));
  EXPECT_NE(std::strstr(error, "second"), nullptr) << "success leaves the message alone";
  EXPECT_TRUE(SaveText(&error, error)) << "a message may replace itself";
  EXPECT_NE(std::strstr(error, "second"), nullptr);
  braid_free(error);
}

TEST(CApiErrors, TheMessageOfLastResortIsNotGivenToTheAllocator) {
  char* error = out_of_memory_text;
  EXPECT_TRUE(SaveText(&error, "later"));
  EXPECT_STREQ(error, "later");
  braid_free(error);
  braid_free(out_of_memory_text);
  EXPECT_NE(out_of_memory_text[0], '\0');
}

TEST(CApiVersion, IsThatOfTheHeader) {
  EXPECT_EQ(braid_major_version(), BRAID_VERSION_MAJOR);
  EXPECT_EQ(braid_minor_version(), BRAID_VERSION_MINOR);
}

TEST(CApiOptions, TheBudgetIsAtLeastTheCacheUnlessItIsNamed) {
  braid_options_t* options = braid_options_create();
  const uint64_t usual = Options().memory_budget_bytes;
  braid_cache_t* cache = braid_cache_create_lru(usual + 1);
  braid_options_set_cache(options, cache);
  braid_cache_destroy(cache);
  EXPECT_EQ(MakeOptions(*options)->memory_budget_bytes, usual + 1);
  braid_options_set_memory_budget(options, usual - 1);
  EXPECT_EQ(MakeOptions(*options)->memory_budget_bytes, usual - 1);
  braid_options_destroy(options);
}

TEST(CApiOptions, ANewPoolIsNoLargerThanItsLimit) {
  braid_options_t* options = braid_options_create();
  const uint64_t usual = Options().pool.initial_bytes;
  EXPECT_EQ(MakeOptions(*options)->pool.initial_bytes, usual);
  braid_options_set_max_size(options, usual / 2);
  EXPECT_EQ(MakeOptions(*options)->pool.initial_bytes, usual / 2);
  EXPECT_TRUE(MakeOptions(*options)->Validate().ok());
  braid_options_set_max_size(options, usual * 2);
  EXPECT_EQ(MakeOptions(*options)->pool.initial_bytes, usual);
  braid_options_destroy(options);
}

TEST(CApiOptions, SettersReachTheOptionsOfTheDatabase) {
  braid_options_t* options = braid_options_create();
  EXPECT_FALSE(MakeOptions(*options)->create_if_missing) << "as in LevelDB";
  braid_options_set_create_if_missing(options, 1);
  braid_options_set_error_if_exists(options, 1);
  braid_options_set_paranoid_checks(options, 1);
  braid_options_set_write_buffer_size(options, 32u << 20);
  braid_options_set_max_size(options, 256u << 20);
  braid_options_set_design(options, "another");
  const Options made = *MakeOptions(*options);
  EXPECT_TRUE(made.create_if_missing);
  EXPECT_TRUE(made.error_if_exists);
  EXPECT_EQ(made.verify_on_open, VerifyOnOpen::kFull);
  EXPECT_EQ(made.memtable.bytes, 32u << 20);
  EXPECT_EQ(made.pool.max_bytes, 256u << 20);
  EXPECT_EQ(made.design, "another");
  braid_options_set_design(options, nullptr);
  EXPECT_EQ(MakeOptions(*options)->design, "braid");
  braid_options_destroy(options);
}

}  // namespace
}  // namespace braid::capi
