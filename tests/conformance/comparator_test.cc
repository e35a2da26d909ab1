// Orders by a comparator: what all calls do in them, which names are refused, and what becomes of a
// comparator that is no order.
#include <atomic>
#include <set>
#include <stdexcept>
#include <thread>

#include "conformance.h"
#include "support/comparators.h"
#include "support/records.h"

namespace braid::test {
namespace {

std::vector<Setup> SetupsWithComparators() {
  std::vector<Setup> setups;
  for (Setup& setup : StoringSetups(&Capabilities::transactions)) {
    // The order stands above the parts: of their combinations one is enough.
    if (setup.kind.settings.empty() || setup.kind.name == "regions4") {
      setups.push_back(std::move(setup));
    }
  }
  return setups;
}

class ComparatorTest : public ConformanceTest {
 protected:
  void SetUp() override {
    options_ = GetParam().tiny ? TinyOptions() : Options{};
    GetParam().kind.ApplyTo(&options_);
    options_.background_threads = GetParam().background;
    path_ = folder_.Sub("pool");
    Open(CompareWithoutCase);
  }
  void Open(Compares compares, const std::string& name = "CaseInsensitiveComparator") {
    db_.reset();
    auto opened = DB::OpenWithComparator(options_, path_, MakeComparator(name, compares));
    ASSERT_TRUE(IsOk(opened.status()));
    db_ = std::move(opened).value();
  }
  Status OpenStatus(const std::string& name) {
    return DB::OpenWithComparator(options_, path_, MakeComparator(name, CompareWithoutCase))
        .status();
  }
  std::string Keys(const ReadOptions& options = {}) {
    std::string keys;
    const Pairs forward = ScanForward(db_.get(), options);
    for (const auto& [key, value] : forward) keys += key + "=" + value + " ";
    EXPECT_EQ(forward, ScanBackward(db_.get(), options));
    return keys;
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, ComparatorTest, ::testing::ValuesIn(SetupsWithComparators()),
                         SetupName);

TEST_P(ComparatorTest, KeysThatCompareAsEqualAreOneKey) {
  BRAID_ASSERT_OK(db_->Put("B", "1"));
  BRAID_ASSERT_OK(db_->Put("a", "1"));
  BRAID_ASSERT_OK(db_->Put("C", "1"));
  EXPECT_EQ(Keys(), "a=1 B=1 C=1 ");
  BRAID_ASSERT_OK(db_->Put("b", "2"));
  EXPECT_EQ(Keys(), "a=1 b=2 C=1 ") << "the bytes are those of the last put";
  EXPECT_EQ(GetText(db_.get(), "B"), "2");
  PinnedValue pinned;
  BRAID_EXPECT_OK(db_->GetPinned("B", &pinned));
  std::vector<std::string> values;
  const std::vector<Slice> asked{"A", "c", "none", "b"};
  const std::vector<Status> found = db_->MultiGet(asked, &values);
  EXPECT_TRUE(found[0].ok() && found[1].ok() && found[2].IsNotFound() && found[3].ok());
  EXPECT_EQ(values, (std::vector<std::string>{"1", "1", "", "2"}));
  BRAID_ASSERT_OK(db_->Delete("c"));
  BRAID_ASSERT_OK(db_->Delete("none"));
  EXPECT_EQ(Keys(), "a=1 b=2 ");
  EXPECT_FALSE(*db_->PutIfAbsent("A", "3"));
  EXPECT_TRUE(*db_->CompareAndSwap("A", "1", "3"));
  EXPECT_FALSE(*db_->CompareAndSwap("B", std::nullopt, "3"));
  EXPECT_EQ(Keys(), "A=3 b=2 ");
  Open(CompareWithoutCase);
  EXPECT_EQ(Keys(), "A=3 b=2 ");
  ExpectVerified(db_.get());
}

TEST_P(ComparatorTest, BoundsAndSeeksAreInTheOrder) {
  for (const char* key : {"a", "B", "c", "D", "e"}) BRAID_ASSERT_OK(db_->Put(key, ""));
  ReadOptions bounds;
  bounds.lower_bound = "b";
  bounds.upper_bound = "E";
  EXPECT_EQ(Keys(bounds), "B= c= D= ");
  const std::unique_ptr<Iterator> it = db_->NewIterator(bounds);
  const auto at = [&] { return it->Valid() ? std::string(it->key()) : "(none)"; };
  it->Seek("A");
  EXPECT_EQ(at(), "B");
  it->Seek("C");
  EXPECT_EQ(at(), "c");
  it->SeekForPrev("cc");
  EXPECT_EQ(at(), "c");
  it->SeekForPrev("z");
  EXPECT_EQ(at(), "D");
  it->Next();
  EXPECT_EQ(at(), "(none)");
  it->SeekForPrev("a");
  EXPECT_EQ(at(), "(none)");
  it->SeekToFirst();
  it->Prev();
  EXPECT_EQ(at(), "(none)");
  BRAID_EXPECT_OK(it->status());
}

TEST_P(ComparatorTest, ARefreshedIteratorShowsTheNewestState) {
  for (const char* key : {"a", "B", "c", "D"}) BRAID_ASSERT_OK(db_->Put(key, "1"));
  const auto snapshot = db_->GetSnapshot();
  ReadOptions options;
  options.upper_bound = "d";
  options.snapshot = snapshot.get();
  const auto it = db_->NewIterator(options);
  for (int i = 0; i < 300; ++i) BRAID_ASSERT_OK(db_->Put("C" + std::to_string(i), "2"));
  BRAID_ASSERT_OK(db_->Delete("A"));
  const auto keys = [&] {
    size_t count = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
    BRAID_EXPECT_OK(it->status());
    return count;
  };
  EXPECT_EQ(keys(), 3u);
  BRAID_ASSERT_OK(it->Refresh());
  EXPECT_FALSE(it->Valid());
  EXPECT_EQ(keys(), 302u) << "the bound stays";
  it->SeekToLast();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "C99");
  BRAID_ASSERT_OK(db_->Close());
  EXPECT_TRUE(it->Refresh().IsClosed());
  EXPECT_FALSE(it->Valid());
}

TEST_P(ComparatorTest, BatchesRangesAndSnapshotsUseIt) {
  for (const char* key : {"a", "B", "c", "D", "e"}) BRAID_ASSERT_OK(db_->Put(key, "old"));
  std::shared_ptr<const Snapshot> before;
  BRAID_ASSERT_OK(db_->GetSnapshot(&before));
  WriteBatch batch;
  batch.Put("b1", "gone");
  batch.DeleteRange("b", "d");
  batch.Put("C", "new");
  batch.Delete("E");
  batch.Put("A", "1");
  batch.Put("a", "2");
  BRAID_ASSERT_OK(db_->Write(batch));
  EXPECT_EQ(Keys(), "a=2 C=new D=old ");
  ReadOptions at;
  at.snapshot = before.get();
  EXPECT_EQ(Keys(at), "a=old B=old c=old D=old e=old ");
  EXPECT_EQ(GetText(db_.get(), "E", before.get()), "old");
  uint64_t deleted = 0;
  BRAID_ASSERT_OK(db_->DeleteRange("B", Slice("d"), &deleted));
  EXPECT_EQ(deleted, 1u);
  BRAID_ASSERT_OK(db_->DeleteRange("a", std::nullopt, &deleted));
  EXPECT_EQ(deleted, 2u);
  EXPECT_EQ(Keys(), "");
  EXPECT_EQ(Keys(at), "a=old B=old c=old D=old e=old ");
}

TEST_P(ComparatorTest, TransactionsUseIt) {
  BRAID_ASSERT_OK(db_->Put("a", "1"));
  BRAID_ASSERT_OK(db_->Put("b", "1"));
  const auto begin = [&] { return std::move(db_->BeginTransaction()).value(); };
  std::string value;
  auto one = begin();
  BRAID_ASSERT_OK(one->Put("A", "2"));
  BRAID_ASSERT_OK(one->Get("a", &value));
  EXPECT_EQ(value, "2");
  BRAID_ASSERT_OK(one->DeleteRange("B", std::nullopt));
  EXPECT_TRUE(one->Get("b", &value).IsNotFound());
  BRAID_ASSERT_OK(one->Put("c", "3"));
  BRAID_ASSERT_OK(one->Commit());
  EXPECT_EQ(Keys(), "A=2 c=3 ");
  EXPECT_TRUE(HasCode(one->Put("d", ""), Status::Code::kInvalidArgument));

  // A key that compares as equal counts as the same, whatever its bytes.
  auto late = begin();
  EXPECT_TRUE(late->GetForUpdate("d", &value).IsNotFound());
  BRAID_ASSERT_OK(late->Put("x", ""));
  BRAID_ASSERT_OK(db_->Put("D", "other"));
  EXPECT_TRUE(late->Commit().IsBusy());
  late = begin();
  BRAID_ASSERT_OK(late->Put("a", "late"));
  BRAID_ASSERT_OK(db_->Put("A", "first"));
  EXPECT_TRUE(late->Commit().IsBusy());
  late = begin();
  BRAID_ASSERT_OK(late->DeleteRange("a", "z"));
  BRAID_ASSERT_OK(db_->Put("m", "between"));
  EXPECT_TRUE(late->Commit().IsBusy());
  late = begin();
  BRAID_ASSERT_OK(late->GetForUpdate("C", &value));
  BRAID_EXPECT_OK(late->Commit()) << "unchanged";
  late = begin();
  BRAID_ASSERT_OK(late->GetForUpdate("C", &value));
  BRAID_ASSERT_OK(db_->Delete("c"));
  EXPECT_TRUE(late->Commit().IsBusy());
  EXPECT_EQ(Keys(), "A=first D=other m=between ");
}

TEST_P(ComparatorTest, AnIngestIsInTheOrder) {
  BRAID_ASSERT_OK(db_->Put("C", "old"));
  IngestReport report;
  IngestOptions sorted;
  sorted.sorted = true;
  PairSource good(Pairs{{"a", "1"}, {"B", "2"}, {"c", "3"}});
  BRAID_ASSERT_OK(db_->Ingest(&good, sorted, &report));
  EXPECT_EQ(report.records, 3u);
  EXPECT_EQ(Keys(), "a=1 B=2 c=3 ");
  PairSource bad(Pairs{{"d", "1"}, {"E", "2"}, {"e", "3"}});
  const Status s = db_->Ingest(&bad, sorted, &report);
  EXPECT_TRUE(HasCode(s, Status::Code::kInvalidArgument));
  EXPECT_NE(s.message().find("record 3"), std::string::npos) << s.ToString();
  EXPECT_EQ(Keys(), "a=1 B=2 c=3 ") << "all records or none";
  PairSource any(Pairs{{"z", "1"}, {"y", "2"}, {"Z", "3"}});
  BRAID_ASSERT_OK(db_->Ingest(&any, {}, &report));
  EXPECT_EQ(Keys(), "a=1 B=2 c=3 y=2 Z=3 ");
  ExpectVerified(db_.get());
}

TEST_P(ComparatorTest, AnotherNameIsRefusedAndBothAreNamed) {
  BRAID_ASSERT_OK(db_->Put("a", "1"));
  BRAID_ASSERT_OK(db_->Close());
  for (const std::string name :
       {"another", "CaseInsensitiveComparator2", "CaseInsensitiveComparato"}) {
    const Status s = OpenStatus(name);
    EXPECT_TRUE(HasCode(s, Status::Code::kInvalidArgument)) << name;
    EXPECT_NE(s.message().find(name.substr(0, 7)), std::string::npos) << s.ToString();
    EXPECT_NE(s.message().find("CaseIns"), std::string::npos) << s.ToString();
  }
  EXPECT_TRUE(HasCode(DB::Open(options_, path_).status(), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(OpenStatus(""), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(OpenStatus(std::string(256, 'n')), Status::Code::kInvalidArgument));
  EXPECT_TRUE(HasCode(DB::OpenWithComparator(options_, path_, nullptr).status(),
                      Status::Code::kInvalidArgument));
  Open(CompareWithoutCase);
  EXPECT_EQ(Keys(), "a=1 ");
  db_.reset();
  path_ = folder_.Sub("long name");
  Open(CompareReversed, std::string(255, 'n'));
  BRAID_ASSERT_OK(db_->Put("a", ""));
  BRAID_ASSERT_OK(db_->Put("b", ""));
  Open(CompareReversed, std::string(255, 'n'));
  EXPECT_EQ(Keys(), "b= a= ");
  db_.reset();
  path_ = folder_.Sub("bytes");
  OpenOrFail(options_, path_).reset();
  EXPECT_TRUE(HasCode(OpenStatus("any"), Status::Code::kInvalidArgument)) << "it has byte order";
}

TEST_P(ComparatorTest, ManyKeysSplitNodesAndGoAgain) {
  Random random(DeriveSeed(320));
  std::set<std::string> there;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 800; ++i) {
      const std::string key = NumberedKey(random.Below(3000));
      if (random.OneIn(3)) {
        BRAID_ASSERT_OK(db_->Delete(key));
        there.erase(key);
      } else {
        BRAID_ASSERT_OK(db_->Put(key, key));
        there.insert(key);
      }
    }
    const Pairs pairs = ScanForward(db_.get());
    ASSERT_EQ(pairs.size(), there.size()) << ReplayLine();
    EXPECT_TRUE(std::equal(pairs.begin(), pairs.end(), there.begin(),
                           [](const auto& pair, const std::string& key) {
                             return pair.first == key && pair.second == key;
                           }));
    ExpectVerified(db_.get());
    if (round == 1) {
      uint64_t deleted = 0;
      BRAID_ASSERT_OK(db_->DeleteRange("KEY", std::nullopt, &deleted));
      EXPECT_EQ(deleted, there.size());
      there.clear();
      EXPECT_EQ(Keys(), "");
    }
  }
}

/// Compares as a coin falls, by the bytes of both.
int CompareWildly(Slice a, Slice b) {
  return static_cast<int>(std::hash<std::string>()(std::string(a) + "," + std::string(b)) % 3) - 1;
}

TEST_P(ComparatorTest, OneThatIsNoOrderDoesNoHarmAndVerifySaysSo) {
  db_.reset();
  path_ = folder_.Sub("wild");
  Open(CompareWildly, "wild");
  Random random(DeriveSeed(321));
  for (int i = 0; i < 2000; ++i) {
    const std::string key = NumberedKey(random.Below(300));
    const std::string other = NumberedKey(random.Below(300));
    const uint64_t dice = random.Below(10);
    if (dice < 5) {
      BRAID_EXPECT_OK(db_->Put(key, key));
    }
    if (dice == 5 || dice == 6) {
      BRAID_EXPECT_OK(db_->Delete(key));
    }
    if (dice == 7) {
      WriteBatch batch;
      batch.Put(key, other);
      batch.DeleteRange(key, other);
      BRAID_EXPECT_OK(db_->Write(batch));
    }
    if (dice == 8) {
      const std::unique_ptr<Iterator> it = db_->NewIterator({});
      it->Seek(key);
      for (int step = 0; step < 20 && it->Valid(); ++step)
        random.OneIn(3) ? it->Prev() : it->Next();
      BRAID_EXPECT_OK(it->status());
    }
    if (dice == 9) {
      std::string value;
      const Status s = db_->Get(key, &value);
      EXPECT_TRUE(s.ok() || s.IsNotFound()) << s.ToString();
    }
  }
  for (int i = 0; i < 300; ++i) BRAID_EXPECT_OK(db_->Put(NumberedKey(i), "v"));
  VerifyReport report;
  const Status s = db_->Verify(&report);
  EXPECT_TRUE(s.IsCorruption()) << s.ToString();
  EXPECT_NE(s.message().find("\"wild\""), std::string::npos) << s.ToString();
  ASSERT_EQ(report.problems.size(), 1u) << "the pool itself is sound";
  Open(CompareWildly, "wild");
}

int CompareThrowing(Slice a, Slice b) {
  if (a == "bad" || b == "bad") throw std::runtime_error("no such key");
  return a.compare(b);
}

TEST_P(ComparatorTest, OneThatThrowsEndsTheCall) {
  db_.reset();
  path_ = folder_.Sub("throwing");
  Open(CompareThrowing, "throwing");
  BRAID_ASSERT_OK(db_->Put("a", "1"));
  EXPECT_FALSE(db_->Put("bad", "1").ok());
  WriteBatch batch;
  batch.Put("b", "1");
  batch.Put("bad", "1");
  EXPECT_FALSE(db_->Write(batch).ok());
  const std::unique_ptr<Iterator> it = db_->NewIterator({});
  it->Seek("bad");
  EXPECT_FALSE(it->Valid());
  EXPECT_FALSE(it->status().ok());
  it->SeekToFirst();
  EXPECT_TRUE(it->Valid());
  EXPECT_EQ(Keys(), "a=1 ");
}

TEST_P(ComparatorTest, ARepairMakesTheIndexAgain) {
  for (int i = 0; i < 500; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
  BRAID_ASSERT_OK(db_->Close());
  db_.reset();
  RepairReport report;
  std::string kept;
  BRAID_ASSERT_OK(DB::RepairInPlace(options_, path_, &report, &kept));
  Options reader = options_;
  reader.read_only = true;
  EXPECT_TRUE(
      HasCode(DB::OpenWithComparator(
                  reader, path_, MakeComparator("CaseInsensitiveComparator", CompareWithoutCase))
                  .status(),
              Status::Code::kNotSupported));
  Open(CompareWithoutCase);
  EXPECT_EQ(ScanForward(db_.get()).size(), 500u);
  ExpectVerified(db_.get());
}

TEST_P(ComparatorTest, ACheckpointKeepsIt) {
  BRAID_ASSERT_OK(db_->Put("B", "1"));
  BRAID_ASSERT_OK(db_->Put("a", "1"));
  BRAID_ASSERT_OK(db_->CreateCheckpoint(folder_.Sub("copy")));
  path_ = folder_.Sub("copy");
  Open(CompareWithoutCase);
  EXPECT_EQ(Keys(), "a=1 B=1 ");
}

TEST_P(ComparatorTest, ReadersSeeBatchesWholeWhileOthersWrite) {
  std::atomic<bool> running{true};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      for (int round = 0; round < 60; ++round) {
        WriteBatch batch;
        const std::string prefix = writer == 0 ? "x" : "y";
        batch.DeleteRange(prefix, prefix + "~");
        for (int i = 0; i < 40; ++i) {
          batch.Put(prefix + NumberedKey(2 * i + round % 2), std::to_string(round));
        }
        EXPECT_TRUE(IsOk(db_->Write(batch)));
      }
    });
  }
  threads.emplace_back([&] {
    while (running.load()) {
      std::map<char, std::set<std::string>> rounds;
      std::map<char, int> keys;
      for (const auto& [key, value] : ScanForward(db_.get())) {
        rounds[key[0]].insert(value);
        ++keys[key[0]];
      }
      for (const auto& [prefix, found] : rounds) {
        EXPECT_EQ(found.size(), 1u);
        EXPECT_EQ(keys[prefix], 40);
      }
    }
  });
  threads[0].join();
  threads[1].join();
  running.store(false);
  threads[2].join();
  ExpectVerified(db_.get());
}

std::vector<Setup> SetupsWithoutComparators() {
  std::vector<Setup> setups = AllSetups();
  std::erase_if(setups, [](const Setup& setup) { return setup.kind.capabilities().transactions; });
  return setups;
}

class NoComparatorTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Designs, NoComparatorTest, ::testing::ValuesIn(SetupsWithoutComparators()),
                         SetupName);

TEST_P(NoComparatorTest, ADesignThatCanNotSaysSo) {
  const Status s =
      DB::OpenWithComparator(options_, folder_.Sub("other"), MakeComparator("any", CompareReversed))
          .status();
  EXPECT_TRUE(HasCode(s, Status::Code::kNotSupported));
  EXPECT_NE(s.message().find("comparator"), std::string::npos) << s.ToString();
}

}  // namespace
}  // namespace braid::test
