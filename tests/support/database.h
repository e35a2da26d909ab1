// Shorthands for tests that open a database and compare it with a std::map.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "braid/db.h"
#include "environment.h"

namespace braid::test {

using Model = std::map<std::string, std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Passes when `status` is ok; otherwise shows it.
inline ::testing::AssertionResult IsOk(const Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.ToString();
}

#define BRAID_EXPECT_OK(expression) EXPECT_TRUE(::braid::test::IsOk((expression)))
#define BRAID_ASSERT_OK(expression) ASSERT_TRUE(::braid::test::IsOk((expression)))

/// Passes when `status` has `code` and a message that a person can act on.
inline ::testing::AssertionResult HasCode(const Status& status, Status::Code code) {
  if (status.code() != code) {
    return ::testing::AssertionFailure()
           << "expected code " << static_cast<int>(code) << ", got " << status.ToString();
  }
  if (code != Status::Code::kOk && code != Status::Code::kNotFound && status.message().empty()) {
    return ::testing::AssertionFailure() << "the error has no message: " << status.ToString();
  }
  return ::testing::AssertionSuccess();
}

/// Tiny memtables and chunks, so that flushes, merges and pool growth happen all the time.
inline Options TinyOptions() {
  Options options;
  options.pool.initial_bytes = 1ull << 20;
  options.pool.chunk_bytes = 16ull << 10;
  options.memtable.bytes = 32ull << 10;
  options.memory_budget_bytes = 64ull << 20;
  options.log.shards = 2;
  options.compaction.batch_entries = 64;
  return options;
}

/// Tiny options drawn from `random`, within the stated limits.
inline Options RandomTinyOptions(Random* random) {
  Options options = TinyOptions();
  options.pool.initial_bytes = 1ull << random->Between(20, 22);
  options.pool.chunk_bytes = 1ull << random->Between(12, 16);
  options.memtable.bytes = random->Between(16, 64) << 10;
  options.memtable.max_immutable = static_cast<uint32_t>(random->Between(1, 4));
  options.compaction.l0_trigger = static_cast<uint32_t>(random->Between(1, 6));
  options.compaction.batch_entries = 1u << random->Between(4, 12);
  options.log.shards = static_cast<uint32_t>(random->Between(0, 6));
  options.verify_checksums = !random->OneIn(4);
  return options;
}

/// The options that matter for a replay, in a line.
inline std::string Describe(const Options& options) {
  return "design=" + options.design + " background=" + (options.background_threads ? "1" : "0") +
         " shards=" + std::to_string(options.log.shards) +
         " initial=" + std::to_string(options.pool.initial_bytes) +
         " chunk=" + std::to_string(options.pool.chunk_bytes) +
         " memtable=" + std::to_string(options.memtable.bytes) +
         " immutable=" + std::to_string(options.memtable.max_immutable) +
         " l0_trigger=" + std::to_string(options.compaction.l0_trigger) +
         " batch=" + std::to_string(options.compaction.batch_entries);
}

/// Opens, or records a failure and returns null.
inline std::unique_ptr<DB> OpenOrFail(const Options& options, const std::string& path) {
  Result<std::unique_ptr<DB>> opened = DB::Open(options, path);
  if (!opened.ok()) {
    ADD_FAILURE() << "open failed: " << opened.status().ToString() << "\n  " << Describe(options);
    return nullptr;
  }
  return std::move(opened).value();
}

/// The value of `key`, "(not found)", or the error as text: for one-line expectations.
inline std::string GetText(DB* db, Slice key, const Snapshot* snapshot = nullptr) {
  ReadOptions options;
  options.snapshot = snapshot;
  std::string value;
  const Status status = db->Get(options, key, &value);
  if (status.ok()) return value;
  return status.IsNotFound() ? "(not found)" : status.ToString();
}

/// Everything a forward scan shows; records a failure when the scan ends in an error.
inline Pairs ScanForward(DB* db, const ReadOptions& options = {}) {
  Pairs pairs;
  const std::unique_ptr<Iterator> it = db->NewIterator(options);
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    pairs.emplace_back(std::string(it->key()), std::string(it->value()));
  }
  EXPECT_TRUE(IsOk(it->status()));
  return pairs;
}

/// Everything a backward scan shows, in ascending order.
inline Pairs ScanBackward(DB* db, const ReadOptions& options = {}) {
  Pairs pairs;
  const std::unique_ptr<Iterator> it = db->NewIterator(options);
  for (it->SeekToLast(); it->Valid(); it->Prev()) {
    pairs.emplace_back(std::string(it->key()), std::string(it->value()));
  }
  EXPECT_TRUE(IsOk(it->status()));
  return {pairs.rbegin(), pairs.rend()};
}

/// Says where `got` first differs from `want`.
template <class Map = Model>  // or the same in another order
::testing::AssertionResult SamePairs(const Pairs& got, const Map& want) {
  auto expected = want.begin();
  for (size_t i = 0; i < got.size(); ++i, ++expected) {
    if (expected == want.end()) {
      return ::testing::AssertionFailure()
             << "entry " << i << " " << Printable(got[i].first) << " should not be there";
    }
    if (got[i].first != expected->first) {
      return ::testing::AssertionFailure() << "entry " << i << ": key " << Printable(got[i].first)
                                           << ", expected " << Printable(expected->first);
    }
    if (got[i].second != expected->second) {
      return ::testing::AssertionFailure()
             << "key " << Printable(got[i].first) << ": value " << Printable(got[i].second)
             << ", expected " << Printable(expected->second);
    }
  }
  if (expected != want.end()) {
    return ::testing::AssertionFailure() << "missing from " << Printable(expected->first) << " on ("
                                         << got.size() << " of " << want.size() << ")";
  }
  return ::testing::AssertionSuccess();
}

/// Scans both ways and gets every key.
template <class Map = Model>
void ExpectContent(DB* db, const Map& want, const Snapshot* snapshot = nullptr) {
  ReadOptions options;
  options.snapshot = snapshot;
  EXPECT_TRUE(SamePairs(ScanForward(db, options), want)) << "forward scan";
  EXPECT_TRUE(SamePairs(ScanBackward(db, options), want)) << "backward scan";
  size_t shown = 0;
  for (const auto& [key, value] : want) {
    const std::string got = GetText(db, key, snapshot);
    if (got != value && ++shown <= 5) {
      ADD_FAILURE() << "get " << Printable(key) << ": " << Printable(got) << ", expected "
                    << Printable(value);
    }
  }
}

/// Runs DB::Verify and shows what it found.
inline void ExpectVerified(DB* db) {
  VerifyReport report;
  const Status status = db->Verify(&report);
  std::string text;
  for (size_t i = 0; i < report.problems.size() && i < 5; ++i) text += "\n  " + report.problems[i];
  EXPECT_TRUE(IsOk(status)) << text;
  EXPECT_TRUE(report.problems.empty()) << text;
}

/// "key00000042"
inline std::string NumberedKey(uint64_t n) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "key%08llu", static_cast<unsigned long long>(n));
  return buffer;
}

}  // namespace braid::test
