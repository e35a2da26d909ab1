// WriteBatch: order within, atomicity, size.
#include <sys/mman.h>

#include "conformance.h"

namespace braid::test {
namespace {

class BatchTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, BatchTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::atomic_batches)),
                         SetupName);

/// Collects what a batch holds, as text.
class BatchRecorder : public WriteBatch::Handler {
 public:
  void Put(Slice key, Slice value) override {
    text_ += "+" + std::string(key) + "=" + std::string(value) + " ";
  }
  void Delete(Slice key) override { text_ += "-" + std::string(key) + " "; }
  void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
    const auto bound = [](std::optional<Slice> key) { return std::string(key.value_or("*")); };
    text_ += "-" + bound(begin) + ".." + bound(end) + " ";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string TextOf(const WriteBatch& batch) {
  BatchRecorder recorder;
  batch.Iterate(&recorder);
  return recorder.text();
}

TEST(WriteBatchTest, IteratesInTheOrderOfItsUpdates) {
  WriteBatch batch;
  EXPECT_EQ(batch.Count(), 0u);
  EXPECT_EQ(TextOf(batch), "");
  batch.Put("a", "1");
  batch.Delete("b");
  batch.Put("", "");
  batch.Put("a", "2");
  EXPECT_EQ(batch.Count(), 4u);
  EXPECT_EQ(TextOf(batch), "+a=1 -b += +a=2 ");
}

TEST(WriteBatchTest, CopiesItsKeysAndValues) {
  WriteBatch batch;
  {
    std::string key = "key";
    std::string value = "value";
    batch.Put(key, value);
    key.assign("xxx");
    value.assign("yyyyy");
  }
  EXPECT_EQ(TextOf(batch), "+key=value ");
}

TEST(WriteBatchTest, ClearEmptiesAndAppendAdds) {
  WriteBatch first;
  WriteBatch second;
  first.Put("a", "1");
  second.Delete("b");
  second.Put("c", "3");
  first.Append(second);
  EXPECT_EQ(TextOf(first), "+a=1 -b +c=3 ");
  EXPECT_EQ(first.Count(), 3u);
  first.Append(first);
  EXPECT_EQ(TextOf(first), "+a=1 -b +c=3 +a=1 -b +c=3 ");
  EXPECT_EQ(first.Count(), 6u);
  first.Clear();
  EXPECT_EQ(first.Count(), 0u);
  EXPECT_EQ(first.ApproximateBytes(), 0u);
  EXPECT_EQ(TextOf(first), "");
}

TEST(WriteBatchTest, CopyIsIndependent) {
  WriteBatch first;
  first.Put("a", "1");
  WriteBatch copy = first;
  first.Put("b", "2");
  EXPECT_EQ(TextOf(copy), "+a=1 ");
  EXPECT_EQ(TextOf(first), "+a=1 +b=2 ");
}

TEST_P(BatchTest, EmptyBatchIsOkAndChangesNothing) {
  Put("k", "v");
  const uint64_t before = db_->GetStatistics().last_sequence;
  BRAID_EXPECT_OK(db_->Write(WriteBatch{}));
  EXPECT_EQ(db_->GetStatistics().last_sequence, before);
  ExpectContent(db_.get(), model_);
}

TEST_P(BatchTest, AppliesPutsAndDeletes) {
  Put("stays", "1");
  Put("goes", "1");
  WriteBatch batch;
  batch.Put("comes", "2");
  batch.Delete("goes");
  batch.Delete("never was");
  BRAID_ASSERT_OK(db_->Write(batch));
  model_.erase("goes");
  model_["comes"] = "2";
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
}

TEST_P(BatchTest, LaterUpdateOfTheSameKeyWins) {
  WriteBatch batch;
  batch.Put("put twice", "first");
  batch.Put("put twice", "second");
  batch.Put("put then deleted", "x");
  batch.Delete("put then deleted");
  batch.Delete("deleted then put");
  batch.Put("deleted then put", "there");
  for (int i = 0; i < 50; ++i) batch.Put("many", std::to_string(i));
  BRAID_ASSERT_OK(db_->Write(batch));
  model_ = {{"put twice", "second"}, {"deleted then put", "there"}, {"many", "49"}};
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Flush());
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  Reopen();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(BatchTest, BatchOfTenThousandUpdatesIsWholeAfterReopen) {
  WriteBatch batch;
  for (uint64_t i = 0; i < 10000; ++i) {
    batch.Put(NumberedKey(i), "value " + std::to_string(i));
    model_[NumberedKey(i)] = "value " + std::to_string(i);
  }
  BRAID_ASSERT_OK(db_->Write(batch));
  ExpectContent(db_.get(), model_);
  AbandonAndReopen();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(BatchTest, BatchWithLargeValuesIsWhole) {
  WriteBatch batch;
  for (uint64_t i = 0; i < 20; ++i) {
    const std::string value((i % 4) * 50000 + 10, static_cast<char>('a' + i));
    batch.Put(NumberedKey(i), value);
    model_[NumberedKey(i)] = value;
  }
  BRAID_ASSERT_OK(db_->Write(batch));
  ExpectContent(db_.get(), model_);
  Reopen();
  ExpectContent(db_.get(), model_);
}

TEST_P(BatchTest, RefusedBatchChangesNothing) {
  Put("a", "old");
  WriteBatch batch;
  batch.Put("a", "new");
  batch.Delete("b");
  batch.Put(std::string(kMaxKeyBytes + 1, 'x'), "v");
  EXPECT_TRUE(HasCode(db_->Write(batch), Status::Code::kInvalidArgument));
  ExpectContent(db_.get(), model_);
  Reopen();
  ExpectContent(db_.get(), model_);
}

/// Bytes of address space that nobody may read or write.
class ForbiddenBytes {
 public:
  explicit ForbiddenBytes(size_t size)
      : size_(size),
        start_(
            ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ForbiddenBytes(const ForbiddenBytes&) = delete;
  ForbiddenBytes& operator=(const ForbiddenBytes&) = delete;
  ~ForbiddenBytes() {
    if (mapped()) ::munmap(start_, size_);
  }
  bool mapped() const { return start_ != MAP_FAILED; }
  Slice slice() const { return {static_cast<const char*>(start_), size_}; }

 private:
  const size_t size_;
  void* const start_;
};

TEST(WriteBatchTest, AnUpdateThatItsLengthsCannotSayIsRefusedWhenItIsAdded) {
  const ForbiddenBytes huge((1ull << 32) + 5);
  if (!huge.mapped()) GTEST_SKIP() << "no 4 GiB of address space";
  WriteBatch batch;
  batch.Put("a", "1");
  BRAID_EXPECT_OK(batch.status());
  batch.Put("b", huge.slice());
  EXPECT_TRUE(HasCode(batch.status(), Status::Code::kInvalidArgument));
  EXPECT_NE(batch.status().message().find("4294967301"), std::string_view::npos)
      << batch.status().ToString();
  batch.Put("c", "3");
  EXPECT_EQ(TextOf(batch), "+a=1 +c=3 ");
  EXPECT_EQ(batch.Count(), 2u);

  WriteBatch keys;
  keys.Put(huge.slice(), "v");
  EXPECT_TRUE(HasCode(keys.status(), Status::Code::kInvalidArgument));
  keys.Clear();
  BRAID_EXPECT_OK(keys.status());
  keys.Delete(huge.slice());
  EXPECT_TRUE(HasCode(keys.status(), Status::Code::kInvalidArgument));
  EXPECT_EQ(keys.Count(), 0u);

  WriteBatch sum;
  sum.Append(batch);
  EXPECT_TRUE(HasCode(sum.status(), Status::Code::kInvalidArgument)) << "it is not whole either";
}

TEST_P(BatchTest, ABatchThatHasRefusedAnUpdateWritesNothing) {
  const ForbiddenBytes huge((1ull << 32) + 5);
  if (!huge.mapped()) GTEST_SKIP() << "no 4 GiB of address space";
  Put("a", "old");
  WriteBatch batch;
  batch.Put("a", "new");
  batch.Put("b", huge.slice());
  batch.Delete("c");
  EXPECT_TRUE(HasCode(db_->Write(batch), Status::Code::kInvalidArgument));
  ExpectContent(db_.get(), model_);
  batch.Clear();
  batch.Put("a", "new");
  BRAID_EXPECT_OK(db_->Write(batch));
  model_["a"] = "new";
  ExpectContent(db_.get(), model_);
}

TEST_P(BatchTest, TheSameBatchMayBeWrittenAgain) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Delete("b");
  BRAID_ASSERT_OK(db_->Write(batch));
  BRAID_ASSERT_OK(db_->Put("a", "2"));
  BRAID_ASSERT_OK(db_->Put("b", "2"));
  BRAID_ASSERT_OK(db_->Write(batch));
  model_ = {{"a", "1"}};
  ExpectContent(db_.get(), model_);
}

TEST_P(BatchTest, SequenceGrowsWithEveryWrite) {
  const uint64_t start = db_->GetSnapshot()->sequence();
  BRAID_ASSERT_OK(db_->Put("a", "1"));
  const uint64_t after_put = db_->GetSnapshot()->sequence();
  EXPECT_GT(after_put, start);
  WriteBatch batch;
  batch.Put("a", "2");
  batch.Put("b", "2");
  BRAID_ASSERT_OK(db_->Write(batch));
  const uint64_t after_batch = db_->GetSnapshot()->sequence();
  EXPECT_GT(after_batch, after_put);
  Reopen();
  EXPECT_GE(db_->GetSnapshot()->sequence(), after_batch);
}

}  // namespace
}  // namespace braid::test
