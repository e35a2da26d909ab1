// Readers and durability (docs/internals/persistence.md, rule 4): while a write has not passed its
// last fence, nobody sees it. The writer is stopped at its fences, and readers are sent.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <future>
#include <mutex>
#include <thread>

#include "crash/bare_database.h"
#include "crash/workload.h"
#include "media/media.h"
#include "support/store_kind.h"

namespace braid::crash {
namespace {

/// Stops the thread that it is told to watch at each fence until it is let go on.
class Gate final : public media::PersistHook {
 public:
  void BeforeStore(const void*, size_t) override {}
  void AfterStore(const void*, size_t) override {}
  void OnFlush(const void*, size_t) override {}
  void OnFence() override {
    std::unique_lock lock(mutex_);
    if (std::this_thread::get_id() != watched_) return;
    stopped_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !stopped_; });
  }

  void WatchThisThread() {
    const std::lock_guard lock(mutex_);
    watched_ = std::this_thread::get_id();
  }
  /// False when the writer has returned instead.
  bool WaitForFence() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || returned_; });
    return stopped_;
  }
  void GoOn() {
    const std::lock_guard lock(mutex_);
    stopped_ = false;
    changed_.notify_all();
  }
  void Returned() {
    const std::lock_guard lock(mutex_);
    watched_ = {};
    returned_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread::id watched_;
  bool stopped_ = false;
  bool returned_ = false;
};

/// One segment in ordinary memory, behind the gate.
class GatedMedia final : public media::Media {
 public:
  explicit GatedMedia(Gate* gate)
      : memory_(static_cast<char*>(std::aligned_alloc(4096, kBytes))), gate_(gate) {
    std::memset(memory_, 0, kBytes);  // as any new segment
  }
  ~GatedMedia() override { std::free(memory_); }
  char* base() const noexcept override { return memory_; }
  uint64_t reserved_bytes() const noexcept override { return kBytes; }
  MediaClass media_class() const noexcept override { return MediaClass::kCacheLine; }
  bool media_class_forced() const noexcept override { return false; }
  std::vector<uint64_t> segment_bytes() const override { return {}; }
  Status AddSegment(uint64_t bytes) override {
    return bytes <= kBytes ? Status::OK() : Status::OutOfSpace("one segment is all there is");
  }
  Status PublishSegment() override { return Status::OK(); }
  Status SyncAll() override { return Status::OK(); }
  Status DropSegment() override { return Status::OK(); }
  Status SyncPages(uint64_t, uint64_t) override { return Status::OK(); }
  void Prefault(uint64_t, uint64_t) noexcept override {}
  std::string boot_id() const override { return "boot"; }
  std::string Locate(uint64_t offset) const override { return std::to_string(offset); }
  media::PersistHook* hook() noexcept override { return gate_; }

 private:
  static constexpr uint64_t kBytes = 256 << 10;
  char* memory_;
  Gate* gate_;
};

constexpr int kKeys = 8;

std::string KeyOf(int number) { return "key" + std::to_string(number); }

std::unique_ptr<DB> OpenGated(Gate* gate, const test::StoreKind& kind) {
  Options options;
  kind.ApplyTo(&options);
  options.background_threads = false;
  options.pool.chunk_bytes = kChunkBytes;
  options.pool.initial_bytes = 256 << 10;
  options.log.shards = 1;
  Result<std::unique_ptr<DB>> opened = OpenBare(options, std::make_unique<GatedMedia>(gate));
  if (!opened.ok()) {
    ADD_FAILURE() << opened.status().ToString();
    return nullptr;
  }
  for (int i = 0; i < kKeys; ++i) {
    EXPECT_TRUE((*opened)->Put(KeyOf(i), "old").ok());
  }
  return std::move(*opened);
}

/// Runs `write`, and at each of its fences asks for all keys. A reader may wait for the write; if
/// it answers while the fence is not over, the answer must be the old one.
void ExpectNothingIsSeenBeforeItIsDurable(
    const std::function<Status(DB*)>& write,
    const test::StoreKind& kind = test::StoreKinds().front()) {
  SCOPED_TRACE(kind.name);
  Gate gate;
  const std::unique_ptr<DB> db = OpenGated(&gate, kind);
  ASSERT_NE(db, nullptr);
  std::thread writer([&] {
    gate.WatchThisThread();
    EXPECT_TRUE(write(db.get()).ok());
    gate.Returned();
  });
  uint64_t fences = 0;
  while (gate.WaitForFence()) {
    ++fences;
    std::vector<std::future<std::string>> readers;
    for (int i = 0; i < kKeys; ++i) {
      readers.push_back(std::async(std::launch::async, [&db, i] {
        std::string value;
        const Status status = db->Get(KeyOf(i), &value);
        return status.ok() ? value : status.ToString();
      }));
    }
    const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    for (int i = 0; i < kKeys; ++i) {
      std::future<std::string>& reader = readers[static_cast<size_t>(i)];
      if (reader.wait_until(enough) != std::future_status::ready) continue;
      EXPECT_EQ(reader.get(), "old") << KeyOf(i) << " at fence " << fences;
    }
    gate.GoOn();
  }
  writer.join();
  EXPECT_GT(fences, 0u);
  std::string value;
  EXPECT_TRUE(db->Get(KeyOf(0), &value).ok());
  EXPECT_NE(value, "old");
}

TEST(DurableReadTest, APutIsNotSeenBeforeItIsDurable) {
  for (const test::StoreKind& kind : test::StoreKinds()) {
    ExpectNothingIsSeenBeforeItIsDurable([](DB* db) { return db->Put(KeyOf(0), "new"); }, kind);
  }
}

TEST(DurableReadTest, ALargePutIsNotSeenBeforeItIsDurable) {
  for (const test::StoreKind& kind : test::StoreKinds()) {
    ExpectNothingIsSeenBeforeItIsDurable(
        [](DB* db) { return db->Put(KeyOf(0), std::string(2 * kChunkBytes, 'n')); }, kind);
  }
}

TEST(DurableReadTest, ABatchIsNotSeenBeforeItIsDurable) {
  ExpectNothingIsSeenBeforeItIsDurable([](DB* db) {
    WriteBatch batch;
    for (int i = 0; i < kKeys; ++i) batch.Put(KeyOf(i), std::string(1000, 'n'));
    return db->Write(batch);
  });
}

}  // namespace
}  // namespace braid::crash
