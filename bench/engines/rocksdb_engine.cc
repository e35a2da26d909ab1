// The adapter for RocksDB.
#if defined(BRAID_HAVE_ROCKSDB)

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "bench/engines/leveldb_shaped.h"
#include "bench/harness/process_use.h"

namespace braid::bench {
namespace {

struct RocksDbApi {
  using Db = rocksdb::DB;
  using Slice = rocksdb::Slice;
  using Batch = rocksdb::WriteBatch;
  using Iterator = rocksdb::Iterator;
  using ReadOptions = rocksdb::ReadOptions;
  using WriteOptions = rocksdb::WriteOptions;
  using Status = rocksdb::Status;
  using Pinned = rocksdb::PinnableSlice;
};

int BackgroundJobs() { return std::max(2, static_cast<int>(std::thread::hardware_concurrency())); }

rocksdb::Options TunedOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.write_buffer_size = size_t{64} << 20;
  options.max_write_buffer_number = 4;
  options.max_background_jobs = BackgroundJobs();
  options.max_open_files = -1;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  table.block_cache = rocksdb::NewLRUCache(size_t{1} << 30);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

/// Where braid has a tier, RocksDB gets no more DRAM than braid: a quarter for write buffers, the
/// rest for blocks, with filters and indexes among them.
void LimitMemory(uint64_t budget, rocksdb::Options* options) {
  options->max_write_buffer_number = 2;
  options->write_buffer_size = budget / 8;
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10, false));
  table.block_cache = rocksdb::NewLRUCache(budget - budget / 4);
  table.cache_index_and_filter_blocks = true;
  options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
}

class RocksDbEngine : public KvEngine {
 public:
  std::string name() const override { return "rocksdb"; }
  std::string version() const override {
    return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR) + "." +
           std::to_string(ROCKSDB_PATCH);
  }
  std::string parameters() const override {
    return buffers_ + ", 10 bloom bits, no compression, " + std::to_string(BackgroundJobs()) +
           " background jobs" + (sync_ ? ", sync" : "");
  }
  std::string caveat() const override {
    return "Debian's package of RocksDB has asserts compiled in and runs at 1/1.2 to 1/2.2 of the "
           "speed of a release build; if this is it, read the ratios accordingly";
  }

  Status Open(const EngineConfig& config) override {
    sync_ = config.sync;
    StartBackgroundThreads();
    rocksdb::Options options = TunedOptions();
    if (!config.tier_directory.empty()) {
      LimitMemory(config.memory_budget_bytes, &options);
      buffers_ = "2 write buffers and a block cache of " +
                 std::to_string(config.memory_budget_bytes >> 20) + " MiB together";
    }
    rocksdb::DB* db = nullptr;
    const std::string& folder =
        config.tier_directory.empty() ? config.directory : config.tier_directory;
    const Status status = ConvertStatus<RocksDbApi>(rocksdb::DB::Open(options, folder, &db));
    db_.reset(db);
    return status;
  }

  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<LevelDbShapedSession<RocksDbApi>>(db_.get(), sync_);
  }

  Status Settle() override {
    rocksdb::FlushOptions flush;
    flush.wait = true;
    const rocksdb::Status status = db_->Flush(flush);
    if (!status.ok()) return ConvertStatus<RocksDbApi>(status);
    // A finished job may schedule the next one a moment later: ask until the answer stays.
    for (int quiet = 0; quiet < 3;) {
      quiet = Busy() ? 0 : quiet + 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return Status::OK();
  }

  EngineCounters Counters() override {
    // It writes its files with write(2), and nothing else of this process writes much.
    return {std::nullopt, std::nullopt, StallNanos(), ProcessWrittenBytes()};
  }

  Status Close() override {
    if (!db_) return Status::OK();
    const Status status = ConvertStatus<RocksDbApi>(db_->Close());
    db_.reset();
    return status;
  }

 private:
  bool Busy() {
    for (const std::string& property :
         {rocksdb::DB::Properties::kMemTableFlushPending,
          rocksdb::DB::Properties::kCompactionPending, rocksdb::DB::Properties::kNumRunningFlushes,
          rocksdb::DB::Properties::kNumRunningCompactions}) {
      uint64_t value = 0;
      if (db_->GetIntProperty(property, &value) && value > 0) return true;
    }
    return false;
  }

  // The stall time is only told in the text of the statistics, as hours:minutes:seconds.
  std::optional<uint64_t> StallNanos() {
    std::string text;
    if (!db_->GetProperty(rocksdb::DB::Properties::kDBStats, &text)) return std::nullopt;
    const size_t at = text.find("Cumulative stall: ");
    int hours = 0;
    int minutes = 0;
    double seconds = 0;
    if (at == std::string::npos || std::sscanf(text.c_str() + at, "Cumulative stall: %d:%d:%lf",
                                               &hours, &minutes, &seconds) != 3) {
      return std::nullopt;
    }
    return static_cast<uint64_t>((hours * 3600.0 + minutes * 60.0 + seconds) * 1e9);
  }

  // Started by the first flush, the threads would inherit the CPU that a worker is pinned to.
  static void StartBackgroundThreads() {
    rocksdb::Env* env = rocksdb::Env::Default();
    // As RocksDB divides max_background_jobs: a quarter for flushes.
    const int flushes = std::max(1, BackgroundJobs() / 4);
    env->IncBackgroundThreadsIfNeeded(flushes, rocksdb::Env::Priority::HIGH);
    env->IncBackgroundThreadsIfNeeded(std::max(1, BackgroundJobs() - flushes),
                                      rocksdb::Env::Priority::LOW);
    std::atomic<int> started{0};
    for (const auto priority : {rocksdb::Env::Priority::HIGH, rocksdb::Env::Priority::LOW}) {
      env->Schedule([](void* count) { static_cast<std::atomic<int>*>(count)->fetch_add(1); },
                    &started, priority);
    }
    while (started < 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  bool sync_ = false;
  std::string buffers_ = "4 write buffers of 64 MiB, 1 GiB block cache";
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

std::unique_ptr<KvEngine> MakeRocksDbEngine() { return std::make_unique<RocksDbEngine>(); }

}  // namespace braid::bench

#endif  // BRAID_HAVE_ROCKSDB
