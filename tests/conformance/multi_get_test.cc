// MultiGet and GetPinned: the same answers as Get, at one moment, and memory that stays.
#include <atomic>
#include <thread>

#include "conformance.h"
#include "support/child_process.h"

namespace braid::test {
namespace {

class MultiGetTest : public ConformanceTest {
 protected:
  /// "value", "(not found)" or the error, a key.
  std::vector<std::string> GetAll(const std::vector<std::string>& keys,
                                  const ReadOptions& options = {}) {
    const std::vector<Slice> slices(keys.begin(), keys.end());
    std::vector<std::string> values{"left from before"};
    const std::vector<Status> statuses = db_->MultiGet(options, slices, &values);
    EXPECT_EQ(statuses.size(), keys.size());
    EXPECT_EQ(values.size(), keys.size());
    std::vector<std::string> texts;
    for (size_t i = 0; i < statuses.size(); ++i) {
      if (!statuses[i].ok()) {
        EXPECT_EQ(values[i], "") << keys[i];
      }
      texts.push_back(statuses[i].ok()           ? values[i]
                      : statuses[i].IsNotFound() ? "(not found)"
                                                 : statuses[i].ToString());
    }
    return texts;
  }
  std::string Pinned(Slice key) {
    PinnedValue value;
    const Status s = db_->GetPinned(key, &value);
    return s.ok() ? std::string(value.data()) : s.IsNotFound() ? "(not found)" : s.ToString();
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, MultiGetTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(MultiGetTest, AnswersAsGetDoesInTheOrderOfTheKeys) {
  Put("a", "1");
  Put("b", "");
  Put("c", "3");
  Delete("c");
  EXPECT_EQ(GetAll({"b", "x", "a", "c", "a", ""}),
            (std::vector<std::string>{"", "(not found)", "1", "(not found)", "1", "(not found)"}));
  EXPECT_EQ(GetAll({}), std::vector<std::string>{});
}

TEST_P(MultiGetTest, FindsKeysInEveryTable) {
  Fill(0, 300, 40, "merged");
  BRAID_ASSERT_OK(db_->Compact());
  Fill(100, 300, 40, "flushed");
  BRAID_ASSERT_OK(db_->Flush());
  Fill(200, 300, 40, "new");
  for (uint64_t i = 0; i < 500; i += 7) Delete(NumberedKey(i));
  std::vector<std::string> keys;
  std::vector<std::string> expected;
  for (uint64_t i = 0; i < 520; ++i) {
    keys.push_back(NumberedKey((i * 211) % 520));
    const auto found = model_.find(keys.back());
    expected.push_back(found == model_.end() ? "(not found)" : found->second);
  }
  EXPECT_EQ(GetAll(keys), expected);
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_EQ(GetAll(keys), expected);
  Reopen();
  EXPECT_EQ(GetAll(keys), expected);
}

TEST_P(MultiGetTest, AKeyThatIsTooLongIsRefusedAloneAndTheOthersAreAnswered) {
  Put("a", "1");
  const std::vector<std::string> texts = GetAll({"a", std::string(kMaxKeyBytes + 1, 'k'), "b"});
  EXPECT_EQ(texts[0], "1");
  EXPECT_NE(texts[1].find("the limit is"), std::string::npos) << texts[1];
  EXPECT_EQ(texts[2], "(not found)");
}

TEST_P(MultiGetTest, ReadsAsOfASnapshot) {
  BRAID_NEEDS(snapshots);
  Put("a", "old");
  Put("b", "gone");
  const auto snapshot = db_->GetSnapshot();
  Put("a", "new");
  Delete("b");
  Put("c", "later");
  BRAID_ASSERT_OK(db_->Compact());
  ReadOptions options;
  options.snapshot = snapshot.get();
  EXPECT_EQ(GetAll({"a", "b", "c"}, options),
            (std::vector<std::string>{"old", "gone", "(not found)"}));
  EXPECT_EQ(GetAll({"a", "b", "c"}), (std::vector<std::string>{"new", "(not found)", "later"}));
}

TEST_P(MultiGetTest, ShowsOneMomentBesideAWriter) {
  BRAID_NEEDS(snapshots);
  // The writer raises the keys in turn: at any moment they fall by at most one along the list.
  constexpr uint64_t kKeys = 64;
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeys; ++i) {
    keys.push_back(NumberedKey(i));
    BRAID_ASSERT_OK(db_->Put(keys.back(), "1000"));
  }
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint64_t round = 1001; !stop.load(); ++round) {
      for (const std::string& key : keys) {
        const Status s = db_->Put(key, std::to_string(round));
        if (!s.ok()) return;
      }
    }
  });
  for (int i = 0; i < 300; ++i) {
    const std::vector<std::string> values = GetAll(keys);
    const uint64_t first = std::stoull(values.front());
    for (size_t k = 1; k < kKeys; ++k) {
      const uint64_t value = std::stoull(values[k]);
      ASSERT_LE(value, std::stoull(values[k - 1])) << "key " << k;
      ASSERT_GE(value + 1, first) << "key " << k;
    }
  }
  stop = true;
  writer.join();
}

TEST_P(MultiGetTest, PinnedAnswersAsGetDoes) {
  Put("small", "tiny");
  Put("empty", "");
  Put("large", std::string(100'000, 'L'));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Pinned("small"), "tiny");
    EXPECT_EQ(Pinned("empty"), "");
    EXPECT_EQ(Pinned("large"), std::string(100'000, 'L'));
    EXPECT_EQ(Pinned("none"), "(not found)");
    BRAID_ASSERT_OK(db_->Compact());
  }
  PinnedValue value;
  BRAID_ASSERT_OK(db_->GetPinned("large", &value));
  EXPECT_TRUE(db_->GetPinned("none", &value).IsNotFound());
  EXPECT_EQ(value.data(), "") << "what was found before is let go";
}

TEST_P(MultiGetTest, APinnedValueStaysWhateverBecomesOfItsKey) {
  const std::string large(60'000, 'x');
  Put("key", large);
  PinnedValue value;
  BRAID_ASSERT_OK(db_->GetPinned("key", &value));
  Delete("key");
  // Enough to reuse what was given up, many times over.
  for (int round = 0; round < 12; ++round) {
    Fill(0, 40, 20'000, "round" + std::to_string(round));
    BRAID_ASSERT_OK(db_->Compact());
  }
  EXPECT_EQ(value.data(), large);
  PinnedValue moved = std::move(value);
  EXPECT_EQ(moved.data(), large);
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_EQ(moved.data(), large) << "after Close";
  db_.reset();
  EXPECT_EQ(moved.data(), large) << "without its database";
  moved.Reset();
  EXPECT_EQ(moved.data(), "");
}

TEST_P(MultiGetTest, APinnedValueMayBeTheLastOfItsDatabaseWhenItGoesToAnother) {
  db_.reset();
  const ChildOutcome outcome = RunInChild(60, [&](int fd) {
    const std::string large(60'000, 'x');
    PinnedValue value;
    for (const char* name : {"first", "second", "third"}) {
      const auto db = OpenOrFail(options_, folder_.Sub(name));
      if (db == nullptr || !db->Put(name, large + name).ok()) return 1;
      if (!db->Compact().ok()) return 1;  // with threads, they have read: an end waits for readers
      // What it held before ends here: nobody else has that database any more.
      const Status s = db->GetPinned(name, &value);
      if (!s.ok() || value.data() != large + name) {
        SayTo(fd, s.ToString());
        return 2;
      }
    }
    return 0;
  });
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST_P(MultiGetTest, ClosedIsAnErrorAKey) {
  Put("a", "1");
  BRAID_ASSERT_OK(db_->Close());
  std::vector<std::string> values;
  const Slice keys[] = {"a", "b"};
  for (const Status& s : db_->MultiGet(keys, &values))
    EXPECT_TRUE(HasCode(s, Status::Code::kClosed));
  PinnedValue value;
  EXPECT_TRUE(HasCode(db_->GetPinned("a", &value), Status::Code::kClosed));
}

}  // namespace
}  // namespace braid::test
