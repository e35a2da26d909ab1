// Purpose: the tier as a RocksDB database: runs are written as its tables and taken in as they are,
// one column family with the records, one with what the tier is.
// Thread safety: that of a Store.
// Invariants:
//   1. The number of the newest version, and of the run, are durable before the run is.
// Persistence: RocksDB syncs a table that it takes in, its folder and its manifest, before
// IngestExternalFile returns.
#if defined(BRAID_ROCKSDB_TIER)

#include <rocksdb/cache.h>
#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"
#include "base/no_throw.h"
#include "tier/first_readable.h"
#include "tier/mapped_tables.h"
#include "tier/open_store.h"
#include "tier/rocksdb_tables.h"

namespace braid::tier {

namespace {

constexpr const char* kFactsFamily = "braid";
constexpr const char* kFactsKey = "tier";
constexpr const char* kIncoming = "/incoming";           // folder of runs on their way in
constexpr uint64_t kFactsMagic = 0x3152454954444942ull;  // "BIDTIER1"

/// What the tier is; one record.
struct Facts {
  uint64_t magic;
  uint8_t id[16];
  uint8_t pool_id[16];
  uint64_t newest_sequence;
  uint64_t last_run;
};
static_assert(sizeof(Facts) == 56);

Status StatusOf(const rocksdb::Status& status, const std::string& path) {
  if (status.ok()) return Status::OK();
  const std::string text = "the tier at " + path + ": " + status.ToString();
  if (status.IsCorruption()) return Status::Corruption(text);
  if (status.IsNoSpace()) return Status::OutOfSpace(text);
  if (status.IsMemoryLimit()) return Status::OutOfMemory();
  // RocksDB's lock is held, as its own message says.
  if (status.IsBusy() || text.find("lock") != std::string::npos) return Status::Busy(text);
  return Status::IOError(text);
}

rocksdb::Slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ViewOf(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

/// Deletes go once nothing of what they hide can come back (Store::Settle). RocksDB keeps a mark of
/// its own where it has older versions.
class DropsSettledDeletes final : public rocksdb::CompactionFilter {
 public:
  const char* Name() const override { return "braid.settled-deletes"; }
  bool Filter(int, const rocksdb::Slice&, const rocksdb::Slice& record, std::string*,
              bool*) const override {
    RecordHead head;
    return ReadRecordHead(ViewOf(record), &head) && head.is_delete() &&
           head.run <= settled.load(std::memory_order_acquire);
  }

  std::atomic<uint64_t> settled{0};
};

/// All that is to be gone before the options of its families are, in this order.
struct Database {
  uint64_t cache_bytes = 0;  // of filters, indexes and blocks; 0: tables have theirs at hand
  DropsSettledDeletes filter;
  std::unique_ptr<rocksdb::Env> env;  // or null: that of the process
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::ColumnFamilyHandle* records = nullptr;
  rocksdb::ColumnFamilyHandle* facts = nullptr;

  ~Database() {
    if (db == nullptr) return;
    for (rocksdb::ColumnFamilyHandle* family : {records, facts}) {
      if (family != nullptr) (void)db->DestroyColumnFamilyHandle(family);
    }
    (void)db->Close();
  }
};

/// Of all iterators. Range deletes, of which there are none here, are looked for unless this says
/// not to; then RocksDB before 8.5.2 puts a mark where a level goes from one table into the next,
/// and forgets the error of a next one whose first block is damaged: a walk goes on without that
/// level's keys, and ends as if all were well.
rocksdb::ReadOptions WalkOptions() {
  rocksdb::ReadOptions options;
  options.ignore_range_deletions = true;
  return options;
}

class RocksWalk final : public Walk {
 public:
  RocksWalk(std::shared_ptr<Database> database, const std::string& path)
      : database_(std::move(database)),
        path_(path),
        it_(database_->db->NewIterator(WalkOptions(), database_->records)) {}

  bool Valid() const override { return it_->Valid(); }
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void SeekGE(std::string_view key) override { it_->Seek(SliceOf(key)); }
  void SeekLE(std::string_view key) override { it_->SeekForPrev(SliceOf(key)); }
  void Next() override { it_->Next(); }
  void Prev() override { it_->Prev(); }
  std::string_view key() const override { return ViewOf(it_->key()); }
  std::string_view record() const override { return ViewOf(it_->value()); }
  Status status() const override { return StatusOf(it_->status(), path_); }

 private:
  const std::shared_ptr<Database> database_;  // before it_: must outlive it
  const std::string path_;
  const std::unique_ptr<rocksdb::Iterator> it_;
};

class RocksStore final : public Store {
 public:
  RocksStore(std::shared_ptr<Database> database, const OpenRequest& request, const Facts& facts,
             const rocksdb::Options& options)
      : database_(std::move(database)),
        path_(request.path),
        options_(options),
        facts_(facts),
        newest_(facts.newest_sequence),
        last_run_(facts.last_run) {
    std::copy_n(facts.id, id_.size(), id_.begin());
    std::copy_n(facts.pool_id, pool_id_.size(), pool_id_.begin());
  }

  const Id& id() const noexcept override { return id_; }
  const Id& pool_id() const noexcept override { return pool_id_; }
  Status Ingest(std::span<const RunEntry> run) override;
  /// Ingest has synced all there is but the log, which holds no records.
  Status Sync() override { return StatusOf(database_->db->FlushWAL(true), path_); }
  uint64_t last_run() const noexcept override { return last_run_.load(); }
  void Settle(uint64_t run) noexcept override {
    database_->filter.settled.store(run, std::memory_order_release);
  }
  Status Get(std::string_view key, Found* found) const override;
  bool MayHold(std::string_view key) const noexcept override;
  std::unique_ptr<Walk> NewWalk() const override {
    return std::make_unique<RocksWalk>(database_, path_);
  }
  uint64_t newest_sequence() const noexcept override { return newest_.load(); }
  Sizes sizes() const override;
  uint64_t memory_bytes() const noexcept override;
  bool IsBusy() const noexcept override;
  Status Verify() const override { return StatusOf(database_->db->VerifyChecksum(), path_); }
  Status ForEachReadable(const Take& take, const TellDamage& tell) const override;
  void Close() noexcept override { database_.reset(); }

 private:
  Status WriteRun(const std::string& file, std::span<const RunEntry> run, uint64_t number) const;
  struct Counted {
    uint64_t records = 0;
    uint64_t index_bytes = 0;
  };
  Counted Count() const;
  bool FindReadable(const std::string& behind, std::string* from) const;

  std::shared_ptr<Database> database_;
  const std::string path_;
  const rocksdb::Options options_;  // of the tables of runs
  Facts facts_;
  Id id_{};
  Id pool_id_{};
  std::atomic<uint64_t> newest_;
  std::atomic<uint64_t> last_run_;
  mutable base::Mutex counted_mutex_;
  mutable uint64_t counted_version_ BRAID_GUARDED_BY(counted_mutex_) = ~0ull;  // of RocksDB's files
  mutable Counted counted_ BRAID_GUARDED_BY(counted_mutex_);
};

Status RocksStore::WriteRun(const std::string& file, std::span<const RunEntry> run,
                            uint64_t number) const {
  // Some of it may be read soon: its pages stay in the system's cache, which they leave unless
  // asked not to.
  constexpr bool kLeavesPageCache = false;
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(rocksdb::DBOptions(options_)), options_,
                                nullptr, kLeavesPageCache);
  rocksdb::Status s = writer.Open(file);
  std::string record;
  for (const RunEntry& entry : run) {
    if (!s.ok()) break;
    record.clear();
    AppendRecord(entry.sequence, entry.is_delete, number, entry.value, &record);
    s = writer.Put(SliceOf(entry.key), record);
  }
  if (s.ok()) s = writer.Finish();
  return StatusOf(s, path_);
}

Status RocksStore::Ingest(std::span<const RunEntry> run) {
  Facts next = facts_;
  ++next.last_run;
  for (const RunEntry& entry : run) {
    next.newest_sequence = std::max(next.newest_sequence, entry.sequence);
  }
  rocksdb::WriteOptions synced;
  synced.sync = true;
  const rocksdb::Slice facts(reinterpret_cast<const char*>(&next), sizeof next);
  Status s = StatusOf(database_->db->Put(synced, database_->facts, kFactsKey, facts), path_);
  if (!s.ok()) return s;
  facts_ = next;
  newest_.store(next.newest_sequence);
  const std::string file = path_ + kIncoming + "/" + std::to_string(next.last_run) + ".sst";
  s = WriteRun(file, run, next.last_run);
  if (s.ok()) {
    rocksdb::IngestExternalFileOptions options;
    options.move_files = true;
    options.failed_move_fall_back_to_copy = true;
    s = StatusOf(database_->db->IngestExternalFile(database_->records, {file}, options), path_);
  }
  if (s.ok()) last_run_.store(next.last_run);
  std::error_code ignored;
  std::filesystem::remove(file, ignored);  // the database has a link of its own
  return s;
}

Status RocksStore::Get(std::string_view key, Found* found) const {
  std::string record;
  const rocksdb::Status s =
      database_->db->Get(rocksdb::ReadOptions(), database_->records, SliceOf(key), &record);
  if (s.IsNotFound()) return Status::OK();
  if (!s.ok()) return StatusOf(s, path_);
  if (found->Take(std::move(record))) return Status::OK();
  return Status::Corruption("the tier at " + path_ + ": a record has a wrong kind or size");
}

bool RocksStore::MayHold(std::string_view key) const noexcept {
  std::string unused;
  return database_->db->KeyMayExist(rocksdb::ReadOptions(), database_->records, SliceOf(key),
                                    &unused);
}

/// Where reading goes on behind damage that lies behind this key: about the first key that it does
/// not hide. False: nowhere.
bool RocksStore::FindReadable(const std::string& behind, std::string* from) const {
  const auto is_readable = [this](const std::string& key) {
    const std::unique_ptr<rocksdb::Iterator> it(
        database_->db->NewIterator(WalkOptions(), database_->records));
    it->Seek(key);
    return it->status().ok();
  };
  // What is damaged is a part of a table; behind its last key it is in nobody's way.
  rocksdb::ColumnFamilyMetaData tables;
  database_->db->GetColumnFamilyMetaData(database_->records, &tables);
  std::vector<std::string> ends;
  for (const rocksdb::LevelMetaData& level : tables.levels) {
    for (const rocksdb::SstFileMetaData& table : level.files) {
      if (table.largestkey >= behind) ends.push_back(table.largestkey + std::string(1, '\0'));
    }
  }
  std::sort(ends.begin(), ends.end());
  std::string hidden = behind;
  for (const std::string& end : ends) {
    if (end <= hidden) continue;
    if (!is_readable(end)) {
      hidden = end;
      continue;
    }
    *from = FirstReadable(hidden, end, is_readable);
    return true;
  }
  return false;
}

Status RocksStore::ForEachReadable(const Take& take, const TellDamage& tell) const {
  KeysToRead hidden;
  for (;;) {
    const std::unique_ptr<rocksdb::Iterator> it(
        database_->db->NewIterator(WalkOptions(), database_->records));
    for (it->Seek(hidden.from); it->Valid(); it->Next()) {
      hidden.from.assign(ViewOf(it->key()));
      hidden.is_read = true;
      if (Status s = take(hidden.from, ViewOf(it->value())); !s.ok()) return s;
    }
    if (it->status().ok()) return Status::OK();
    const Status damage = StatusOf(it->status(), path_);
    std::string shown;
    const bool goes_on = FindReadable(hidden.from, &shown);
    hidden.to = goes_on ? std::optional(shown) : std::nullopt;
    tell(damage, hidden.from, hidden.to);
    // Some of what the walk does not come to is in tables that are whole.
    rocksdb::ColumnFamilyMetaData family;
    database_->db->GetColumnFamilyMetaData(database_->records, &family);
    std::vector<rocksdb::SstFileMetaData> tables;
    for (const rocksdb::LevelMetaData& level : family.levels) {
      tables.insert(tables.end(), level.files.begin(), level.files.end());
    }
    if (Status s = ForEachInTables(tables, options_, hidden, take); !s.ok()) return s;
    if (!goes_on) return Status::OK();
    BRAID_CHECK(shown > hidden.from);  // each round comes further
    hidden = {.from = shown, .is_read = false, .to = std::nullopt};
  }
}

/// RocksDB's own guess (rocksdb.estimate-num-keys) is 0 for tables that were taken in and not
/// looked at yet. Each table says how many records it has, exactly.
RocksStore::Counted RocksStore::Count() const {
  const base::MutexLock lock(counted_mutex_);
  // Before the tables: if they change meanwhile, they are counted again.
  uint64_t version = 0;
  if (!database_->db->GetIntProperty(
          database_->records, rocksdb::DB::Properties::kCurrentSuperVersionNumber, &version) ||
      version == counted_version_) {
    return counted_;
  }
  rocksdb::TablePropertiesCollection tables;
  // Of tables that are open, as all are, it reads nothing. A damaged one is for Verify to report.
  if (!database_->db->GetPropertiesOfAllTables(database_->records, &tables).ok()) return counted_;
  counted_ = {};
  for (const auto& [file, table] : tables) {
    BRAID_DCHECK(table->num_deletions <= table->num_entries);
    counted_.records += table->num_entries - table->num_deletions;  // marks of RocksDB's own
    counted_.index_bytes += table->index_size + table->filter_size;
  }
  counted_version_ = version;
  return counted_;
}

uint64_t RocksStore::memory_bytes() const noexcept {
  if (database_->cache_bytes != 0) return database_->cache_bytes;
  uint64_t bytes = 0;
  base::IgnoreExceptions([&] { bytes = Count().index_bytes; });
  return bytes;
}

bool RocksStore::IsBusy() const noexcept {
  const auto any = [this](const std::string& property) {
    uint64_t value = 0;
    return database_->db->GetIntProperty(database_->records, property, &value) && value != 0;
  };
  if (any(rocksdb::DB::Properties::kNumRunningCompactions)) return true;
  // After an error what is pending may never begin.
  return any(rocksdb::DB::Properties::kCompactionPending) &&
         !any(rocksdb::DB::Properties::kBackgroundErrors);
}

Sizes RocksStore::sizes() const {
  Sizes sizes;
  (void)database_->db->GetIntProperty(database_->records, "rocksdb.total-sst-files-size",
                                      &sizes.bytes);
  sizes.records = Count().records;
  return sizes;
}

/// -1: all tables stay open. For a concurrent reader they must: RocksDB opens them all then, keeps
/// what it has opened, and so reads on from what the writer has removed. Else they do unless the
/// process may open few files; a table is opened again when it is needed.
int MostOpenFiles(const OpenRequest& request) {
  constexpr rlim_t kEnough = 64 * 1024;
  constexpr int kFew = 32;
  if (request.for_repair) return kFew;  // an open of all would end at the first that can't be read
  rlimit limit{};
  if (request.beside_writer || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
  return limit.rlim_cur < kEnough ? static_cast<int>(limit.rlim_cur / 2) : -1;
}

/// What filters and indexes of all tables may take at most, of records that are not tiny.
uint64_t MostIndexBytes(const std::string& path) {
  constexpr uint64_t kDataAByte = 50;
  uint64_t bytes = 0;
  std::error_code error;
  std::filesystem::directory_iterator at(path, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    if (at->path().extension() == ".sst") bytes += at->file_size(error);
  }
  return bytes / kDataAByte;
}

/// Where they fit, tables have their filters and indexes at hand, and there is no cache of blocks:
/// records that are read again are in the tier's own, and to bring a block into a cache and let go
/// of another takes a quarter of the time of a get. Else parts of them, which share a cache with
/// blocks: whole, those of one table would be as large as a shard of it.
rocksdb::BlockBasedTableOptions TableOptions(const OpenRequest& request, Database* database) {
  constexpr int kShardBits = 4;
  constexpr bool kNeverOver = false;
  constexpr double kForIndexes = 0.8;
  rocksdb::BlockBasedTableOptions table;
  if (!request.for_repair && MostIndexBytes(request.path) <= request.cache_bytes / 2) {
    table.no_block_cache = true;
  } else {
    database->cache_bytes = request.cache_bytes / 2;
    table.block_cache =
        rocksdb::NewLRUCache(database->cache_bytes, kShardBits, kNeverOver, kForIndexes);
    table.cache_index_and_filter_blocks = true;
    table.cache_index_and_filter_blocks_with_high_priority = true;
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.partition_filters = true;
    table.pin_top_level_index_and_filter = true;
  }
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  return table;
}

rocksdb::Options OptionsOf(const OpenRequest& request, Database* database) {
  constexpr int kRunsThatSlow = 48;
  constexpr int kRunsThatStop = 64;
  constexpr uint64_t kBytesASync = 256 << 10;
  rocksdb::Options options;
  options.max_open_files = MostOpenFiles(request);
  options.create_if_missing = request.may_create;
  options.create_missing_column_families = request.may_create;
  options.compaction_filter = &database->filter;
  options.compression = rocksdb::kNoCompression;
  // One level below the runs that come in, until there is that much: each level is one more place
  // to look, and the pool is what takes in bursts of writes.
  options.level_compaction_dynamic_level_bytes = true;
  options.max_bytes_for_level_base = 1ull << 30;
  // More runs than usual may wait to be put together: to do so is to write all of the level below,
  // the less often the more of them there are, and a write that waits for it waits for seconds.
  options.level0_slowdown_writes_trigger = kRunsThatSlow;
  options.level0_stop_writes_trigger = kRunsThatStop;
  // Tables on their way to the device little by little: the sync of a run would wait for all that
  // compactions have left to the end.
  options.bytes_per_sync = kBytesASync;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(TableOptions(request, database)));
  // A cache takes blocks that have memory of their own.
  if (request.may_map && database->cache_bytes == 0) {
    database->env = rocksdb::NewCompositeEnv(MappedTables());
    options.env = database->env.get();
  }
  return options;
}

/// Those of a new tier are durable on return.
Status ReadFacts(Database* database, const OpenRequest& request, Facts* facts) {
  std::string bytes;
  rocksdb::Status s = database->db->Get(rocksdb::ReadOptions(), database->facts, kFactsKey, &bytes);
  if (s.IsNotFound() && request.may_create) {
    *facts = {};
    facts->magic = kFactsMagic;
    std::random_device random;
    for (uint8_t& byte : facts->id) byte = static_cast<uint8_t>(random());
    std::copy_n(request.pool_id.begin(), sizeof facts->pool_id, facts->pool_id);
    bytes.assign(reinterpret_cast<const char*>(facts), sizeof *facts);
    rocksdb::WriteOptions synced;
    synced.sync = true;
    s = database->db->Put(synced, database->facts, kFactsKey, bytes);
  }
  if (s.IsNotFound() || (s.ok() && bytes.size() != sizeof *facts)) {
    return Status::Corruption("the tier at " + request.path +
                              ": it does not say what it is; it is no tier of braid, or damaged");
  }
  if (!s.ok()) return StatusOf(s, request.path);
  std::memcpy(facts, bytes.data(), sizeof *facts);
  if (facts->magic == kFactsMagic) return Status::OK();
  return Status::Corruption("the tier at " + request.path + ": it is not of a version known here");
}

/// What a crash has left of runs that were not taken in.
void ClearIncoming(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path + kIncoming, ignored);
  std::filesystem::create_directories(path + kIncoming, ignored);
}

/// Whether the folder holds nothing but what RocksDB has left that was killed while it made a
/// database: that is none until CURRENT is there.
bool IsFreeForANewOne(const std::string& path) {
  std::error_code error;
  std::filesystem::directory_iterator at(path, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename();
    const bool is_left = name == "LOCK" || name == "IDENTITY" || name.starts_with("LOG") ||
                         name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") ||
                         name.ends_with(".dbtmp");
    if (!is_left) return false;
  }
  return !error;
}

/// Errors: as OpenStore.
Status PrepareFolder(const OpenRequest& request) {
  std::error_code error;
  if (std::filesystem::exists(request.path + "/CURRENT", error)) return Status::OK();
  if (!request.may_create) {
    return Status::NotFound("the tier is missing: there is no RocksDB database at " + request.path);
  }
  std::filesystem::create_directories(request.path, error);
  if (error) {
    return Status::IOError("can't make the tier's folder " + request.path + ": " + error.message());
  }
  if (IsFreeForANewOne(request.path)) return Status::OK();
  return Status::InvalidArgument("the tier's folder " + request.path +
                                 " holds something else; name an empty or new one");
}

}  // namespace

namespace {

Result<std::unique_ptr<Store>> OpenOnce(const OpenRequest& request) {
  if (Status s = PrepareFolder(request); !s.ok()) return s;
  auto database = std::make_shared<Database>();
  const rocksdb::Options options = OptionsOf(request, database.get());
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions(options)},
      {kFactsFamily, rocksdb::ColumnFamilyOptions()}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status s =
      request.read_only
          ? rocksdb::DB::OpenForReadOnly(rocksdb::DBOptions(options), request.path, families,
                                         &handles, &db)
          : rocksdb::DB::Open(rocksdb::DBOptions(options), request.path, families, &handles, &db);
  if (!s.ok()) return StatusOf(s, request.path);
  database->db.reset(db);
  BRAID_CHECK(handles.size() == families.size());
  database->records = handles[0];
  database->facts = handles[1];
  Facts facts;
  if (Status read = ReadFacts(database.get(), request, &facts); !read.ok()) return read;
  if (!request.read_only) ClearIncoming(request.path);
  return std::unique_ptr<Store>(
      std::make_unique<RocksStore>(std::move(database), request, facts, options));
}

}  // namespace

Result<std::unique_ptr<Store>> OpenRocksStore(const OpenRequest& request) {
  // A writer may remove tables and logs between the moment when an open beside it has read their
  // names and the one when it opens them.
  constexpr int kMostTries = 20;
  for (int tries = 1;; ++tries) {
    Result<std::unique_ptr<Store>> opened = OpenOnce(request);
    const bool again = request.beside_writer && tries < kMostTries &&
                       (opened.status().IsCorruption() || opened.status().IsIOError());
    if (!again) return opened;
    std::this_thread::sleep_for(std::chrono::milliseconds(tries));
  }
}

#if defined(BRAID_ROCKSDB_BESIDE)
namespace {
const bool is_set = (SetOpener(OpenRocksStore), true);
}  // namespace
#endif

}  // namespace braid::tier

#endif  // BRAID_ROCKSDB_TIER
