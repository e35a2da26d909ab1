#include "media/memory_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace braid::media {
namespace {

TEST(MemoryBlocksTest, BlocksAreAlignedAndNoTwoOwnersShareOne) {
  std::vector<void*> blocks;
  std::set<void*> distinct;
  for (size_t i = 0; i < 3 * MemoryBlocks::kKept; ++i) {
    if (i % 5 == 0) MemoryBlocks::Prepare(MemoryBlocks::kKept);
    void* block = MemoryBlocks::Take();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 4096, 0u);
    std::memset(block, static_cast<int>(i), MemoryBlocks::kBytes);
    blocks.push_back(block);
    distinct.insert(block);
  }
  EXPECT_EQ(distinct.size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i]);
    EXPECT_EQ(bytes[0], i);
    EXPECT_EQ(bytes[MemoryBlocks::kBytes - 1], i);
    MemoryBlocks::Give(blocks[i]);
  }
}

TEST(MemoryBlocksTest, ABlockThatWasGivenBackIsTakenAgain) {
  MemoryBlocks::Prepare(MemoryBlocks::kKept);
  void* block = MemoryBlocks::Take();
  MemoryBlocks::Give(block);
  EXPECT_EQ(MemoryBlocks::Take(), block);
  MemoryBlocks::Give(block);
}

}  // namespace
}  // namespace braid::media
