// "I have to guess the size of the map" (lmdbjava#126) and "it can't use more than one device"
// (kvdk#321): a pool grows as it is written, needs no size when it is opened, and may lie on
// several devices.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "support/database.h"
#include "support/region_turns.h"
#include "support/temp_folder.h"

namespace braid::test {
namespace {

namespace fs = std::filesystem;

uint64_t BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

dev_t DeviceOf(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return facts.st_dev;
}

TEST(MapSizeTest, APoolGrowsAThirtyFoldWithoutBeingToldASize) {
  TempFolder folder;
  Options options;
  options.pool.initial_bytes = 8ull << 20;
  const std::string path = folder.Sub("pool");
  auto db = OpenOrFail(options, path);
  ASSERT_NE(db, nullptr);
  const auto other_iterator = db->NewIterator({});  // growing moves nothing that is in use
  const std::string value(64 << 10, 'v');
  for (uint64_t i = 0; i < 4096; ++i) BRAID_ASSERT_OK(db->Put(NumberedKey(i), value));
  EXPECT_GE(db->GetStatistics().pool_bytes, 4096u * value.size());
  BRAID_ASSERT_OK(db->Close());
  db = OpenOrFail({}, path);  // with the size it has, whatever the options of now would make
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(GetText(db.get(), NumberedKey(4095)), value);
  BRAID_EXPECT_OK(db->Put(NumberedKey(4096), value));
}

TEST(SeveralDevicesTest, DataLiesOnEachOfThem) {
  TakeRegionsInTurns();  // as threads on two nodes do; a thread's own region comes first else
  TempFolder memory(Medium::kMemory);
  TempFolder file(Medium::kFile);
  const bool two_devices = DeviceOf(memory.path()) != DeviceOf(file.path());
  RecordProperty("two_devices", two_devices ? 1 : 0);
  Options options;
  options.pool.initial_bytes = 16ull << 20;
  options.pool.regions = 2;
  options.pool.region_paths = {file.Sub("second")};
  options.memtable.bytes = 1ull << 20;
  const std::string path = memory.Sub("pool");
  auto db = OpenOrFail(options, path);
  ASSERT_NE(db, nullptr);
  const uint64_t at_first[] = {BytesIn(path), BytesIn(file.path())};
  Model model;
  for (uint64_t i = 0; i < 40'000; ++i) {
    model[NumberedKey(i)] = std::string(1000, static_cast<char>('a' + i % 26));
    BRAID_ASSERT_OK(db->Put(NumberedKey(i), model[NumberedKey(i)]));
  }
  BRAID_ASSERT_OK(db->Close());
  EXPECT_GT(BytesIn(path), at_first[0]) << "the first region has not grown";
  EXPECT_GT(BytesIn(file.path()), at_first[1]) << "the second region has not grown";
  auto info = DB::Inspect(path);
  ASSERT_TRUE(info.ok()) << info.status().ToString();
  ASSERT_EQ(info->regions.size(), 2u);
  for (const RegionInfo& region : info->regions) EXPECT_LT(region.chunks_free, region.chunks);
  db = OpenOrFail({}, path);  // the pool knows where its regions are
  ASSERT_NE(db, nullptr);
  ExpectContent(db.get(), model);
  ExpectVerified(db.get());
}

}  // namespace
}  // namespace braid::test
