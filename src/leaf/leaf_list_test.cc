// Leaves on their own: what damage to any of their bytes gives, and what is reused when.
#include "leaf/leaf_list.h"

#include <gtest/gtest.h>

#include "base/epoch.h"
#include "level/manifest.h"
#include "log/entry_heap.h"
#include "support/test_pool.h"

namespace braid::leaf {
namespace {

class LeafListTest : public ::testing::Test {
 protected:
  LeafListTest() {
    usage_ = std::make_unique<pool::ChunkUsage>(1024);
    heap_ = std::make_unique<log::EntryHeap>(pool_.get(), usage_.get(), 1);
    list_ = std::make_unique<LeafList>(pool_.get(), SpanSkipList::Limits{}, true);
  }
  ~LeafListTest() override {
    LeafList::Forget(list_->TakeGarbage());
    list_.reset();
  }

  LeafItem Entry(const std::string& key) {
    log::PendingEntry pending;
    pending.key = key;
    pending.value = "value";
    pending.key_hash = base::Hash64(key);
    EXPECT_TRUE(heap_->Reserve(0, &pending, pool::AllocationClass::kWrite).ok());
    heap_->Write(&pending, ++sequence_);
    return {pending.offset, pending.key_hash};
  }
  /// A leaf with some keys, the only one of the list.
  LeafNode* OneLeaf() {
    std::vector<LeafPlan> plans(1);
    for (const char* key : {"a", "b", "c", "d", "e"}) plans[0].items.push_back(Entry(key));
    EXPECT_TRUE(list_->Replace(list_->head(), {}, plans, pool::AllocationClass::kWrite).ok());
    return list_->head()->next.load();
  }

  test::TestPool pool_{[](pool::PmemPool* fresh) {
    LeafList::Create(fresh);
    return level::Manifest(fresh).Create();
  }};
  std::unique_ptr<pool::ChunkUsage> usage_;
  std::unique_ptr<log::EntryHeap> heap_;
  std::unique_ptr<LeafList> list_;
  uint64_t sequence_ = 0;
};

TEST_F(LeafListTest, EveryFlippedBitOfALeafThatMattersIsSeen) {
  LeafNode* node = OneLeaf();
  ASSERT_TRUE(list_->CheckLeaf(node->offset).ok());
  auto* bytes = reinterpret_cast<uint8_t*>(pool_->At(node->offset));
  const size_t used = format::Leaf::kHeaderBytes + 5 * sizeof(format::LeafSlot);
  for (size_t bit = 0; bit < 8 * used; ++bit) {
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    const auto* leaf = pool_->As<format::Leaf>(node->offset);
    const bool seen =
        !list_->CheckLeaf(node->offset).ok() || !format::LeafPtr{leaf->next}.IsValid();
    EXPECT_TRUE(seen) << "bit " << bit;
    bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
  ASSERT_TRUE(list_->CheckLeaf(node->offset).ok());
}

TEST_F(LeafListTest, ALeafInAnothersPlaceIsSeen) {
  LeafNode* node = OneLeaf();
  const uint64_t other = node->offset + sizeof(format::Leaf);
  pool_->ops().Copy(pool_->At(other), pool_->At(node->offset), sizeof(format::Leaf));
  EXPECT_FALSE(list_->CheckLeaf(other).ok());
  EXPECT_FALSE(list_->CheckLeaf(node->offset + 8).ok());
  EXPECT_FALSE(list_->CheckLeaf(pool_->pool_bytes() + 64).ok());
}

TEST_F(LeafListTest, AReaderThatCameBeforeAChangeLooksAgain) {
  LeafNode* node = OneLeaf();
  const base::EpochGuard guard;
  LeafView view;
  ASSERT_TRUE(list_->View(*node, &view).ok());
  EXPECT_EQ(view.entries.size(), 5u);
  EXPECT_EQ(list_->Find(*node, "c", base::Hash64("c")).state, LeafLookup::State::kFound);
  {
    const std::lock_guard lock(node->mutex);
    list_->Commit(node, node->bitmap.load() & ~4ull);
  }
  EXPECT_NE(node->version.load(), view.version);
  EXPECT_EQ(list_->Find(*node, "c", base::Hash64("c")).state, LeafLookup::State::kAbsent);
  const std::lock_guard lock(list_->head()->mutex);
  {
    const std::lock_guard node_lock(node->mutex);
    ASSERT_TRUE(list_->Replace(list_->head(), {node}, {}, pool::AllocationClass::kWrite).ok());
  }
  EXPECT_EQ(list_->Find(*node, "a", base::Hash64("a")).state, LeafLookup::State::kRetry);
  EXPECT_EQ(list_->head()->next.load(), nullptr);
}

TEST_F(LeafListTest, AReplacedLeafIsUsedAnewOnlyWhenItIsReleased) {
  LeafNode* node = OneLeaf();
  const uint64_t free_before = list_->free_leaves();
  {
    const std::lock_guard head_lock(list_->head()->mutex);
    const std::lock_guard lock(node->mutex);
    ASSERT_TRUE(list_->Replace(list_->head(), {node}, {}, pool::AllocationClass::kWrite).ok());
  }
  EXPECT_EQ(list_->free_leaves(), free_before);
  EXPECT_EQ(list_->garbage_leaves(), 1u);
  LeafList::Garbage garbage = list_->TakeGarbage();
  base::SynchronizeEpoch();
  list_->Release(std::move(garbage));
  EXPECT_EQ(list_->free_leaves(), 0u) << "the chunk held no other leaf, and is free";
  EXPECT_EQ(list_->leaves(), 0u);
}

}  // namespace
}  // namespace braid::leaf
