// Large values, long keys, and many tombstones in a row.
#include <algorithm>

#include "conformance.h"

namespace braid::test {
namespace {

class SizesTest : public ConformanceTest {
 protected:
  /// A key lies in one chunk with its entry: small chunks lower the limit.
  size_t LongestKey() const {
    return std::min<size_t>(kMaxKeyBytes, options_.pool.chunk_bytes / 2);
  }
  static std::string Patterned(size_t size, uint64_t seed) {
    // Not one repeated byte: a chunk in the wrong place must show.
    std::string value(size, '\0');
    uint64_t word = seed * 0x9E3779B97F4A7C15ull + 1;
    for (size_t i = 0; i < size; ++i) {
      if (i % 8 == 0) word = word * 6364136223846793005ull + 1442695040888963407ull;
      value[i] = static_cast<char>(word >> (8 * (i % 8)));
    }
    return value;
  }
};
INSTANTIATE_TEST_SUITE_P(Designs, SizesTest, ::testing::ValuesIn(StoringSetups()), SetupName);

TEST_P(SizesTest, ValuesAroundTheChunkLimitsComeBackWhole) {
  const size_t chunk = options_.pool.chunk_bytes;
  std::vector<size_t> sizes;
  for (const size_t base : {chunk / 4, chunk / 2, chunk, 2 * chunk, 3 * chunk}) {
    for (const int delta : {-129, -65, -64, -33, -1, 0, 1, 31, 64, 100}) {
      sizes.push_back(base + static_cast<size_t>(delta));
    }
  }
  for (size_t i = 0; i < sizes.size(); ++i) Put(NumberedKey(i), Patterned(sizes[i], i));
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  Reopen();
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(SizesTest, ValuesOfSeveralMegabytesComeBackWhole) {
  for (uint64_t i = 0; i < 6; ++i) {
    Put(NumberedKey(i), Patterned((3ull << 20) + i * 4097, i));
    Put("small" + std::to_string(i), "s");
  }
  ExpectContent(db_.get(), model_);
  AbandonAndReopen();
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(SizesTest, OverwrittenLargeValuesGiveTheirRoomBack) {
  for (int round = 0; round < 60; ++round) {
    Put("large", Patterned(1ull << 20, static_cast<uint64_t>(round)));
    if (round % 5 == 4) {
      BRAID_ASSERT_OK(db_->Compact());
    }
  }
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  const Statistics statistics = db_->GetStatistics();
  EXPECT_LT(statistics.pool_used_bytes, 30ull << 20)
      << "1 MiB is live; 60 MiB were written; pool " << statistics.pool_bytes;
  Delete("large");
  BRAID_ASSERT_OK(db_->Compact());
  BRAID_ASSERT_OK(db_->Compact());
  EXPECT_LE(db_->GetStatistics().pool_used_bytes, statistics.pool_used_bytes);
}

TEST_P(SizesTest, KeysOfEverySizeUpToTheLimitWork) {
  std::vector<size_t> sizes = {1,
                               7,
                               8,
                               9,
                               63,
                               64,
                               65,
                               255,
                               256,
                               1000,
                               4095,
                               4096,
                               4097,
                               8191,
                               16384,
                               32768,
                               kMaxKeyBytes - 1,
                               kMaxKeyBytes};
  std::erase_if(sizes, [this](size_t size) { return size > LongestKey(); });
  uint64_t seed = 0;
  for (const size_t size : sizes) {
    Put(Patterned(size, ++seed), "value of a key of " + std::to_string(size));
    // Differs from the next only in its last byte.
    std::string key(size, 'k');
    Put(key, std::to_string(size));
    key.back() = 'l';
    Put(key, std::to_string(size) + "l");
  }
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  Reopen();
  ExpectContent(db_.get(), model_);
  for (const size_t size : sizes) Delete(std::string(size, 'k'));
  ExpectContent(db_.get(), model_);
  BRAID_ASSERT_OK(db_->Compact());
  ExpectContent(db_.get(), model_);
  ExpectVerified(db_.get());
}

TEST_P(SizesTest, KeyThatDoesNotFitAChunkIsRefusedByName) {
  const std::string key(kMaxKeyBytes, 'k');
  const Status status = db_->Put(key, "v");
  if (LongestKey() >= key.size()) {
    BRAID_EXPECT_OK(status);
    return;
  }
  EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
  EXPECT_NE(status.message().find("chunk_bytes"), std::string_view::npos) << status.ToString();
  EXPECT_EQ(GetText(db_.get(), key), "(not found)");
  BRAID_EXPECT_OK(db_->Delete("other"));
  ExpectContent(db_.get(), model_);
}

TEST_P(SizesTest, LongKeyWithLargeValueWorks) {
  const std::string key = Patterned(LongestKey(), 5);
  Put(key, Patterned(300000, 6));
  Put("other", "v");
  ExpectContent(db_.get(), model_);
  Reopen();
  ExpectContent(db_.get(), model_);
}

TEST_P(SizesTest, SeekOverAHundredThousandDeletedKeysIsRightAndEnds) {
  const uint64_t count = kSanitizer ? 10000 : 100000;
  Put("a", "first");
  Put("z", "last");
  for (uint64_t i = 0; i < count; ++i) BRAID_ASSERT_OK(db_->Put(NumberedKey(i), "v"));
  for (uint64_t i = 0; i < count; ++i) BRAID_ASSERT_OK(db_->Delete(NumberedKey(i)));
  const auto check = [&] {
    const auto it = db_->NewIterator({});
    it->Seek("b");
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), "z");
    it->Prev();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), "a");
    it->Next();
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), "z");
    it->SeekForPrev("y");
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), "a");
    BRAID_EXPECT_OK(it->status());
  };
  check();
  BRAID_ASSERT_OK(db_->Compact());
  check();
  ExpectContent(db_.get(), model_);
}

TEST_P(SizesTest, AscendingDescendingAndRandomLoadsGiveTheSameContent) {
  std::vector<uint64_t> order(3000);
  for (uint64_t i = 0; i < order.size(); ++i) order[i] = i;
  Random random(DeriveSeed(51));
  SCOPED_TRACE(ReplayLine());
  for (int way = 0; way < 3; ++way) {
    if (way == 1) std::reverse(order.begin(), order.end());
    if (way == 2) {
      for (size_t i = order.size(); i-- > 1;) std::swap(order[i], order[random.Below(i + 1)]);
    }
    for (const uint64_t i : order) Put(NumberedKey(i), "way " + std::to_string(way));
    ExpectContent(db_.get(), model_);
  }
  ExpectVerified(db_.get());
}

}  // namespace
}  // namespace braid::test
