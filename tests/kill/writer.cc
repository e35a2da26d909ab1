#include "writer.h"

#include <signal.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "braid/db.h"
#include "kill_options.h"
#include "oracle.h"

namespace braid::test {
namespace {

class Writer {
 public:
  Writer(std::string pool, int oracle_fd, uint64_t seed, const StoreKind& store, std::string tier)
      : pool_(std::move(pool)),
        tier_(std::move(tier)),
        oracle_(oracle_fd),
        seed_(seed),
        store_(store),
        can_(store.capabilities()) {
    base::activity_board = &oracle_->activities;
  }

  int Run() {
    oracle_.SetStage(Stage::kOpening);
    Options options = KillOptions(seed_, store_);
    if (!tier_.empty()) AddKillTier(seed_, tier_, &options);
    Result<std::unique_ptr<DB>> opened = DB::Open(options, pool_);
    if (!opened.ok()) return Fail("open: " + opened.status().ToString());
    db_ = std::move(opened).value();
    oracle_.SetStage(Stage::kWriting);
    std::vector<std::thread> threads;
    for (uint32_t t = 0; t < kThreads; ++t) threads.emplace_back([this, t] { Write(t); });
    threads.emplace_back([this] { Observe(); });
    threads.emplace_back([this] { Maintain(); });
    for (std::thread& thread : threads) thread.join();
    if (oracle_.stage() == Stage::kFailed) return 1;
    oracle_.SetStage(Stage::kClosing);
    const Status closed = db_->Close();
    if (!closed.ok()) return Fail("close: " + closed.ToString());
    oracle_.SetStage(Stage::kClosed);
    // Stays until it is killed, so that every way to end is a kill.
    for (;;) ::pause();
  }

 private:
  bool Stopped() {
    return oracle_->stop.load(std::memory_order_relaxed) != 0 || oracle_.stage() == Stage::kFailed;
  }
  int Fail(const std::string& what) {
    if (oracle_.stage() != Stage::kFailed) {
      std::strncpy(oracle_->message, what.c_str(), kMessageBytes - 1);
      oracle_.SetStage(Stage::kFailed);
    }
    return 1;
  }

  void Write(uint32_t t) {
    Random random(seed_ * 31 + t);
    std::vector<uint32_t> keys;
    while (!Stopped()) {
      keys.clear();
      const bool batch = can_.atomic_batches && random.OneIn(4);
      const uint64_t count = batch ? random.Between(2, 10) : 1;
      while (keys.size() < count) {
        const auto key = static_cast<uint32_t>(random.Below(kKeysPerThread));
        bool twice = false;
        for (const uint32_t other : keys) twice = twice || other == key;
        if (!twice) keys.push_back(key);
      }
      if (!WriteOnce(t, keys, &random)) return;
      if (random.OneIn(8)) ReadBack(t, keys[0]);
      if (random.OneIn(8) && !Count(static_cast<uint32_t>(random.Below(kCounters)))) return;
    }
  }

  bool WriteOnce(uint32_t t, const std::vector<uint32_t>& keys, Random* random) {
    ThreadState& thread = oracle_->threads[t];
    WriteBatch batch;
    std::optional<std::string> content;
    for (const uint32_t key : keys) {
      KeyState& state = thread.keys[key];
      const uint64_t number = state.issued.load() + 1;
      content = ContentOf(t, key, number);
      if (content) {
        batch.Put(KeyName(t, key), *content);
      } else {
        batch.Delete(KeyName(t, key));
      }
      state.issued.store(number);
      state.pending.store(number);
    }
    WriteOptions options;
    options.sync = random->OneIn(100) && can_.survives_power_loss_on_page_media;
    thread.phase.store(static_cast<uint32_t>(Phase::kSent));
    Status status;
    const bool single = keys.size() == 1;
    if (single && content && random->OneIn(3)) {
      status = Swap(options, t, keys[0], *content, random->OneIn(4));
    } else if (!single || random->OneIn(8)) {
      status = db_->Write(options, batch);
    } else if (content) {
      status = db_->Put(options, KeyName(t, keys[0]), *content);
    } else {
      status = db_->Delete(options, KeyName(t, keys[0]));
    }
    if (!status.ok()) return Fail("write: " + status.ToString()) == 0;
    thread.phase.store(static_cast<uint32_t>(Phase::kAcked));
    for (const uint32_t key : keys) {
      thread.keys[key].acknowledged.store(thread.keys[key].pending.load());
    }
    for (const uint32_t key : keys) thread.keys[key].pending.store(0);
    thread.phase.store(static_cast<uint32_t>(Phase::kIdle));
    oracle_->writes.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  /// Nobody else writes this key, so a swap from what was acknowledged succeeds, and no other does.
  Status Swap(const WriteOptions& options, uint32_t t, uint32_t key, const std::string& desired,
              bool try_wrong) {
    const std::string name = KeyName(t, key);
    const auto current = ContentOf(t, key, oracle_->threads[t].keys[key].acknowledged.load());
    if (try_wrong) {
      const std::string wrong = current.value_or("") + "!";
      const Result<bool> refused = db_->CompareAndSwap(options, name, wrong, "a wrong swap");
      if (!refused.ok()) return refused.status();
      if (refused.value()) return Status::Corruption(name + " was swapped from " + wrong);
    }
    std::optional<Slice> expected;
    if (current) expected = *current;
    const Result<bool> swapped = current ? db_->CompareAndSwap(options, name, expected, desired)
                                         : db_->PutIfAbsent(options, name, desired);
    if (!swapped.ok()) return swapped.status();
    if (!swapped.value()) return Status::Corruption(name + " was not what had been acknowledged");
    oracle_->swaps.fetch_add(1, std::memory_order_relaxed);
    return Status::OK();
  }

  /// Moves a counter on by one, if no other thread does so at that moment.
  bool Count(uint32_t counter) {
    CounterState& state = oracle_->counters[counter];
    std::string value;
    const Status got = db_->Get(CounterName(counter), &value);
    if (!got.ok() && !got.IsNotFound()) return Fail("get: " + got.ToString()) == 0;
    const uint64_t number = got.ok() ? std::strtoull(value.c_str(), nullptr, 10) : 0;
    RaiseTo(&state.observed, number);
    std::optional<Slice> expected;
    if (got.ok()) expected = value;
    const Result<bool> swapped =
        db_->CompareAndSwap(CounterName(counter), expected, std::to_string(number + 1));
    if (!swapped.ok()) return Fail("swap: " + swapped.status().ToString()) == 0;
    if (swapped.value()) {
      state.acknowledged.fetch_add(1);
      oracle_->swaps.fetch_add(1, std::memory_order_relaxed);
    }
    return true;
  }

  void ReadBack(uint32_t t, uint32_t key) {
    const uint64_t number = oracle_->threads[t].keys[key].acknowledged.load();
    const std::optional<std::string> expected = ContentOf(t, key, number);
    std::string value;
    const Status status = db_->Get(KeyName(t, key), &value);
    const bool right = expected ? status.ok() && value == *expected : status.IsNotFound();
    if (!right) {
      Fail("thread " + std::to_string(t) + " does not see its own write " + std::to_string(number) +
           " of " + KeyName(t, key) + ": " + status.ToString() + " " + Printable(value));
    }
  }

  /// What this thread has read must outlive the process: nobody may see what a crash takes back.
  void Observe() {
    Random random(seed_ * 31 + 17);
    std::string value;
    while (!Stopped()) {
      const auto t = static_cast<uint32_t>(random.Below(kThreads));
      const auto key = static_cast<uint32_t>(random.Below(kKeysPerThread));
      const Status status = db_->Get(KeyName(t, key), &value);
      if (status.IsNotFound()) continue;
      if (!status.ok()) {
        Fail("get: " + status.ToString());
        return;
      }
      const uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
      RaiseTo(&oracle_->threads[t].keys[key].observed, number);
    }
  }

  void Maintain() {
    Random random(seed_ * 31 + 18);
    while (!Stopped()) {
      std::this_thread::sleep_for(std::chrono::microseconds(random.Below(8000)));
      const Status status = random.OneIn(2) ? db_->Flush() : db_->Compact();
      if (!status.ok()) {
        Fail("flush or compact: " + status.ToString());
        return;
      }
    }
  }

  const std::string pool_;
  const std::string tier_;  // empty: there is none
  Oracle oracle_;
  const uint64_t seed_;
  const StoreKind& store_;
  const Capabilities can_;
  std::unique_ptr<DB> db_;
};

/// Loads `records` records of 16 and 100 bytes and dies; it reports trouble by its exit code.
int Load(const std::string& pool, uint64_t records) {
  Result<std::unique_ptr<DB>> opened = DB::Open(Options{}, pool);
  if (!opened.ok()) {
    std::fprintf(stderr, "open: %s\n", opened.status().ToString().c_str());
    return 1;
  }
  DB* db = opened.value().get();
  std::vector<std::thread> threads;
  std::atomic<bool> failed{false};
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = t; i < records && !failed; i += kThreads) {
        const Status status = db->Put(LoadedKey(i), LoadedValue(i));
        if (!status.ok()) {
          std::fprintf(stderr, "put: %s\n", status.ToString().c_str());
          failed = true;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (failed) return 1;
  ::raise(SIGKILL);
  return 1;
}

}  // namespace

bool RunWriterIfAsked(int argc, char** argv, int* code) {
  if (argc == 7 && std::strcmp(argv[1], kWriterArgument) == 0) {
    const std::string tier = argv[6];
    const uint64_t store = std::strtoull(argv[5], nullptr, 10);
    Writer writer(argv[2], std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10),
                  tier.empty() ? KillStore(store) : TieredKillStore(store), tier);
    *code = writer.Run();
    return true;
  }
  if (argc == 4 && std::strcmp(argv[1], kLoaderArgument) == 0) {
    *code = Load(argv[2], std::strtoull(argv[3], nullptr, 10));
    return true;
  }
  return false;
}

}  // namespace braid::test
