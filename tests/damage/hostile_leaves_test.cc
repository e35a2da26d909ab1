// Pools of leaves made by hand, with valid checks: leaves in circles and out of order, slots that
// name an entry twice, or none. Each opens with an error or answers as far as it can, and is
// salvaged.
#include <functional>

#include "fuzz/fuzz_common.h"
#include "fuzz/pool_surgery.h"
#include "repair/salvage.h"
#include "support/child_process.h"
#include "support/database.h"

namespace braid::test {
namespace {

using engine::Engine;
using format::Leaf;
using format::LeafPtr;
using fuzz::PoolBytes;
using fuzz::PoolSurgery;

constexpr unsigned kLeavesSeconds = 20;
constexpr int kLeafKeys = 200;

std::string LeafKey(int i) { return "key" + std::to_string(1000 + i); }

Result<std::shared_ptr<Engine>> OpenLeaves(fuzz::PoolMemory* memory, uint8_t how) {
  return design::kNvSkipList.open(fuzz::FuzzOptions(how, design::kNvSkipList),
                                  fuzz::MediaFor(memory, how));
}

/// All that an application does; the first error. Keys must come in their order, once.
Status UseLeaves(Engine* engine) {
  Status first;
  const auto note = [&](const Status& status) {
    if (!status.ok() && first.ok()) first = status;
  };
  const auto scan = [&](bool forward) {
    const auto it = engine->NewIterator({});
    std::optional<std::string> last;
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid();
         forward ? it->Next() : it->Prev()) {
      const std::string key(it->key());
      if (last && (forward ? key <= *last : key >= *last)) std::abort();
      last = key;
    }
    note(it->status());
  };
  VerifyReport report;
  note(engine->Verify(&report, {}));
  scan(true);
  scan(false);
  std::string value;
  for (int i = 0; i < kLeafKeys; ++i) {
    const Status got = engine->Get({}, LeafKey(i), &value);
    if (!got.IsNotFound()) note(got);
  }
  for (int i = 0; i < kLeafKeys; i += 3) note(engine->Delete({}, LeafKey(i)));
  for (int i = 0; i < kLeafKeys; i += 2) note(engine->Put({}, LeafKey(i), "new"));
  note(engine->Compact());
  scan(true);
  note(engine->Close());
  return first;
}

class HostileLeavesTest : public ::testing::Test {
 protected:
  void Build(bool close) {
    fuzz::PoolMemory memory;
    memory.set_limit(fuzz::kMaxFuzzPool);
    auto engine = OpenLeaves(&memory, 0);
    ASSERT_TRUE(IsOk(engine.status()));
    for (int i = 0; i < kLeafKeys; ++i) {
      ASSERT_TRUE(IsOk((*engine)->Put({}, LeafKey(i * 7 % kLeafKeys), "value")));
    }
    if (close) {
      ASSERT_TRUE(IsOk((*engine)->Close()));
    }
    pool_ = memory.Save();
  }
  /// The leaves in the order of the list.
  static std::vector<uint64_t> InOrder(PoolSurgery* at) {
    std::vector<uint64_t> leaves;
    LeafPtr link{*at->As<uint64_t>(format::kLeafHeadOffset)};
    while (!link.IsEnd() && leaves.size() < 100) {
      leaves.push_back(link.offset());
      link = LeafPtr{at->As<Leaf>(link.offset())->next};
    }
    return leaves;
  }
  /// What `change` makes of the pool, closed and as a process leaves it that dies.
  void ExpectCorruption(const std::function<void(PoolSurgery*, std::vector<uint64_t>)>& change) {
    for (const bool close : {true, false}) {
      Build(close);
      if (HasFatalFailure()) return;
      PoolSurgery surgery(&pool_.bytes, pool_.segments);
      const std::vector<uint64_t> leaves = InOrder(&surgery);
      ASSERT_GE(leaves.size(), 3u);
      change(&surgery, leaves);
      const ChildOutcome outcome = RunInChild(kLeavesSeconds, [&](int fd) { return Run(fd); });
      EXPECT_EQ(outcome.exit_code, 0) << (close ? "closed: " : "open: ") << outcome.ToString();
    }
  }
  int Run(int fd) const {
    bool all = true;
    for (const uint8_t how : {uint8_t{0}, fuzz::kVerifyFull, fuzz::kNoChecksums}) {
      fuzz::PoolMemory memory;
      memory.Load(pool_);
      memory.set_limit(pool_.bytes.size() + (128u << 10));
      auto salvage = repair::Salvage::Read(
          media::PoolImage::OfMemory(memory.base(), memory.segments()), {}, fuzz::kFuzzBoot);
      // Every entry is intact, whatever leaves say of them.
      if (!salvage.ok() || (*salvage)->records() == 0) all = false;
      auto engine = OpenLeaves(&memory, how);
      const Status status = engine.ok() ? UseLeaves(engine->get()) : engine.status();
      SayTo(fd, status.ToString() + "; ");
      all = all && (status.IsCorruption() || (how & fuzz::kNoChecksums) != 0);
    }
    return all ? 0 : 1;
  }

  PoolBytes pool_;
};

TEST_F(HostileLeavesTest, AnUnchangedPoolGivesNoError) {
  Build(true);
  PoolSurgery surgery(&pool_.bytes, pool_.segments);
  // The control: what these tests seal is what the store expects.
  for (const uint64_t leaf : surgery.Leaves()) surgery.SealLeaf(leaf);
  fuzz::PoolMemory memory;
  memory.Load(pool_);
  memory.set_limit(pool_.bytes.size() + (128u << 10));
  auto engine = OpenLeaves(&memory, 0);
  ASSERT_TRUE(IsOk(engine.status()));
  EXPECT_TRUE(IsOk(UseLeaves(engine->get())));
}

TEST_F(HostileLeavesTest, ACircleOfLeavesIsCorruption) {
  ExpectCorruption([](PoolSurgery* at, const std::vector<uint64_t>& leaves) {
    at->As<Leaf>(leaves.back())->next = LeafPtr::To(leaves[1]).raw;
  });
}

TEST_F(HostileLeavesTest, LeavesOutOfOrderAreCorruption) {
  ExpectCorruption([](PoolSurgery* at, const std::vector<uint64_t>& leaves) {
    // The first two change places: by what they hold, or by their links.
    auto* first = at->As<Leaf>(leaves[0]);
    auto* second = at->As<Leaf>(leaves[1]);
    std::swap(first->commit, second->commit);
    std::swap_ranges(first->slots, first->slots + format::kLeafSlots, second->slots);
    at->SealLeaf(leaves[0]);
    at->SealLeaf(leaves[1]);
  });
}

TEST_F(HostileLeavesTest, AnEntryThatIsNamedTwiceIsCorruption) {
  ExpectCorruption([](PoolSurgery* at, const std::vector<uint64_t>& leaves) {
    auto* leaf = at->As<Leaf>(leaves[1]);
    uint64_t bits = leaf->commit & format::kLeafBitmapMask;
    const auto one = static_cast<size_t>(std::countr_zero(bits));
    bits &= bits - 1;
    leaf->slots[std::countr_zero(bits)] = leaf->slots[one];
    at->SealLeaf(leaves[1]);
  });
}

TEST_F(HostileLeavesTest, ALeafFullOfOneKeyIsCorruptionAndIsNotDividedForever) {
  ExpectCorruption([](PoolSurgery* at, const std::vector<uint64_t>& leaves) {
    auto* leaf = at->As<Leaf>(leaves[1]);
    const auto one = std::countr_zero(leaf->commit & format::kLeafBitmapMask);
    std::fill_n(leaf->slots, format::kLeafSlots, format::LeafSlot{leaf->slots[one]});
    leaf->commit |= format::kLeafBitmapMask;
    at->SealLeaf(leaves[1]);
  });
}

TEST_F(HostileLeavesTest, ASlotThatNamesNoEntryIsCorruption) {
  for (const uint64_t target : {uint64_t{0}, uint64_t{4096}, format::kOffsetMask & ~uint64_t{7}}) {
    ExpectCorruption([&](PoolSurgery* at, const std::vector<uint64_t>& leaves) {
      auto* leaf = at->As<Leaf>(leaves[1]);
      const uint64_t bits = leaf->commit & format::kLeafBitmapMask;
      leaf->slots[std::countr_zero(bits)].entry = PoolSurgery::LinkTo(target);
      at->SealLeaf(leaves[1]);
    });
  }
}

/// A pool whose image is not believed is read leaf by leaf; what is written then is found again.
TEST_F(HostileLeavesTest, AnImageWithNumbersNearTheirLimitsIsNotBelieved) {
  constexpr size_t kNextChunk = 1;
  for (const size_t number : {size_t{0}, kNextChunk}) {
    for (const uint64_t value : {~uint64_t{0}, ~uint64_t{0} - 1, format::kMaxSequence + 1}) {
      Build(true);
      if (HasFatalFailure()) return;
      PoolSurgery surgery(&pool_.bytes, pool_.segments);
      ASSERT_NE(surgery.LeafImage(), nullptr);
      surgery.LeafImage()[number] = value;
      surgery.SealLeafImage();
      fuzz::PoolMemory memory;
      memory.Load(pool_);
      memory.set_limit(pool_.bytes.size() + (128u << 10));
      {
        auto engine = OpenLeaves(&memory, 0);
        ASSERT_TRUE(IsOk(engine.status()));
        EXPECT_TRUE(IsOk((*engine)->Put({}, LeafKey(kLeafKeys), "new"))) << number;
      }
      auto engine = OpenLeaves(&memory, fuzz::kVerifyFull);
      ASSERT_TRUE(IsOk(engine.status())) << number << ": " << value;
      std::string found;
      EXPECT_TRUE(IsOk((*engine)->Get({}, LeafKey(kLeafKeys), &found)));
      EXPECT_EQ(found, "new");
    }
  }
}

}  // namespace
}  // namespace braid::test
