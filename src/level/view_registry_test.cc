// Tests of the registry of views.
#include "level/view_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace braid::level {
namespace {

TEST(ViewRegistryTest, CollectTellsWhatIsAlive) {
  ViewRegistry views;
  const std::atomic<uint64_t> clock{7};
  EXPECT_TRUE(views.Collect().empty());
  {
    const ViewRegistry::Handle snapshot = views.Register(5, nullptr);
    const ViewRegistry::Handle iterator = views.Register(3, &clock);
    const ViewRegistry::Handle another = views.Register(5, &clock);
    EXPECT_EQ(views.Collect(), (index::LiveViews{3, 5, 5}));
    EXPECT_EQ(views.OldestPin(), 7u);
  }
  EXPECT_TRUE(views.Collect().empty());
}

/// Threads that live until this goes, so that a thread made later has another shard.
class IdleThreads {
 public:
  explicit IdleThreads(size_t count) {
    std::atomic<size_t> ready{0};
    for (size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this, &ready] {
        base::ThreadSlot();
        ++ready;
        while (!ends_) std::this_thread::yield();
      });
    }
    while (ready < count) std::this_thread::yield();
  }
  ~IdleThreads() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> ends_{false};
  std::vector<std::thread> threads_;
};

TEST(ViewRegistryTest, ANumberThatMovesToAnotherShardIsNotMissed) {
  constexpr uint64_t kViews = 32;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  ViewRegistry views;
  // A look goes over the shards in order: the numbers move from a late one to an early one.
  std::vector<ViewRegistry::Handle> from(kViews);
  std::atomic<int> turn{0};
  std::atomic<bool> ends{false};
  std::atomic<uint64_t> missed{0};
  std::atomic<uint64_t> looks{0};
  std::optional<IdleThreads> idle(std::in_place, 14 - base::ThreadSlot() % 16 % 14);
  std::thread late([&] {
    while (!ends) {
      if (turn == 1) {
        for (uint64_t i = 0; i < kViews; ++i) from[i] = views.Register(i + 1, nullptr);
        turn = 2;
      }
    }
  });
  std::thread collector([&] {
    while (!ends) {
      if (turn != 2) continue;
      const size_t seen = views.Collect().size();
      if (turn != 2) continue;  // what it saw may be of another turn
      ++looks;
      missed += seen < kViews ? 1 : 0;
    }
  });
  idle.reset();
  while (std::chrono::steady_clock::now() < end) {
    turn = 1;
    while (turn != 2) {
    }
    std::vector<ViewRegistry::Handle> to;
    to.reserve(kViews);
    for (uint64_t i = 0; i < kViews; ++i) {
      to.push_back(views.Register(i + 1, nullptr));
      from[i] = ViewRegistry::Handle();
    }
    turn = 3;
  }
  ends = true;
  late.join();
  collector.join();
  EXPECT_EQ(missed, 0u) << "of " << looks;
}

}  // namespace
}  // namespace braid::level
