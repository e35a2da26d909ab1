// Transactions: what they read, when their commit succeeds, and what is there afterwards.
#include "conformance.h"
#include "support/key_orders.h"
#include "support/records.h"

namespace braid::test {
namespace {

class TransactionTest : public ConformanceTest {
 protected:
  std::unique_ptr<Transaction> Begin() {
    auto begun = db_->BeginTransaction();
    EXPECT_TRUE(IsOk(begun.status()));
    return begun.ok() ? std::move(begun).value() : nullptr;
  }
  static std::string Read(Transaction* transaction, Slice key, bool for_update = false) {
    std::string value;
    const Status s =
        for_update ? transaction->GetForUpdate(key, &value) : transaction->Get(key, &value);
    return s.ok() ? value : s.IsNotFound() ? "(not found)" : s.ToString();
  }
  /// What was written: 0 stays where it is, 1 to L0, 2 to the last level.
  void Move(int how_far) {
    if (how_far == 1) {
      BRAID_EXPECT_OK(db_->Flush());
    }
    if (how_far == 2) {
      BRAID_EXPECT_OK(db_->Compact());
    }
  }
  static std::string Watch(Transaction* transaction, Slice key) {
    return Read(transaction, key, true);
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, TransactionTest,
                         ::testing::ValuesIn(StoringSetups(&Capabilities::transactions)),
                         SetupName);

TEST_P(TransactionTest, CommitsAllItsWritesAndShowsThemToItselfBefore) {
  Put("a", "1");
  Put("b", "1");
  const auto transaction = Begin();
  BRAID_ASSERT_OK(transaction->Put("a", "2"));
  BRAID_ASSERT_OK(transaction->Delete("b"));
  BRAID_ASSERT_OK(transaction->Put("c", "first"));
  BRAID_ASSERT_OK(transaction->Put("c", ""));
  BRAID_ASSERT_OK(transaction->Delete("never there"));
  EXPECT_EQ(Read(transaction.get(), "a"), "2");
  EXPECT_EQ(Watch(transaction.get(), "b"), "(not found)");
  EXPECT_EQ(Read(transaction.get(), "c"), "");
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(transaction->Commit());
  model_ = {{"a", "2"}, {"c", ""}};
  ExpectContent(db_.get(), model_);
  AbandonAndReopen();
  ExpectContent(db_.get(), model_);
}

TEST_P(TransactionTest, ReadsTheStateAtItsBegin) {
  Put("a", "old");
  const auto transaction = Begin();
  Put("a", "new");
  Put("b", "new");
  EXPECT_EQ(Read(transaction.get(), "a"), "old");
  EXPECT_EQ(Read(transaction.get(), "b"), "(not found)");
  ASSERT_NE(transaction->snapshot(), nullptr);
  ExpectContent(db_.get(), {{"a", "old"}}, transaction->snapshot());
  BRAID_ASSERT_OK(transaction->Put("c", "3")) << "what was read without watching may change";
  BRAID_ASSERT_OK(transaction->Commit());
  EXPECT_EQ(GetText(db_.get(), "c"), "3");
}

TEST_P(TransactionTest, AWriteOfAnotherToAWrittenOrWatchedKeyIsBusyAndNothingIsWritten) {
  enum class Other { kPut, kDelete, kBatch, kSwap, kRange, kTransaction, kIngest };
  for (const bool watched : {true, false}) {
    for (const bool missing : {true, false}) {
      for (const Other other : {Other::kPut, Other::kDelete, Other::kBatch, Other::kSwap,
                                Other::kRange, Other::kTransaction, Other::kIngest}) {
        for (const int moved : {0, 1, 2}) {  // the other's write lies in the memtable, L0, L1
          if (missing && (other == Other::kDelete || other == Other::kRange)) continue;
          // Where it lies has nothing to do with how it was written, but for a delete.
          if (moved != 0 && other != Other::kPut && other != Other::kDelete) continue;
          const std::string key = missing ? "missing" : "there";
          BRAID_ASSERT_OK(db_->Put("there", "at first"));
          BRAID_ASSERT_OK(db_->Delete("missing"));
          const auto transaction = Begin();
          if (watched) {
            EXPECT_EQ(Watch(transaction.get(), key), missing ? "(not found)" : "at first");
          } else {
            BRAID_ASSERT_OK(transaction->Put(key, "mine"));
          }
          BRAID_ASSERT_OK(transaction->Put("mine", "lost"));
          switch (other) {
            case Other::kPut:
              BRAID_ASSERT_OK(db_->Put(key, "theirs"));
              break;
            case Other::kDelete:
              BRAID_ASSERT_OK(db_->Delete(key));
              break;
            case Other::kBatch: {
              WriteBatch batch;
              batch.Put(key, "theirs");
              batch.Put("beside", "theirs");
              BRAID_ASSERT_OK(db_->Write(batch));
              break;
            }
            case Other::kSwap: {
              const auto expected = missing ? std::nullopt : std::optional<Slice>("at first");
              ASSERT_TRUE(db_->CompareAndSwap(key, expected, "theirs").value());
              break;
            }
            case Other::kRange:
              BRAID_ASSERT_OK(db_->DeleteRange(key, key + "0"));
              break;
            case Other::kTransaction: {
              const auto first = Begin();
              BRAID_ASSERT_OK(first->Put(key, "theirs"));
              BRAID_ASSERT_OK(first->Commit());
              break;
            }
            case Other::kIngest:
              BRAID_ASSERT_OK(IngestSorted(db_.get(), Model{{key, "theirs"}}));
              break;
          }
          if (moved != 0) {
            BRAID_ASSERT_OK(moved == 1 ? db_->Flush() : db_->Compact());
          }
          EXPECT_TRUE(HasCode(transaction->Commit(), Status::Code::kBusy))
              << watched << missing << static_cast<int>(other) << moved;
          EXPECT_EQ(GetText(db_.get(), "mine"), "(not found)");
          EXPECT_NE(GetText(db_.get(), key), "mine");
        }
      }
    }
  }
}

TEST_P(TransactionTest, WhatIsMovedBetweenTablesIsNotWritten) {
  Fill(0, 300, 60, "old");
  const auto transaction = Begin();
  for (uint64_t i = 0; i < 300; i += 30) {
    EXPECT_EQ(Watch(transaction.get(), NumberedKey(i)), model_[NumberedKey(i)]);
  }
  EXPECT_EQ(Watch(transaction.get(), "missing"), "(not found)");
  BRAID_ASSERT_OK(db_->Flush());
  Fill(1000, 300, 60);
  BRAID_ASSERT_OK(db_->Compact());
  BRAID_ASSERT_OK(transaction->Put(NumberedKey(0), "mine"));
  BRAID_ASSERT_OK(transaction->Commit());
  model_[NumberedKey(0)] = "mine";
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(TransactionTest, OfTwoThatBuildUponEachOthersReadsOneCommits) {
  // Write skew: each sees that the other is on call, and leaves.
  Put("alice", "on call");
  Put("bob", "on call");
  const auto first = Begin(), second = Begin();
  for (const auto& transaction : {first.get(), second.get()}) {
    EXPECT_EQ(Watch(transaction, "alice"), "on call");
    EXPECT_EQ(Watch(transaction, "bob"), "on call");
  }
  BRAID_ASSERT_OK(first->Put("alice", "away"));
  BRAID_ASSERT_OK(second->Put("bob", "away"));
  BRAID_ASSERT_OK(first->Commit());
  EXPECT_TRUE(HasCode(second->Commit(), Status::Code::kBusy));
  EXPECT_EQ(GetText(db_.get(), "bob"), "on call");
}

TEST_P(TransactionTest, OfTwoThatWriteTheSameKeyTheFirstCommits) {
  const auto first = Begin(), second = Begin(), third = Begin();
  BRAID_ASSERT_OK(first->Put("k", "first"));
  BRAID_ASSERT_OK(second->Put("k", "second"));
  BRAID_ASSERT_OK(third->Put("other", "third"));
  BRAID_ASSERT_OK(second->Commit());
  EXPECT_TRUE(HasCode(first->Commit(), Status::Code::kBusy));
  BRAID_ASSERT_OK(third->Commit());
  EXPECT_EQ(GetText(db_.get(), "k"), "second");
  EXPECT_EQ(GetText(db_.get(), "other"), "third");
}

TEST_P(TransactionTest, IsOverAfterCommitAndRollback) {
  const auto over = [](const Status& s) { return HasCode(s, Status::Code::kInvalidArgument); };
  for (const int how : {0, 1, 2}) {
    const auto transaction = Begin();
    BRAID_ASSERT_OK(transaction->Put("k", std::to_string(how)));
    if (how == 0) {
      BRAID_ASSERT_OK(transaction->Commit());
    }
    if (how == 1) transaction->Rollback();
    if (how == 2) {
      BRAID_ASSERT_OK(db_->Put("k", "theirs"));
      EXPECT_TRUE(transaction->Commit().IsBusy());
    }
    std::string value;
    EXPECT_TRUE(over(transaction->Get("k", &value)));
    EXPECT_TRUE(over(transaction->GetForUpdate("k", &value)));
    EXPECT_TRUE(over(transaction->Put("k", "v")));
    EXPECT_TRUE(over(transaction->Delete("k")));
    EXPECT_TRUE(over(transaction->Commit()));
    EXPECT_EQ(GetText(db_.get(), "k"), how == 2 ? "theirs" : "0");
  }
  {
    const auto dropped = Begin();
    BRAID_ASSERT_OK(dropped->Put("dropped", "v"));
  }
  EXPECT_EQ(GetText(db_.get(), "dropped"), "(not found)");
}

TEST_P(TransactionTest, WithoutWritesAndWatchedKeysItCommitsWhateverOthersDid) {
  Put("a", "1");
  const auto transaction = Begin();
  EXPECT_EQ(Read(transaction.get(), "a"), "1");
  Put("a", "2");
  BRAID_EXPECT_OK(transaction->Commit());
}

TEST_P(TransactionTest, LimitsAreRefusedAndClosedIsClosed) {
  auto transaction = Begin();
  const std::string long_key(kMaxKeyBytes + 1, 'k');
  std::string value;
  EXPECT_TRUE(HasCode(transaction->Put(long_key, "v"), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(transaction->Delete(long_key), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(transaction->Get(long_key, &value), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(transaction->GetForUpdate(long_key, &value), Status::Code::kInvalidArgument));
  BRAID_ASSERT_OK(transaction->Put("k", "v"));
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(transaction->Get("x", &value).IsClosed());
  EXPECT_TRUE(transaction->Commit().IsClosed());
  EXPECT_TRUE(db_->BeginTransaction().status().IsClosed());
  db_.reset();
  transaction.reset();
}

TEST_P(TransactionTest, SpeaksTheKeysOfTheDatabasesOrder) {
  BRAID_ASSERT_OK(db_->Close());
  auto opened = DB::Open(options_, folder_.Sub("ordered"), std::make_shared<NewestFirstOrder>());
  BRAID_ASSERT_OK(opened.status());
  db_ = std::move(opened).value();
  BRAID_ASSERT_OK(db_->Put("a/1", "1"));
  const auto first = Begin(), second = Begin();
  EXPECT_EQ(Watch(first.get(), "a/1"), "1");
  BRAID_ASSERT_OK(first->Put("a/2", "2"));
  EXPECT_EQ(Read(first.get(), "a/2"), "2");
  EXPECT_TRUE(HasCode(first->Put("no key", "v"), Status::Code::kInvalidArgument));
  BRAID_ASSERT_OK(second->Delete("a/1"));
  BRAID_ASSERT_OK(first->Commit());
  BRAID_ASSERT_OK(second->Commit()) << "the first has only read what the second writes";
  EXPECT_EQ(ScanForward(db_.get()), (Pairs{{"a/2", "2"}}));
}

TEST_P(TransactionTest, ManyKeysAndLargeValues) {
  Fill(0, 400, 50);
  const auto transaction = Begin();
  for (uint64_t i = 0; i < 400; ++i) {
    if (i % 3 == 0) {
      EXPECT_EQ(Watch(transaction.get(), NumberedKey(i)), model_[NumberedKey(i)]);
    }
    const std::string value(i % 50 == 0 ? options_.pool.chunk_bytes + 5 : i, 'x');
    BRAID_ASSERT_OK(transaction->Put(NumberedKey(i), value));
    model_[NumberedKey(i)] = value;
  }
  BRAID_ASSERT_OK(transaction->Commit());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
  Reopen();
  ExpectContent(db_.get(), model_);
}

class NoTransactionTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, NoTransactionTest, ::testing::ValuesIn(AllSetups()), SetupName);

TEST_P(NoTransactionTest, ADesignWithoutThemAndAPoolOpenedForReadingSaySo) {
  if (!Has(&Capabilities::transactions)) {
    EXPECT_TRUE(HasCode(db_->BeginTransaction().status(), Status::Code::kNotSupported));
    return;
  }
  BRAID_ASSERT_OK(db_->Close());
  Options reading = options_;
  reading.read_only = true;
  db_ = OpenOrFail(reading, path_);
  ASSERT_NE(db_, nullptr);
  EXPECT_TRUE(HasCode(db_->BeginTransaction().status(), Status::Code::kNotSupported));
}

TEST_P(TransactionTest, DeletesARangeAndShowsItToItselfBefore) {
  for (const char* key : {"a", "b", "c", "d"}) Put(key, "1");
  const auto transaction = Begin();
  BRAID_ASSERT_OK(transaction->Put("b", "own"));
  BRAID_ASSERT_OK(transaction->Put("b1", "own"));
  BRAID_ASSERT_OK(transaction->DeleteRange("b", "d"));
  BRAID_ASSERT_OK(transaction->Put("c", "later"));
  BRAID_ASSERT_OK(transaction->DeleteRange("x", "x"));
  EXPECT_EQ(Read(transaction.get(), "a"), "1");
  EXPECT_EQ(Read(transaction.get(), "b"), "(not found)");
  EXPECT_EQ(Watch(transaction.get(), "b1"), "(not found)");
  EXPECT_EQ(Read(transaction.get(), "c"), "later");
  EXPECT_EQ(Read(transaction.get(), "d"), "1");
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(transaction->Commit());
  model_ = {{"a", "1"}, {"c", "later"}, {"d", "1"}};
  ExpectContent(db_.get(), model_);
  const auto rest = Begin();
  BRAID_ASSERT_OK(rest->DeleteRange(std::nullopt, std::nullopt));
  BRAID_ASSERT_OK(rest->Commit());
  ExpectContent(db_.get(), {});
  AbandonAndReopen();
  ExpectContent(db_.get(), {});
  const auto over = Begin();
  EXPECT_TRUE(HasCode(over->DeleteRange(std::string(kMaxKeyBytes + 1, 'k'), std::nullopt),
                      Status::Code::kInvalidArgument));
  over->Rollback();
  EXPECT_TRUE(HasCode(over->DeleteRange("a", "b"), Status::Code::kInvalidArgument));
}

TEST_P(TransactionTest, APutOfAnotherIntoADeletedRangeIsBusyAndADeleteIsNot) {
  for (const int moved : {0, 1, 2}) {
    Put("a", "1");
    Put("b", "1");
    const auto late = Begin();
    BRAID_ASSERT_OK(late->DeleteRange("a", "c"));
    BRAID_ASSERT_OK(late->Put("z", "late"));
    Put("b", "2");
    Move(moved);
    EXPECT_TRUE(late->Commit().IsBusy()) << moved;
    ExpectContent(db_.get(), model_);

    const auto early = Begin();
    BRAID_ASSERT_OK(early->DeleteRange("a", "c"));
    Delete("a");
    Put("c", "behind it");
    Move(moved);
    BRAID_EXPECT_OK(early->Commit()) << moved;
    model_ = {{"c", "behind it"}};
    ExpectContent(db_.get(), model_);
  }
}

TEST_P(TransactionTest, WithoutWritesItIsOkOnlyIfWhatItWatchedIsUnchanged) {
  for (const int moved : {0, 1, 2}) {
    Put("a", "1");
    BRAID_ASSERT_OK(db_->Delete("missing"));
    const auto begin = [&] {
      auto transaction = Begin();
      Watch(transaction.get(), "a");
      Watch(transaction.get(), "missing");
      Read(transaction.get(), "other");
      return transaction;
    };
    auto transaction = begin();
    Put("other", "changed, and not watched");
    Move(moved);
    BRAID_EXPECT_OK(transaction->Commit());
    transaction = begin();
    Put("a", "1");  // the same value
    Move(moved);
    EXPECT_TRUE(transaction->Commit().IsBusy()) << moved;
    transaction = begin();
    BRAID_ASSERT_OK(db_->Put("missing", "here"));
    Move(moved);
    EXPECT_TRUE(transaction->Commit().IsBusy()) << moved;
    BRAID_ASSERT_OK(db_->Delete("missing"));
    transaction = begin();
    Delete("a");
    Move(moved);
    EXPECT_TRUE(transaction->Commit().IsBusy()) << moved;
    EXPECT_TRUE(HasCode(transaction->Commit(), Status::Code::kInvalidArgument)) << "it is over";
  }
  const auto transaction = Begin();
  Watch(transaction.get(), "a");
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(HasCode(transaction->Commit(), Status::Code::kClosed));
}

}  // namespace
}  // namespace braid::test
