#include "db/approximate_size.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace braid {
namespace {

constexpr size_t kPutBytes = 100;

// An iterator over sorted keys that counts its steps, and fails after `steps_until_failure`.
class KeysIterator : public Iterator {
 public:
  explicit KeysIterator(std::vector<std::string> keys) : keys_(std::move(keys)) {
    std::sort(keys_.begin(), keys_.end());
  }
  bool Valid() const override { return at_ < keys_.size() && steps <= steps_until_failure; }
  void SeekToFirst() override { at_ = 0; }
  void SeekToLast() override { at_ = keys_.size() - 1; }
  void Seek(Slice target) override {
    at_ = static_cast<size_t>(std::lower_bound(keys_.begin(), keys_.end(), target) - keys_.begin());
  }
  void SeekForPrev(Slice target) override {
    at_ =
        static_cast<size_t>(std::upper_bound(keys_.begin(), keys_.end(), target) - keys_.begin()) -
        1;
  }
  void Next() override {
    at_++;
    steps++;
  }
  void Prev() override { at_--; }
  Slice key() const override { return keys_[at_]; }
  Slice value() const override { return value_; }
  Status status() const override { return Status::OK(); }

  uint64_t steps = 0;
  uint64_t steps_until_failure = UINT64_MAX;

 private:
  std::vector<std::string> keys_;
  size_t at_ = SIZE_MAX / 2;
  std::string value_ = std::string(kPutBytes, 'v');
};

std::vector<std::string> DecimalKeys(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; i++) {
    char key[24];
    std::snprintf(key, sizeof(key), "user%016d", i);
    keys.emplace_back(key);
  }
  return keys;
}

double Ratio(uint64_t size, size_t entries, size_t key_bytes) {
  return static_cast<double>(size) / static_cast<double>(entries * (key_bytes + kPutBytes));
}

TEST(ApproximateSize, IsExactForARangeThatIsReadWhole) {
  KeysIterator keys(DecimalKeys(1000));
  EXPECT_EQ(ApproximateSize(&keys, "user", "v", 1000), 1000 * (20 + kPutBytes));
  EXPECT_EQ(ApproximateSize(&keys, "user0000000000000100", "user0000000000000300", 1000),
            200 * (20 + kPutBytes));
  EXPECT_EQ(ApproximateSize(&keys, "user0000000000000100", "user0000000000000101", 1000),
            20 + kPutBytes);
}

TEST(ApproximateSize, IsExactForTheLargestRangeThatIsReadWhole) {
  KeysIterator keys(DecimalKeys(static_cast<int>(kMaxEntriesRead)));
  EXPECT_EQ(ApproximateSize(&keys, "", "v", kMaxEntriesRead), kMaxEntriesRead * (20 + kPutBytes));
}

TEST(ApproximateSize, IsZeroWhereNothingIs) {
  KeysIterator keys(DecimalKeys(1000));
  EXPECT_EQ(ApproximateSize(&keys, "a", "b", 1000), 0u);
  EXPECT_EQ(ApproximateSize(&keys, "x", "y", 1000), 0u);
  EXPECT_EQ(ApproximateSize(&keys, "v", "user", 1000), 0u) << "limit before start";
  EXPECT_EQ(ApproximateSize(&keys, "user", "user", 1000), 0u);
  EXPECT_EQ(ApproximateSize(&keys, "user0000000000000100x", "user0000000000000101", 1000), 0u);
  KeysIterator none({});
  EXPECT_EQ(ApproximateSize(&none, "", "z", 0), 0u);
}

TEST(ApproximateSize, ExtrapolatesDecimalKeysWithoutReadingThemAll) {
  KeysIterator keys(DecimalKeys(400000));
  const uint64_t all = ApproximateSize(&keys, "user", "v", 400000);
  EXPECT_LE(keys.steps, kMaxEntriesRead);
  EXPECT_GT(Ratio(all, 400000, 20), 0.5);
  EXPECT_LE(Ratio(all, 400000, 20), 1.0) << "more than there is";
  const uint64_t quarter =
      ApproximateSize(&keys, "user0000000000100000", "user0000000000200000", 400000);
  EXPECT_GT(Ratio(quarter, 100000, 20), 0.5);
  EXPECT_LT(Ratio(quarter, 100000, 20), 2.0);
}

TEST(ApproximateSize, ExtrapolatesRandomBytes) {
  std::mt19937_64 random(7);
  std::vector<std::string> list(300000);
  for (std::string& key : list) {
    const uint64_t number = random();
    key.assign(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  KeysIterator keys(list);
  const uint64_t half = ApproximateSize(&keys, "", "\x80", 300000);
  EXPECT_GT(Ratio(half, 150000, 8), 0.8);
  EXPECT_LT(Ratio(half, 150000, 8), 1.25);
}

TEST(ApproximateSize, NeverExceedsWhatTheDatabaseHolds) {
  // Dense at first, then a single far key: extrapolation alone would see millions of entries.
  std::vector<std::string> list = DecimalKeys(20000);
  list.push_back("user9999999999999999");
  KeysIterator keys(list);
  EXPECT_LE(ApproximateSize(&keys, "user", "v", 20001), 20001 * (20 + kPutBytes));
}

TEST(ApproximateSize, FallsBackToTheWholeWhereKeysDifferOnlyFarBehind) {
  std::vector<std::string> list = {"a0000000000000000000"};
  for (int i = 0; i < 20000; i++) {
    char key[24];
    std::snprintf(key, sizeof(key), "b%019d", i);
    list.emplace_back(key);
  }
  KeysIterator keys(list);
  EXPECT_GT(ApproximateSize(&keys, "b", "c", 20001), 0u);
  const uint64_t all = ApproximateSize(&keys, "a", "c", 20001);
  EXPECT_LE(all, 20001 * (20 + kPutBytes));
  EXPECT_GE(all, kMaxEntriesRead * (20 + kPutBytes));
}

TEST(ApproximateSize, EndsWhereTheIteratorFails) {
  KeysIterator keys(DecimalKeys(20000));
  keys.steps_until_failure = 500;
  EXPECT_LE(ApproximateSize(&keys, "user", "v", 20000), 501 * (20 + kPutBytes));
}

}  // namespace
}  // namespace braid
