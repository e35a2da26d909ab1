// Tests of the rate of background work, on a clock that the tests move.
#include "base/token_bucket.h"

#include <gtest/gtest.h>

namespace braid::base {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kStart = 1000 * kSecond;
uint64_t bucket_time = kStart;

class TokenBucketTest : public ::testing::Test {
 protected:
  TokenBucketTest() { bucket_time = kStart; }
  TokenBucket bucket_{+[] { return bucket_time; }};
};

TEST_F(TokenBucketTest, WithoutARateNothingWaits) {
  bucket_.Take(~0ull);
  EXPECT_EQ(bucket_.Wait(), 0u);
}

TEST_F(TokenBucketTest, WhatWasTakenIsPaidByTime) {
  bucket_.SetRate(1000);
  EXPECT_EQ(bucket_.Wait(), 0u);
  bucket_.Take(2000);  // of which 100 were saved
  EXPECT_EQ(bucket_.Wait(), 2 * kSecond - TokenBucket::kBurstNanos);
  bucket_time += kSecond;
  EXPECT_EQ(bucket_.Wait(), kSecond - TokenBucket::kBurstNanos);
  bucket_.Take(500);
  EXPECT_EQ(bucket_.Wait(), kSecond + kSecond / 2 - TokenBucket::kBurstNanos);
  bucket_time += 2 * kSecond;
  EXPECT_EQ(bucket_.Wait(), 0u);
}

TEST_F(TokenBucketTest, OnlyALittleIsSaved) {
  bucket_.SetRate(1000);
  bucket_time += 3600 * kSecond;
  bucket_.Take(1000);
  EXPECT_EQ(bucket_.Wait(), kSecond - TokenBucket::kBurstNanos);
}

TEST_F(TokenBucketTest, OverALongTimeTheRateIsKept) {
  bucket_.SetRate(1'000'000);
  uint64_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    bucket_.Take(64 * 1024);
    taken += 64 * 1024;
    bucket_time += bucket_.Wait();
  }
  const double seconds = static_cast<double>(bucket_time - kStart) / kSecond;
  EXPECT_NEAR(static_cast<double>(taken) / seconds, 1e6, 1e4);
}

TEST_F(TokenBucketTest, NoDebtStopsWorkForGood) {
  bucket_.SetRate(1);
  for (int i = 0; i < 10; ++i) bucket_.Take(~0ull);
  EXPECT_EQ(bucket_.Wait(), TokenBucket::kMostDebtNanos);
  bucket_time += TokenBucket::kMostDebtNanos;
  EXPECT_EQ(bucket_.Wait(), 0u);
}

TEST_F(TokenBucketTest, AnotherRateForgetsTheDebt) {
  bucket_.SetRate(1);
  bucket_.Take(100);
  EXPECT_NE(bucket_.Wait(), 0u);
  bucket_.SetRate(1000);
  EXPECT_EQ(bucket_.Wait(), 0u);
  bucket_.Take(1000);
  bucket_.SetRate(0);
  EXPECT_EQ(bucket_.Wait(), 0u);
}

}  // namespace
}  // namespace braid::base
