// Put, Get and Delete of single keys.
#include "conformance.h"

namespace braid::test {
namespace {

class PutGetTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, PutGetTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(PutGetTest, GetReturnsWhatPutStored) {
  Put("apple", "red");
  Put("banana", "yellow");
  EXPECT_EQ(GetText(db_.get(), "apple"), "red");
  EXPECT_EQ(GetText(db_.get(), "banana"), "yellow");
}

TEST_P(PutGetTest, GetOfAnUnknownKeyIsNotFound) {
  Put("apple", "red");
  std::string value = "untouched";
  EXPECT_TRUE(HasCode(db_->Get("appl", &value), Status::Code::kNotFound));
  EXPECT_TRUE(HasCode(db_->Get("applea", &value), Status::Code::kNotFound));
  EXPECT_TRUE(HasCode(db_->Get(Slice("apple\0", 6), &value), Status::Code::kNotFound));
}

TEST_P(PutGetTest, GetReplacesTheOldContentOfTheString) {
  Put("k", "short");
  std::string value(1000, 'x');
  BRAID_ASSERT_OK(db_->Get("k", &value));
  EXPECT_EQ(value, "short");
}

TEST_P(PutGetTest, OverwriteWins) {
  for (int i = 0; i < 100; ++i) Put("k", "value " + std::to_string(i));
  EXPECT_EQ(GetText(db_.get(), "k"), "value 99");
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, OverwriteMayChangeTheSizeOfTheValue) {
  for (const size_t size : {10u, 5000u, 0u, 40000u, 1u, 300u}) {
    Put("k", std::string(size, 'a'));
    EXPECT_EQ(GetText(db_.get(), "k").size(), size);
  }
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, DeletedKeyIsNotFound) {
  Put("k", "v");
  Delete("k");
  EXPECT_EQ(GetText(db_.get(), "k"), "(not found)");
  Put("k", "again");
  EXPECT_EQ(GetText(db_.get(), "k"), "again");
}

TEST_P(PutGetTest, DeleteOfAnUnknownKeyIsOk) {
  BRAID_EXPECT_OK(db_->Delete("never there"));
  EXPECT_EQ(GetText(db_.get(), "never there"), "(not found)");
  EXPECT_TRUE(ScanForward(db_.get()).empty());
}

TEST_P(PutGetTest, EmptyKeyIsAKeyLikeAnyOther) {
  Put("a", "1");
  Put("", "value of the empty key");
  EXPECT_EQ(GetText(db_.get(), ""), "value of the empty key");
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  Delete("");
  EXPECT_EQ(GetText(db_.get(), ""), "(not found)");
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, EmptyValueIsNotAMissingKey) {
  Put("k", "");
  std::string value = "x";
  BRAID_ASSERT_OK(db_->Get("k", &value));
  EXPECT_EQ(value, "");
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, KeysAndValuesMayHoldAnyBytes) {
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<char>(byte);
    Put(std::string(1, c), std::string(3, c));
    Put(std::string("a") + c, std::string(2, c));
    Put(std::string("a\0", 2) + c, std::string(1, c));
  }
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, KeysAreOrderedAsUnsignedBytes) {
  Put("\x7f", "1");
  Put("\x80", "2");
  Put("\xff", "3");
  Put(std::string(1, '\0'), "0");
  const Pairs pairs = ScanForward(db_.get());
  ASSERT_EQ(pairs.size(), 4u);
  for (size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ(pairs[i].second, std::to_string(i));
}

TEST_P(PutGetTest, PrefixesOfEachOtherAreDifferentKeys) {
  std::string key;
  for (int i = 0; i < 300; ++i) {
    Put(key, std::to_string(i));
    key += 'p';
  }
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, ContentIsTheSameAfterFlushAndAfterCompact) {
  Fill(0, 2000, 100);
  for (uint64_t i = 0; i < 2000; i += 3) Delete(NumberedKey(i));
  for (uint64_t i = 1; i < 2000; i += 5) Put(NumberedKey(i), "new" + std::to_string(i));
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Flush());
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(PutGetTest, FlushAndCompactOfAnEmptyDatabaseAreOk) {
  BRAID_EXPECT_OK(db_->Flush());
  BRAID_EXPECT_OK(db_->Compact());
  BRAID_EXPECT_OK(db_->Flush());
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  Put("k", "v");
  BRAID_EXPECT_OK(db_->Compact());
  BRAID_EXPECT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(PutGetTest, EverythingDeletedLeavesNothing) {
  Fill(0, 3000, 50);
  BRAID_ASSERT_OK(db_->Compact());
  for (uint64_t i = 0; i < 3000; ++i) Delete(NumberedKey(i));
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  EXPECT_TRUE(ScanBackward(db_.get()).empty());
  ExpectVerified(db_.get());
  Fill(0, 100, 50, "second life ");
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, WriteWithSyncIsOk) {
  if (db_->GetStatistics().media_class == MediaClass::kPage) {
    BRAID_NEEDS(survives_power_loss_on_page_media);
  }
  WriteOptions sync;
  sync.sync = true;
  for (int i = 0; i < 20; ++i) {
    BRAID_ASSERT_OK(db_->Put(sync, NumberedKey(i), "v"));
    model_[NumberedKey(i)] = "v";
  }
  BRAID_ASSERT_OK(db_->Delete(sync, NumberedKey(3)));
  model_.erase(NumberedKey(3));
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, SyncThatCanNotBeKeptIsRefusedAndWritesNothing) {
  if (Has(&Capabilities::survives_power_loss_on_page_media)) {
    GTEST_SKIP() << "the design keeps it";
  }
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  options_.pool.force_media_class = MediaClass::kPage;
  db_ = OpenOrFail(options_, path_);
  ASSERT_NE(db_, nullptr);
  Put("there", "old");
  const Statistics before = db_->GetStatistics();
  WriteOptions sync;
  sync.sync = true;
  WriteBatch batch;
  EXPECT_TRUE(db_->Write(sync, batch).IsNotSupported()) << "of what came before";
  batch.Put("there", "new");
  EXPECT_TRUE(db_->Write(sync, batch).IsNotSupported());
  const Status put = db_->Put(sync, "there", "new");
  EXPECT_TRUE(put.IsNotSupported()) << put.ToString();
  EXPECT_NE(put.message().find("page-cache"), std::string::npos) << put.ToString();
  EXPECT_TRUE(db_->Delete(sync, "there").IsNotSupported());
  EXPECT_TRUE(db_->Delete(sync, "not there").IsNotSupported());
  if (Has(&Capabilities::compare_and_swap)) {
    EXPECT_TRUE(db_->CompareAndSwap(sync, "there", "old", "new").status().IsNotSupported());
    EXPECT_TRUE(db_->PutIfAbsent(sync, "another", "new").status().IsNotSupported());
  }
  const Statistics after = db_->GetStatistics();
  EXPECT_EQ(after.lines_flushed, before.lines_flushed);
  EXPECT_EQ(after.fences, before.fences);
  EXPECT_EQ(after.last_sequence, before.last_sequence);
  ExpectContent(db_.get(), model_);
  Put("there", "new");
  BRAID_ASSERT_OK(db_->Flush());
  Reopen();
  ExpectContent(db_.get(), model_);
}

TEST_P(PutGetTest, ManyOverwritesOfFewKeysDoNotFillThePool) {
  // 60 MiB are written, 10 keys stay; the pool may grow to 24 MiB (chunks of 16 KiB) or 48 MiB.
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  Options options = options_;
  options.pool.max_bytes = (GetParam().tiny ? 24ull : 48ull) << 20;
  options.pool.initial_bytes = (GetParam().tiny ? 4ull : 24ull) << 20;
  options.memtable.bytes = 256ull << 10;
  path_ = folder_.Sub("bounded");
  db_ = OpenOrFail(options, path_);
  ASSERT_NE(db_, nullptr);
  const std::string value(2000, 'v');
  for (uint64_t i = 0; i < 30000; ++i) {
    const Status status = db_->Put(NumberedKey(i % 10), value + std::to_string(i));
    ASSERT_TRUE(IsOk(status)) << "put " << i;
    model_[NumberedKey(i % 10)] = value + std::to_string(i);
  }
  ExpectContent(db_.get(), model_);
}

class EveryDesignTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, EveryDesignTest, ::testing::ValuesIn(AllSetups()), SetupName);

TEST_P(EveryDesignTest, AcceptsEveryKindOfWrite) {
  BRAID_EXPECT_OK(db_->Put("k", "v"));
  BRAID_EXPECT_OK(db_->Put("", ""));
  BRAID_EXPECT_OK(db_->Delete("k"));
  WriteBatch batch;
  BRAID_EXPECT_OK(db_->Write(batch));
  batch.Put("a", "1");
  BRAID_EXPECT_OK(db_->Write(batch));
  batch.Delete("b");
  if (Has(&Capabilities::atomic_batches)) {
    BRAID_EXPECT_OK(db_->Write(batch));
  } else {
    EXPECT_TRUE(HasCode(db_->Write(batch), Status::Code::kNotSupported));
  }
  BRAID_EXPECT_OK(db_->Flush());
  BRAID_EXPECT_OK(db_->Compact());
}

TEST_P(EveryDesignTest, AnswersForAMissingKeyAndAnEmptyScan) {
  std::string value;
  EXPECT_TRUE(HasCode(db_->Get("missing", &value), Status::Code::kNotFound));
  EXPECT_TRUE(ScanForward(db_.get()).empty());
  EXPECT_TRUE(ScanBackward(db_.get()).empty());
  const auto snapshot = db_->GetSnapshot();
  ASSERT_EQ(snapshot->status().ok(), Has(&Capabilities::snapshots));
  if (snapshot->status().ok()) {
    EXPECT_EQ(GetText(db_.get(), "missing", snapshot.get()), "(not found)");
  }
}

TEST_P(EveryDesignTest, ReopensAfterCloseAndAfterDestruction) {
  BRAID_EXPECT_OK(db_->Put("k", "v"));
  Reopen();
  BRAID_EXPECT_OK(db_->Put("k", "v"));
  AbandonAndReopen();
  BRAID_EXPECT_OK(db_->Put("k", "v"));
  ExpectVerified(db_.get());
}

TEST_P(EveryDesignTest, NamesItself) {
  std::string design;
  ASSERT_TRUE(db_->GetProperty("braid.design", &design));
  EXPECT_EQ(design, GetParam().kind.design);
  EXPECT_EQ(db_->GetStatistics().design, GetParam().kind.design);
}

TEST_P(EveryDesignTest, RefusesKeysOverTheLimit) {
  const std::string key(kMaxKeyBytes + 1, 'k');
  EXPECT_TRUE(HasCode(db_->Put(key, "v"), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(db_->Delete(key), Status::Code::kInvalidArgument));
  WriteBatch batch;
  batch.Put("small", "v");
  batch.Put(key, "v");
  EXPECT_TRUE(HasCode(db_->Write(batch), Status::Code::kInvalidArgument));
  EXPECT_EQ(GetText(db_.get(), "small"), "(not found)");
}

class BlackholeTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, BlackholeTest, ::testing::ValuesIn(BlackholeSetups()), SetupName);

TEST_P(BlackholeTest, KeepsNothing) {
  for (uint64_t i = 0; i < 1000; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "value"));
  EXPECT_EQ(GetText(db_.get(), NumberedKey(5)), "(not found)");
  EXPECT_TRUE(ScanForward(db_.get()).empty());
}

}  // namespace
}  // namespace braid::test
