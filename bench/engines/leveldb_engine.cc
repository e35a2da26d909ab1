// The adapter for LevelDB.
#if defined(BRAID_HAVE_LEVELDB)

#include <leveldb/cache.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/write_batch.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "bench/engines/leveldb_shaped.h"
#include "bench/harness/process_use.h"

namespace braid::bench {
namespace {

struct LevelDbApi {
  using Db = leveldb::DB;
  using Slice = leveldb::Slice;
  using Batch = leveldb::WriteBatch;
  using Iterator = leveldb::Iterator;
  using ReadOptions = leveldb::ReadOptions;
  using WriteOptions = leveldb::WriteOptions;
  using Status = leveldb::Status;
};

class LevelDbEngine : public KvEngine {
 public:
  std::string name() const override { return "leveldb"; }
  std::string version() const override {
    return std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);
  }
  std::string parameters() const override {
    const bool is_small = write_buffer_bytes_ < size_t{1} << 20;
    const std::string buffer = is_small ? std::to_string(write_buffer_bytes_ >> 10) + " KiB"
                                        : std::to_string(write_buffer_bytes_ >> 20) + " MiB";
    return "write buffer " + buffer + ", 10 bloom bits, 1 GiB block cache, no compression" +
           (sync_ ? ", sync" : "");
  }

  Status Open(const EngineConfig& config) override {
    sync_ = config.sync;
    filter_.reset(leveldb::NewBloomFilterPolicy(10));
    cache_.reset(leveldb::NewLRUCache(size_t{1} << 30));
    leveldb::Options options;
    options.create_if_missing = true;
    if (config.write_buffer_bytes != 0) write_buffer_bytes_ = config.write_buffer_bytes;
    options.write_buffer_size = write_buffer_bytes_;
    options.filter_policy = filter_.get();
    options.block_cache = cache_.get();
    options.compression = leveldb::kNoCompression;
    options.max_open_files = 10'000;
    StartBackgroundThread();
    leveldb::DB* db = nullptr;
    const Status status =
        ConvertStatus<LevelDbApi>(leveldb::DB::Open(options, config.directory, &db));
    db_.reset(db);
    return status;
  }

  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<LevelDbShapedSession<LevelDbApi>>(db_.get(), sync_);
  }

  // LevelDB can't tell whether work is pending, but a manual compaction leaves none behind.
  Status Settle() override {
    db_->CompactRange(nullptr, nullptr);
    return Status::OK();
  }

  EngineCounters Counters() override {
    EngineCounters counters;
    // It writes its files with write(2), and nothing else of this process writes much.
    counters.bytes_written = ProcessWrittenBytes();
    return counters;
  }

  Status Close() override {
    db_.reset();
    cache_.reset();
    filter_.reset();
    return Status::OK();
  }

 private:
  // Started by the first compaction, the thread would inherit the CPU that a worker is pinned to.
  static void StartBackgroundThread() {
    std::atomic<bool> started{false};
    leveldb::Env::Default()->Schedule(
        [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &started);
    while (!started) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  bool sync_ = false;
  size_t write_buffer_bytes_ = size_t{64} << 20;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace

std::unique_ptr<KvEngine> MakeLevelDbEngine() { return std::make_unique<LevelDbEngine>(); }

}  // namespace braid::bench

#endif  // BRAID_HAVE_LEVELDB
