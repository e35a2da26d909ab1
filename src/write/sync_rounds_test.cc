#include "write/sync_rounds.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace braid::write {
namespace {

/// How many syncs so many writers need of which the first syncs until all others have come.
int SyncsOf(int count) {
  SyncRounds rounds;
  std::atomic<int> syncs{0};
  std::atomic<int> came{0};
  std::vector<std::thread> writers;
  writers.emplace_back([&] {
    const Status s = rounds.Run([&] {
      syncs.fetch_add(1);
      while (came.load() < count - 1) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      return Status::OK();
    });
    EXPECT_TRUE(s.ok());
  });
  while (syncs.load() == 0) std::this_thread::yield();
  for (int i = 1; i < count; ++i) {
    writers.emplace_back([&] {
      came.fetch_add(1);
      const Status s = rounds.Run([&] {
        syncs.fetch_add(1);
        return Status::OK();
      });
      EXPECT_TRUE(s.ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  return syncs.load();
}

TEST(SyncRoundsTest, OneServesAllWhoCameBeforeItBegan) {
  // The first one's and one for the others, but where one was held up on its way into the call.
  int syncs = SyncsOf(8);
  for (int tries = 0; tries < 100 && syncs != 2; ++tries) syncs = SyncsOf(8);
  EXPECT_EQ(syncs, 2);
}

TEST(SyncRoundsTest, EachCallAloneSyncs) {
  SyncRounds rounds;
  int syncs = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(rounds
                    .Run([&] {
                      ++syncs;
                      return Status::OK();
                    })
                    .ok());
  }
  EXPECT_EQ(syncs, 3);
}

TEST(SyncRoundsTest, AFailureServesNobody) {
  SyncRounds rounds;
  EXPECT_FALSE(rounds.Run([] { return Status::IOError("broken"); }).ok());
  int syncs = 0;
  EXPECT_TRUE(rounds
                  .Run([&] {
                    ++syncs;
                    return Status::OK();
                  })
                  .ok());
  EXPECT_EQ(syncs, 1);
}

}  // namespace
}  // namespace braid::write
