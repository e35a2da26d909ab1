// Tests of reclustering: L1 comes into the order of its keys in memory, and nothing else changes.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>

#include "braid/db.h"
#include "support/temp_folder.h"

namespace braid {
namespace {

constexpr uint64_t kKeys = 2000;

class ReclusterTest : public ::testing::Test {
 protected:
  ReclusterTest() {
    options_.background_threads = false;
    options_.pool.chunk_bytes = 16 << 10;
    options_.pool.initial_bytes = 8 << 20;
    options_.log.shards = 1;
    options_.log.kind = LogKind::kIndexUnified;  // or a flush would bring the order
    options_.compaction.recluster_share = 0.25;
    Open();
  }
  void Open() {
    db_.reset();
    Result<std::unique_ptr<DB>> db = DB::Open(options_, pool());
    ASSERT_TRUE(db.ok()) << db.status().ToString();
    db_ = std::move(db).value();
  }
  std::string pool() const { return folder_.Sub("pool"); }
  static std::string Key(uint64_t number) {
    std::string digits = std::to_string(number);
    return "key" + std::string(6 - digits.size(), '0') + digits;
  }
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put(key, value).ok());
    model_[key] = value;
  }
  /// Every `step`th key, in an order that has nothing to do with theirs.
  void Fill(const std::string& value, uint64_t step = 1) {
    std::vector<uint64_t> numbers;
    for (uint64_t i = 0; i < kKeys; i += step) numbers.push_back(i);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937_64(7));
    for (const uint64_t number : numbers) Put(Key(number), value + Key(number));
  }
  /// Entries that Compact has moved.
  uint64_t Reclustered() {
    const uint64_t before = db_->GetStatistics().reclustered_entries;
    EXPECT_TRUE(db_->Compact().ok());
    return db_->GetStatistics().reclustered_entries - before;
  }
  void ExpectModel(const ReadOptions& read = {},
                   const std::map<std::string, std::string>* content = nullptr) {
    const auto& expected = content != nullptr ? *content : model_;
    const std::unique_ptr<Iterator> it = db_->NewIterator(read);
    it->SeekToFirst();
    for (const auto& [key, value] : expected) {
      ASSERT_TRUE(it->Valid()) << key;
      ASSERT_EQ(it->key(), key);
      ASSERT_EQ(it->value(), value) << key;
      std::string found;
      ASSERT_TRUE(db_->Get(read, key, &found).ok()) << key;
      ASSERT_EQ(found, value);
      it->Next();
    }
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(it->status().ok());
  }
  void ExpectSound() {
    VerifyReport report;
    EXPECT_TRUE(db_->Verify(&report).ok());
    for (const std::string& problem : report.problems) ADD_FAILURE() << problem;
    EXPECT_EQ(report.live_entries, model_.size());
  }

  test::TempFolder folder_;
  Options options_;
  std::unique_ptr<DB> db_;
  std::map<std::string, std::string> model_;
};

// That nothing is left to move says that all stands in order: else it would be moved again.
TEST_F(ReclusterTest, ScatteredEntriesComeTogetherOnce) {
  Fill("a");
  EXPECT_EQ(Reclustered(), kKeys);
  EXPECT_EQ(Reclustered(), 0u);
  ExpectModel();
  ExpectSound();
  Open();
  EXPECT_EQ(Reclustered(), 0u) << "what was in order is moved after an open";
  ExpectModel();
}

TEST_F(ReclusterTest, AFewChangesAreLeftWhereTheyAre) {
  Fill("a");
  Reclustered();
  Fill("b", 10);
  EXPECT_EQ(Reclustered(), 0u);
  Fill("c", 2);
  EXPECT_EQ(Reclustered(), kKeys);
  ExpectModel();
  ExpectSound();
}

TEST_F(ReclusterTest, EntriesInOrderStay) {
  for (uint64_t i = 0; i < kKeys; ++i) Put(Key(i), "value");
  EXPECT_EQ(Reclustered(), 0u);
}

TEST_F(ReclusterTest, TheOriginalsAreGivenBack) {
  Fill("a");
  ASSERT_TRUE(db_->Flush().ok());
  const uint64_t used = db_->GetStatistics().pool_used_bytes;
  Reclustered();
  EXPECT_LT(db_->GetStatistics().pool_used_bytes, used + used / 4);
}

TEST_F(ReclusterTest, OffMeansOff) {
  options_.compaction.recluster_share = 0;
  Open();
  Fill("a");
  EXPECT_EQ(Reclustered(), 0u);
}

TEST_F(ReclusterTest, ASmallL1IsLeftAlone) {
  options_.compaction.recluster_share.reset();
  Open();
  Fill("a");
  EXPECT_EQ(Reclustered(), 0u);
}

TEST_F(ReclusterTest, APoolWithoutRoomForBothIsLeftAsItIs) {
  db_.reset();
  options_.pool.initial_bytes = options_.pool.max_bytes = 512 << 10;
  Result<std::unique_ptr<DB>> db = DB::Open(options_, folder_.Sub("tight"));
  ASSERT_TRUE(db.ok()) << db.status().ToString();
  db_ = std::move(db).value();
  Fill(std::string(60, 'v'));
  EXPECT_EQ(Reclustered(), 0u);
  ExpectModel();
}

TEST_F(ReclusterTest, LargeValuesStayAndTheRestMoves) {
  Fill("a");
  for (uint64_t i = 0; i < kKeys; i += 100) Put(Key(i), std::string(40 << 10, 'L'));
  EXPECT_EQ(Reclustered(), kKeys - kKeys / 100);
  ExpectModel();
  ExpectSound();
  EXPECT_EQ(Reclustered(), 0u);
}

TEST_F(ReclusterTest, SnapshotsKeepTheirVersions) {
  Fill("old");
  const std::map<std::string, std::string> before = model_;
  const std::shared_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  Fill("new", 2);
  for (uint64_t i = 1; i < kKeys; i += 4) {
    ASSERT_TRUE(db_->Delete(Key(i)).ok());
    model_.erase(Key(i));
  }
  EXPECT_GE(Reclustered(), kKeys);
  ExpectModel();
  ReadOptions read;
  read.snapshot = snapshot.get();
  ExpectModel(read, &before);
}

TEST_F(ReclusterTest, AnIteratorGoesOnWhereItStood) {
  Fill("a");
  ASSERT_TRUE(db_->Flush().ok());
  const std::unique_ptr<Iterator> it = db_->NewIterator({});
  it->SeekToFirst();
  for (int i = 0; i < 100; ++i) it->Next();
  EXPECT_EQ(Reclustered(), kKeys);
  Fill("b");
  ASSERT_TRUE(db_->Compact().ok());
  for (uint64_t i = 100; i < kKeys; ++i) {
    ASSERT_TRUE(it->Valid()) << i;
    EXPECT_EQ(it->key(), Key(i));
    EXPECT_EQ(it->value(), "a" + Key(i));
    it->Next();
  }
  EXPECT_FALSE(it->Valid());
}

// Runs that give way as a whole, between keys that are merged one by one: those with several
// versions, deletes that hide one, and values that stay where they are.
TEST_F(ReclusterTest, RunsEndWhereSomethingElseStands) {
  Fill("old");
  for (uint64_t i = 50; i < kKeys; i += 100) Put(Key(i), std::string(40 << 10, 'L'));
  const std::map<std::string, std::string> before = model_;
  std::shared_ptr<const Snapshot> snapshot = db_->GetSnapshot();
  for (uint64_t i = 0; i < kKeys; i += 37) Put(Key(i), "new");
  for (uint64_t i = 20; i < kKeys; i += 41) {
    ASSERT_TRUE(db_->Delete(Key(i)).ok());
    model_.erase(Key(i));
  }
  EXPECT_GE(Reclustered(), kKeys);
  ReadOptions read;
  read.snapshot = snapshot.get();
  for (int opened = 0; opened < 2; ++opened) {
    ExpectModel();
    if (opened == 0) ExpectModel(read, &before);
    // From the end, too: by upper layers and the index.
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    it->SeekToLast();
    for (auto expected = model_.rbegin(); expected != model_.rend(); ++expected, it->Prev()) {
      ASSERT_TRUE(it->Valid()) << expected->first;
      ASSERT_EQ(it->key(), expected->first);
    }
    snapshot.reset();
    if (opened == 0) Open();
  }
}

// A copy gets checks of its own: damage that was copied would be believed from then on.
TEST_F(ReclusterTest, DamageIsNotCopied) {
  Fill("mark ");
  ASSERT_TRUE(db_->Compact().ok());
  ASSERT_TRUE(db_->Close().ok());
  db_.reset();
  const std::string victim = "mark " + Key(1000);
  bool found = false;
  for (const auto& file : std::filesystem::directory_iterator(pool())) {
    std::ifstream in(file.path(), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    for (size_t at = bytes.find(victim); at != std::string::npos; at = bytes.find(victim, at + 1)) {
      std::fstream out(file.path(), std::ios::binary | std::ios::in | std::ios::out);
      out.seekp(static_cast<std::streamoff>(at));
      out.put('M');
      found = true;
    }
  }
  ASSERT_TRUE(found);
  options_.compaction.recluster_share = 0.05;
  Open();
  Fill("x", 3);
  EXPECT_GT(Reclustered(), 0u);
  std::string value;
  EXPECT_TRUE(db_->Get({}, Key(1000), &value).IsCorruption());
  EXPECT_TRUE(db_->Get({}, Key(1001), &value).ok());
}

}  // namespace
}  // namespace braid
