// Tests that other threads may use the media while it grows.
#include "media/file_media.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

namespace braid::media {
namespace {

TEST(FileMediaTest, OtherThreadsSyncAndLookWhileASegmentIsAdded) {
  constexpr uint64_t kSegmentBytes = 64 << 10;
  constexpr uint64_t kSegments = 200;
  const char* base = std::getenv("BRAID_TMP");
  std::string path = std::string(base != nullptr ? base : "/tmp") + "/braid-media-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  PoolOptions options;
  options.force_media_class = MediaClass::kPage;
  {
    auto opened = OpenFileMedia(path, options, true);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    Media& media = **opened;
    std::atomic<bool> stop{false};
    std::atomic<bool> started{false};
    std::atomic<uint64_t> failures{0};
    std::thread other([&] {
      while (!stop.load()) {
        if (!media.Sync(Site::kOutside).ok()) failures.fetch_add(1);
        const std::vector<uint64_t> sizes = media.segment_bytes();
        for (const uint64_t bytes : sizes) failures.fetch_add(bytes == kSegmentBytes ? 0 : 1);
        // What was there stays where it was.
        if (!sizes.empty() && media.Locate(8) != path + "/segment-000000+0x8") {
          failures.fetch_add(1);
        }
        started.store(true);
      }
    });
    while (!started.load()) std::this_thread::yield();
    for (uint64_t i = 0; i < kSegments; ++i) {
      EXPECT_TRUE(media.AddSegment(kSegmentBytes).ok());
      EXPECT_TRUE(media.PublishSegment().ok());
    }
    stop.store(true);
    other.join();
    EXPECT_EQ(failures.load(), 0u);
    EXPECT_EQ(media.segment_bytes().size(), kSegments);
  }
  std::filesystem::remove_all(path);
}

uint64_t AddressSpaceUsed() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(FileMediaTest, AClosedPoolLeavesNoAddressSpaceBehind) {
  const char* base = std::getenv("BRAID_TMP");
  std::string path = std::string(base != nullptr ? base : "/tmp") + "/braid-media-XXXXXX";
  ASSERT_NE(::mkdtemp(path.data()), nullptr);
  PoolOptions options;
  options.force_media_class = MediaClass::kPage;
  const auto open_and_close = [&] {
    auto opened = OpenFileMedia(path, options, true);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    EXPECT_GE((*opened)->reserved_bytes(), uint64_t{1} << 33);
  };
  open_and_close();
  const uint64_t before = AddressSpaceUsed();
  ASSERT_GT(before, 0u);
  for (int i = 0; i < 20; ++i) open_and_close();
  EXPECT_LT(AddressSpaceUsed(), before + (uint64_t{1} << 30));
  std::filesystem::remove_all(path);
}

}  // namespace
}  // namespace braid::media
