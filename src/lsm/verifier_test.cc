#include "lsm/verifier.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/store_parts.h"

namespace braid::lsm {
namespace {

class VerifierTest : public ::testing::Test {
 protected:
  VerifierTest() {
    for (int i = 0; i < 50; ++i) parts_.Put("key" + std::to_string(i), "value");
    parts_.Flush();
    parts_.Merge();
    for (int i = 0; i < 20; ++i) parts_.Put("key" + std::to_string(i), "newer");
    parts_.Flush();
    parts_.Put("log", "entry");
  }

  /// All that is found, in one text; empty where nothing is.
  std::string Problems() {
    Verifier verifier = Make();
    EXPECT_TRUE(verifier.CheckTables([] { return false; }));
    verifier.CheckSpace();
    VerifyReport report;
    const Status s = verifier.Report(&report);
    EXPECT_EQ(s.ok(), report.problems.empty()) << s.ToString();
    std::string text;
    for (const std::string& problem : report.problems) text += problem + "\n";
    return text;
  }
  Verifier Make() {
    return Verifier({.pool = parts_.pool.get(),
                     .usage = &parts_.usage,
                     .versions = &parts_.versions,
                     .reclaimer = &parts_.reclaimer,
                     .large_values = &parts_.large_values,
                     .sequence = &parts_.sequence,
                     .open_merges = &parts_.merger.open(),
                     .progress = &progress_});
  }
  /// An entry of the last level.
  format::EntryHeader* EntryOf(std::string_view key) {
    const index::LookupKey lookup{key, base::Hash64(key)};
    const auto found = parts_.versions.Lock().bottom()->Get(lookup, index::ReadView{});
    EXPECT_EQ(found.state, index::LookupResult::State::kFound);
    return parts_.pool->As<format::EntryHeader>(found.value.offset());
  }

  test::StoreParts parts_;
  std::vector<double> shares_;
  const std::function<void(double)> progress_ = [this](double share) { shares_.push_back(share); };
};

TEST_F(VerifierTest, ASoundStoreHasNoProblems) {
  EXPECT_EQ(Problems(), "");
  ASSERT_FALSE(shares_.empty());
  EXPECT_TRUE(std::is_sorted(shares_.begin(), shares_.end()));
  EXPECT_LE(shares_.back(), 1.0);
}

TEST_F(VerifierTest, ADamagedValueIsNamedByItsPlace) {
  auto* value = const_cast<char*>(EntryOf("key30")->value().data());
  parts_.pool->ops().StoreByte(reinterpret_cast<uint8_t*>(value), 'X');
  const std::string problems = Problems();
  EXPECT_NE(problems.find("segment-000000"), std::string::npos) << problems;
  EXPECT_NE(problems.find("entry"), std::string::npos) << problems;
}

TEST_F(VerifierTest, AnEntryThatIsLinkedAndMarkedObsoleteIsAProblemOfItsOwn) {
  parts_.pool->ops().StoreByte(EntryOf("key30")->state_byte(), format::kStateObsolete);
  Verifier verifier = Make();
  EXPECT_TRUE(verifier.CheckTables([] { return false; }));
  EXPECT_TRUE(verifier.links_obsolete());
}

TEST_F(VerifierTest, AChunkThatNobodyOwnsIsFound) {
  format::LogChunkHeader header{};
  header.table_id = 1;
  ASSERT_TRUE(parts_.pool
                  ->AllocateLogChunk(header, format::ChunkKind::kWriteAhead,
                                     pool::AllocationClass::kBackground)
                  .ok());
  EXPECT_NE(Problems(), "");
}

TEST_F(VerifierTest, ARedoChunkThatTheManifestDoesNotNameIsFound) {
  ASSERT_TRUE(parts_.pool->AllocatePlainChunk(format::ChunkKind::kRedo).ok());
  EXPECT_NE(Problems().find("redo"), std::string::npos);
}

TEST_F(VerifierTest, AWrongNumberOfEntriesIsFound) {
  {
    const level::VersionSet::Locked versions = parts_.versions.Lock();
    versions.manifest().FindTable(format::kL1Id)->entries += 1;
  }
  EXPECT_NE(Problems(), "");
}

TEST_F(VerifierTest, AMergeThatIsOpenIsTakenIntoAccount) {
  for (int i = 0; i < 20'000; ++i) parts_.Put("key" + std::to_string(i), "newest");
  parts_.Flush();
  parts_.Merge();
  parts_.stop_merges.store(true);
  EXPECT_FALSE(parts_.merger.Merge(parts_.PlanOfMerge()).ok());
  EXPECT_EQ(parts_.merger.open().size(), 1u);
  EXPECT_EQ(Problems(), "");
}

TEST_F(VerifierTest, ItEndsEarlyWhenTheStoreIsClosed) {
  Verifier verifier = Make();
  EXPECT_FALSE(verifier.CheckTables([] { return true; }));
}

}  // namespace
}  // namespace braid::lsm
