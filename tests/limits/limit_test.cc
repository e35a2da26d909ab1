// Limits that nobody meets by chance, each with what refuses it: docs/guide/limitations.md.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "format/manifest.h"
#include "support/child_process.h"
#include "support/database.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

bool Names(const Status& status, const std::string& what) {
  return status.message().find(what) != std::string_view::npos;
}

/// Changes a structure of a closed pool and makes its check fit again.
template <class Structure, class Change>
void ChangeStructure(const std::string& pool, uint64_t place, const Change& change) {
  std::fstream file(pool + "/segment-000000", std::ios::in | std::ios::out | std::ios::binary);
  Structure structure;
  file.seekg(static_cast<std::streamoff>(place));
  file.read(reinterpret_cast<char*>(&structure), sizeof structure);
  change(&structure);
  if constexpr (std::is_same_v<Structure, format::ManifestRecord>) {
    structure.check = format::ManifestCheck(structure, place);
  } else {
    structure.check = format::StructCheck(structure, place);
  }
  file.seekp(static_cast<std::streamoff>(place));
  file.write(reinterpret_cast<const char*>(&structure), sizeof structure);
  ASSERT_TRUE(file.good());
}

TEST(LimitTest, SequenceNumbersThatAreUsedUpEndWritesAndNotReads) {
  TempFolder folder;
  const std::string pool = folder.Sub("pool");
  if (const auto db = OpenOrFail(TinyOptions(), pool)) {
    BRAID_EXPECT_OK(db->Put("old", "v"));
    BRAID_ASSERT_OK(db->Close());
  }
  for (const uint64_t place : format::kManifestOffset) {
    ChangeStructure<format::ManifestRecord>(
        pool, place, [](auto* record) { record->last_sequence = format::kMaxSequence - 1; });
  }
  for (int session = 0; session < 2; ++session) {
    const auto db = OpenOrFail(TinyOptions(), pool);
    ASSERT_NE(db, nullptr);
    if (session == 0) {
      WriteBatch batch;
      batch.Put("a", "v");
      batch.Put("b", "v");
      EXPECT_TRUE(HasCode(db->Write(batch), Status::Code::kIOError)) << "one number, two updates";
      BRAID_EXPECT_OK(db->Put("last", "v"));
    }
    const Status status = db->Put("over", "v");
    EXPECT_TRUE(HasCode(status, Status::Code::kIOError));
    EXPECT_TRUE(Names(status, "used up")) << status.ToString();
    EXPECT_EQ(GetText(db.get(), "old"), "v");
    EXPECT_EQ(GetText(db.get(), "last"), "v");
    EXPECT_EQ(GetText(db.get(), "over"), "(not found)");
    EXPECT_EQ(GetText(db.get(), "a"), "(not found)");
    BRAID_EXPECT_OK(db->Close());
  }
}

TEST(LimitTest, OptionsAtTheirLimitAreTakenAndOneBeyondIsRefusedByName) {
  Options options;
  options.log.shards = 64;
  options.compaction.l0_stop = 56;
  options.pool.chunk_bytes = 64ull << 20;
  options.pool.initial_bytes = 1ull << 30;
  BRAID_EXPECT_OK(options.Validate());
  Options shards = options;
  shards.log.shards = 65;
  EXPECT_TRUE(Names(shards.Validate(), "log.shards")) << shards.Validate().ToString();
  Options stop = options;
  stop.compaction.l0_stop = 57;
  EXPECT_TRUE(Names(stop.Validate(), "l0_stop")) << stop.Validate().ToString();
  Options chunk = options;
  chunk.pool.chunk_bytes *= 2;
  EXPECT_TRUE(Names(chunk.Validate(), "chunk_bytes")) << chunk.Validate().ToString();
}

TEST(LimitTest, APoolOfAnotherDesignOrComparatorIsRefusedByName) {
  for (const bool design : {true, false}) {
    TempFolder folder;
    const std::string pool = folder.Sub("pool");
    if (const auto db = OpenOrFail(TinyOptions(), pool)) {
      BRAID_ASSERT_OK(db->Close());
    }
    for (const uint64_t place : format::kPoolHeaderOffset) {
      ChangeStructure<format::PoolHeader>(pool, place, [&](auto* header) {
        std::snprintf(design ? header->design : header->comparator, sizeof header->design, "other");
      });
    }
    const Status status = DB::Open(TinyOptions(), pool).status();
    EXPECT_TRUE(HasCode(status, Status::Code::kInvalidArgument));
    EXPECT_TRUE(Names(status, "\"other\"")) << status.ToString();
  }
}

TEST(LimitTest, AValueLargerThanThePoolMayGrowIsOutOfSpaceAndChangesNothing) {
  TempFolder folder;
  Options options = TinyOptions();
  options.pool.max_bytes = 4ull << 20;
  const auto db = OpenOrFail(options, folder.Sub("pool"));
  ASSERT_NE(db, nullptr);
  BRAID_ASSERT_OK(db->Put("k", "v"));
  const Status status = db->Put("k", std::string(8u << 20, 'x'));
  EXPECT_TRUE(HasCode(status, Status::Code::kOutOfSpace));
  EXPECT_EQ(GetText(db.get(), "k"), "v");
  BRAID_EXPECT_OK(db->Put("after", "v"));
}

/// Open pools that have taken all ranges of addresses that this process keeps of closed ones.
std::vector<std::unique_ptr<DB>> HoldKeptRanges(const TempFolder& folder) {
  constexpr int kKept = 16;  // media/address_room.cc
  Options options = TinyOptions();
  options.background_threads = false;
  std::vector<std::unique_ptr<DB>> pools;
  for (int i = 0; i < kKept; ++i) {
    pools.push_back(OpenOrFail(options, folder.Sub("held-" + std::to_string(i))));
  }
  return pools;
}

/// Blocks of the heap with as many free ones between them: without, the first allocation that needs
/// a page fails before anybody asks for address space.
std::vector<std::unique_ptr<char[]>> HeapWithRoom() {
  std::vector<std::unique_ptr<char[]>> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(std::make_unique<char[]>(64 << 10));
  for (size_t i = 0; i < blocks.size(); i += 2) blocks[i].reset();
  return blocks;
}

TEST(LimitTest, WithoutAddressSpaceTheOpenSaysWhatToRaise) {
  if (kSanitizer) GTEST_SKIP() << "a sanitizer needs address space of its own";
  TempFolder folder;
  const ChildOutcome outcome = RunInChild(60, [&](int) {
    const auto held = HoldKeptRanges(folder);
    const auto heap = HeapWithRoom();
    const rlimit four_gib{4ull << 30, 4ull << 30};
    if (::setrlimit(RLIMIT_AS, &four_gib) != 0) return 2;
    const Status status = DB::Open(TinyOptions(), folder.Sub("pool")).status();
    if (!status.IsIOError()) return 3;
    return Names(status, "raise the limit on virtual memory") ? 0 : 4;
  });
  EXPECT_EQ(outcome.signal, 0) << outcome.ToString();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

TEST(LimitTest, APoolLargerThanTheAddressRangeIsOutOfSpace) {
  if (kSanitizer) GTEST_SKIP() << "a sanitizer needs address space of its own";
  TempFolder folder;
  const std::string pool = folder.Sub("pool");
  // By a process of its own: one that has closed a pool keeps its range of addresses.
  const ChildOutcome made =
      RunInChild(60, [&](int) { return DB::Open(TinyOptions(), pool).status().ok() ? 0 : 1; });
  ASSERT_EQ(made.exit_code, 0) << made.ToString();
  // Not a byte of it is allocated.
  ASSERT_EQ(::truncate((pool + "/segment-000000").c_str(), off_t{12} << 30), 0);
  const ChildOutcome outcome = RunInChild(60, [&](int fd) {
    const auto held = HoldKeptRanges(folder);
    // Room for a range of 8 GiB beside what the process has taken, but for none of 16 GiB.
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t limit = pages * static_cast<uint64_t>(::getpagesize()) + (12ull << 30);
    const rlimit range{limit, limit};
    if (::setrlimit(RLIMIT_AS, &range) != 0) return 2;
    const Status status = DB::Open(TinyOptions(), pool).status();
    SayTo(fd, status.ToString());
    return status.IsOutOfSpace() && Names(status, "address space") ? 0 : 3;
  });
  EXPECT_EQ(outcome.signal, 0) << outcome.ToString();
  EXPECT_EQ(outcome.exit_code, 0) << outcome.ToString();
}

}  // namespace
}  // namespace braid::test
