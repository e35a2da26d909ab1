// The upper levels over leaves: what searches find, how high they grow, how ranges follow the keys.
#include "leaf/span_skiplist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/epoch.h"
#include "base/random.h"

namespace braid::leaf {
namespace {

/// A list of leaves that hold nothing, and its upper levels.
class SpanSkipListTest : public ::testing::Test {
 protected:
  void Make(const SpanSkipList::Limits& limits) {
    head_ = new LeafNode("", 0);
    leaves_ = {head_};
    upper_ = std::make_unique<SpanSkipList>(head_, limits);
  }
  ~SpanSkipListTest() override {
    upper_.reset();
    for (LeafNode* leaf : leaves_) leaf->Unref();
    for (LeafNode* leaf : gone_) leaf->Unref();
  }

  LeafNode* Search(const std::string& key) {
    const base::EpochGuard guard;
    SpanSkipList::Raises raises;
    LeafNode* found = upper_->Find(key, &raises);
    if (raises.count != 0) upper_->Raise(key, raises);
    return found;
  }
  /// A leaf that begins at `low`, made as a split makes it: two in the place of one.
  void Split(const std::string& low) {
    LeafNode* old = Search(low);
    if (old->low == low) return;
    auto* left = new LeafNode(old->low, 64);
    auto* right = new LeafNode(low, 64);
    const bool is_head = old == head_;
    Replace(is_head ? std::vector<LeafNode*>{} : std::vector<LeafNode*>{old},
            is_head ? std::vector<LeafNode*>{right} : std::vector<LeafNode*>{left, right});
    if (is_head) left->Unref();
  }
  void Remove(const std::string& low) {
    LeafNode* old = Search(low);
    if (old->low == low && old != head_) Replace({old}, {});
  }
  /// Leaves behind the one before `old`, or before `made`.
  void Replace(const std::vector<LeafNode*>& old, const std::vector<LeafNode*>& made) {
    const std::string& low = old.empty() ? made.front()->low : old.front()->low;
    const auto at = std::partition_point(leaves_.begin(), leaves_.end(), [&](const LeafNode* leaf) {
      return leaf->offset == 0 || leaf->low < low;
    });
    LeafNode* before = *(at - 1);
    const auto end = at + static_cast<ptrdiff_t>(old.size());
    LeafNode* behind = end == leaves_.end() ? nullptr : *end;
    for (size_t i = 0; i < made.size(); ++i) {
      made[i]->next.store(i + 1 < made.size() ? made[i + 1] : behind);
    }
    for (LeafNode* leaf : old) leaf->replaced.store(true);
    before->next.store(made.empty() ? behind : made.front());
    upper_->Replace(before, old, made);
    gone_.insert(gone_.end(), old.begin(), old.end());
    const auto place = leaves_.erase(at, end);
    leaves_.insert(place, made.begin(), made.end());
  }
  /// The rightmost leaf that begins at or before `key`.
  LeafNode* Expected(const std::string& key) const {
    LeafNode* found = head_;
    for (LeafNode* leaf : leaves_) {
      if (leaf->low <= key) found = leaf;
    }
    return found;
  }
  LeafNode* SearchBefore(const std::string& key) {
    const base::EpochGuard guard;
    return upper_->FindBefore(key);
  }
  LeafNode* ExpectedBefore(const std::string& key) const {
    LeafNode* found = head_;
    for (LeafNode* leaf : leaves_) {
      if (leaf->low < key) found = leaf;
    }
    return found;
  }
  static std::string Key(uint64_t number) {
    char text[24];
    std::snprintf(text, sizeof text, "user%010llu", static_cast<unsigned long long>(number));
    return text;
  }
  void ExpectSound() {
    for (const std::string& problem : upper_->Check()) ADD_FAILURE() << problem;
  }

  LeafNode* head_ = nullptr;
  std::vector<LeafNode*> leaves_;
  std::vector<LeafNode*> gone_;
  std::unique_ptr<SpanSkipList> upper_;
};

TEST_F(SpanSkipListTest, FindsWhatAPlainSearchFindsWhateverComesAndGoes) {
  for (const bool divide : {true, false}) {
    SpanSkipList::Limits limits;
    limits.ranges = 5;
    limits.divide = divide;
    limits.leaves_a_range = 16;
    if (upper_ == nullptr) Make(limits);
    Random random(divide ? 3 : 4);
    for (int step = 0; step < 4000; ++step) {
      // First mostly more leaves, then mostly fewer.
      const std::string key = Key(random.Uniform(600));
      if (random.Uniform(10) < (step < 2000 ? 2u : 8u)) {
        Remove(key);
      } else {
        Split(key);
      }
      const std::string wanted = Key(random.Uniform(600)) + (random.OneIn(2) ? "x" : "");
      ASSERT_EQ(Search(wanted), Expected(wanted)) << "step " << step;
      const std::string exact =
          random.OneIn(20) ? std::string() : leaves_[random.Uniform(leaves_.size())]->low;
      ASSERT_EQ(SearchBefore(exact), ExpectedBefore(exact)) << "step " << step;
      if (step % 200 == 0) ExpectSound();
    }
    ExpectSound();
  }
}

TEST_F(SpanSkipListTest, SearchesAreShortWithoutAnyChance) {
  SpanSkipList::Limits limits;
  limits.divide = false;
  Make(limits);
  for (uint64_t i = 1; i <= 3000; ++i) Split(Key(i));
  ExpectSound();
  // A tower's level has at most one node for each of the level below that is passed, and at least
  // one for so many as the span allows.
  EXPECT_GE(upper_->nodes(), 3000u / 8);
  EXPECT_LE(upper_->nodes(), 3000u);
  SpanSkipList::Raises raises;
  const base::EpochGuard guard;
  uint64_t asked = 0;
  for (uint64_t i = 1; i <= 3000; ++i) {
    raises.count = 0;
    (void)upper_->Find(Key(i), &raises);
    asked += static_cast<uint64_t>(raises.count);
  }
  EXPECT_LT(asked, 3000u / 4) << "most searches find nothing to raise";
}

TEST_F(SpanSkipListTest, RangesFollowClusteredKeysAndGoWithThem) {
  SpanSkipList::Limits limits;
  limits.ranges = 4;
  limits.leaves_a_range = 64;
  Make(limits);
  for (uint64_t i = 1; i <= 2000; ++i) Split(Key(i));  // all of them in one of four ranges
  EXPECT_GE(upper_->ranges(), 12u);
  ExpectSound();
  for (uint64_t i = 1; i <= 2000; ++i) Remove(Key(i));
  EXPECT_LE(upper_->ranges(), 8u);
  EXPECT_GE(upper_->ranges(), 4u);
  ExpectSound();
  EXPECT_EQ(Search(Key(77)), head_);
}

TEST_F(SpanSkipListTest, StaticRangesStayWhatTheyAre) {
  SpanSkipList::Limits limits;
  limits.ranges = 4;
  limits.divide = false;
  Make(limits);
  const std::vector<std::string> lows = upper_->RangeLows();
  EXPECT_EQ(lows, (std::vector<std::string>{"", "\x40", "\x80", "\xc0"}));
  for (uint64_t i = 1; i <= 1000; ++i) Split(Key(i));
  EXPECT_EQ(upper_->RangeLows(), lows);
  EXPECT_EQ(Search(Key(500) + "x"), Expected(Key(500)));
}

}  // namespace
}  // namespace braid::leaf
