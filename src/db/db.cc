// Purpose: the public face of an engine: opening by path, properties, lifetime.
// Thread safety: any thread; the engine is shared with iterators, which outlive the handle.
// Persistence: none of its own.
#include "braid/db.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include <unistd.h>

#include "base/activity.h"
#include "base/forks.h"
#include "base/mutex.h"
#include "base/no_throw.h"
#include "base/resources.h"
#include "braid/version.h"
#include "db/approximate_size.h"
#include "db/checkpoint.h"
#include "db/compared_db.h"
#include "db/concurrent_reader.h"
#include "db/open_named.h"
#include "db/open_on_media.h"
#include "db/ordered_db.h"
#include "db/statistics_publisher.h"
#include "db/transaction.h"
#include "design/design.h"
#include "engine/empty_iterator.h"
#include "engine/failed_iterator.h"
#include "engine/failed_snapshot.h"
#include "media/file_media.h"
#include "media/fork_guard.h"
#include "media/pool_lock.h"
#include "media/region_folders.h"
#include "pool/pool.h"

namespace braid {

namespace {

class DbHandle final : public DB {
 public:
  DbHandle(std::shared_ptr<engine::Engine> engine, const Capabilities& capabilities,
           const Options& options, std::string path)
      : engine_(std::move(engine)),
        capabilities_(capabilities),
        options_(options),
        path_(std::move(path)) {}
  ~DbHandle() override {
    // In a child its thread is not there, and the file is the parent's.
    if (engine_->is_parents()) (void)publisher_.release();
    const Status closed = Close();
    (void)closed;  // Close() before is the way to learn of an error
  }

  Status Put(const WriteOptions& options, Slice key, Slice value) override {
    return Change([&] { return engine_->Put(options, key, value); });
  }
  Status Delete(const WriteOptions& options, Slice key) override {
    return Change([&] { return engine_->Delete(options, key); });
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    return Change(
        [&] { return batch.status().ok() ? engine_->Write(options, batch) : batch.status(); });
  }
  Status DeleteRange(const WriteOptions& options, Slice begin, std::optional<Slice> end,
                     uint64_t* deleted) override {
    uint64_t count = 0;
    return Change([&] {
      return engine_->DeleteRange(options, begin, end, deleted != nullptr ? deleted : &count);
    });
  }
  Result<bool> CompareAndSwap(const WriteOptions& options, Slice key, std::optional<Slice> expected,
                              Slice desired) override {
    bool swapped = false;
    const Status s = Change([&] {
      Result<bool> result = engine_->CompareAndSwap(options, key, expected, desired);
      swapped = result.ok() && *result;
      return result.status();
    });
    if (!s.ok()) return s;
    return swapped;
  }
  Result<std::unique_ptr<Transaction>> BeginTransaction() override {
    return base::CatchToStatus([&]() -> Result<std::unique_ptr<Transaction>> {
      if (engine_->is_parents()) return base::OpenedByParent();
      if (options_.read_only) return ReadOnlyStatus();
      if (closed_.load()) return Status::Closed();
      if (!capabilities_.transactions) {
        return Status::NotSupported(
            "this design has no transactions; a pool of the design \"braid\" has them");
      }
      std::shared_ptr<const Snapshot> snapshot = engine_->GetSnapshot();
      return NewTransaction(engine_, std::move(snapshot));
    });
  }
  Status Get(const ReadOptions& options, Slice key, std::string* value) override {
    return Run([&] { return engine_->Get(options, key, value); });
  }
  Status GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) override {
    // Here, and not where the engine puts the new value in its place: that is inside an epoch, and
    // what the old value holds may be the last of another database, whose end waits for all epochs.
    value->Reset();
    Status s = Run([&] { return engine_->GetPinned(options, key, value); });
    if (!s.ok()) value->Reset();
    return s;
  }
  std::vector<Status> MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                               std::vector<std::string>* values) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override {
    try {
      if (engine_->is_parents()) {
        return std::make_unique<engine::StatusIterator>(base::OpenedByParent);
      }
      return engine_->NewIterator(options);
    } catch (...) {
      return engine::NewFailedIterator();
    }
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override {
    try {
      if (engine_->is_parents()) return engine::NewFailedSnapshot(base::OpenedByParent());
      if (closed_.load()) return engine::NewFailedSnapshot(Status::Closed());
      std::shared_ptr<const Snapshot> snapshot = engine_->GetSnapshot();
      if (engine_->medium_failed()) [[unlikely]]
        return engine::NewFailedSnapshot(engine_->MediumStatus());
      return snapshot;
    } catch (...) {
      return engine::NewFailedSnapshot();
    }
  }
  Status Flush() override {
    return Change([&] { return engine_->Flush(); });
  }
  Status Compact() override {
    return Change([&] { return engine_->Compact(); });
  }
  Status CompactRange(const CompactOptions& options, std::optional<Slice> begin,
                      std::optional<Slice> end) override {
    return Change([&] { return engine_->CompactRange(options, begin, end); });
  }
  Status SetBackgroundLimit(uint64_t bytes_per_second) override {
    return Change([&] {
      if (closed_.load()) return Status::Closed();
      if (!options_.background_threads) {
        return Status::NotSupported("background_threads is false: writers do the work themselves");
      }
      return engine_->SetBackgroundLimit(bytes_per_second);
    });
  }
  Status Ingest(RecordSource* source, const IngestOptions& options, IngestReport* report) override {
    IngestReport unused;
    IngestReport* const told = report != nullptr ? report : &unused;
    *told = IngestReport{};
    return Change([&] { return engine_->Ingest(source, options, told); });
  }
  Status CreateCheckpoint(const std::string& target, const CheckpointOptions& options) override {
    return Run([&] {
      if (!capabilities_.checkpoints) {
        return Status::NotSupported(
            "this design can't checkpoint an open database; close it, and copy the pool with "
            "DB::Restore");
      }
      return WriteCheckpoint(engine_.get(), options_, target, options);
    });
  }
  Statistics GetStatistics() override {
    try {
      if (engine_->is_parents()) return {};
      Statistics statistics = engine_->GetStatistics();
      base::FillShared(options_, &statistics);
      return statistics;
    } catch (...) {
      return {};
    }
  }
  Status Verify(VerifyReport* report, const std::function<void(double share)>& progress) override {
    return Run([&] { return engine_->Verify(report, progress); });
  }
  Status PublishStatistics(bool on) override {
    return Change([&] { return Publish(on); });
  }
  Status Close() override {
    closed_.store(true);
    if (!engine_->is_parents()) {
      const base::MutexLock lock(publish_mutex_);
      publisher_.reset();  // first: it reads the store
    }
    return Run([&] { return engine_->Close(); });
  }
  Status BackgroundStatus() override {
    return Run([&] { return engine_->BackgroundStatus(); });
  }
  Status Resume() override {
    return Change([&] { return engine_->Resume(); });
  }
  bool GetProperty(std::string_view name, std::string* value) override;
  Capabilities GetCapabilities() const override { return capabilities_; }

 private:
  /// The border of the public API: nothing thrown gets out, and nothing that a failed medium
  /// returned or swallowed is reported as if it were true.
  template <class Call>
  Status Run(Call&& call) noexcept {
    if (engine_->is_parents()) [[unlikely]]
      return base::OpenedByParent();
    Status s = base::CatchToStatus(std::forward<Call>(call));
    if (!engine_->medium_failed() || s.IsClosed()) [[likely]]
      return s;
    return base::CatchToStatus([&] { return engine_->MediumStatus(); });
  }
  /// The same of a call that changes the pool: that stops here when it is opened read-only, so that
  /// no engine has to know of it.
  template <class Call>
  Status Change(Call&& call) noexcept {
    if (options_.read_only && !engine_->is_parents()) [[unlikely]]
      return base::CatchToStatus([&] { return ReadOnlyStatus(); });
    return Run(std::forward<Call>(call));
  }
  Status ReadOnlyStatus() const {
    return closed_.load() ? Status::Closed()
                          : Status::NotSupported(
                                "the pool is opened read-only; open it without read_only to write");
  }
  bool Property(std::string_view name, std::string* value);
  Status Publish(bool on);

  std::shared_ptr<engine::Engine> engine_;
  Capabilities capabilities_;
  const Options options_;
  std::atomic<bool> closed_{false};
  const std::string path_;  // empty: the medium is no folder
  base::Mutex publish_mutex_;
  std::unique_ptr<StatisticsPublisher> publisher_ BRAID_GUARDED_BY(publish_mutex_);
};

Status DbHandle::Publish(bool on) {
  const base::MutexLock lock(publish_mutex_);
  if (closed_.load()) return Status::Closed();
  if (!on) {
    publisher_.reset();
    return Status::OK();
  }
  if (publisher_ != nullptr) return Status::OK();
  if (path_.empty()) return Status::NotSupported("the pool has no path");
  Result<std::unique_ptr<StatisticsPublisher>> started =
      StatisticsPublisher::Start(path_, [this] { return GetStatistics(); });
  if (!started.ok()) return started.status();
  publisher_ = std::move(started).value();
  return Status::OK();
}

std::vector<Status> DbHandle::MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                                       std::vector<std::string>* values) {
  std::vector<Status> statuses(keys.size());
  values->clear();
  values->resize(keys.size());
  const Status s = Run([&] {
    engine_->MultiGet(options, keys, values->data(), statuses.data());
    return Status::OK();
  });
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!s.ok()) statuses[i] = s;
    if (!statuses[i].ok()) (*values)[i].clear();
  }
  return statuses;
}

std::string StatisticsText(const Statistics& statistics) {
  std::string text = "design " + statistics.design + "\nmedia_class " +
                     MediaClassName(statistics.media_class) +
                     (statistics.media_class_forced ? " (forced)\n" : "\n");
  for (const StatisticsField& field : ListFields(statistics)) {
    text += std::string(field.name) + " " + std::to_string(field.value) + "\n";
  }
  return text;
}

std::string StatisticsJson(const Statistics& statistics) {
  std::string json = "{\"design\":\"" + statistics.design + "\",\"media_class\":\"" +
                     MediaClassName(statistics.media_class) + "\",\"media_class_forced\":" +
                     (statistics.media_class_forced ? "true" : "false");
  for (const StatisticsField& field : ListFields(statistics)) {
    json += ",\"" + std::string(field.name) + "\":" + std::to_string(field.value);
  }
  return json + "}";
}

bool DbHandle::GetProperty(std::string_view name, std::string* value) {
  try {
    if (engine_->is_parents()) return false;
    return Property(name, value);
  } catch (...) {
    return false;
  }
}

bool DbHandle::Property(std::string_view name, std::string* value) {
  const Statistics statistics = GetStatistics();
  if (name == "braid.stats") {
    *value = StatisticsText(statistics);
  } else if (name == "braid.stats.json") {
    *value = StatisticsJson(statistics);
  } else if (name == "braid.num-entries") {
    *value =
        std::to_string(statistics.memtable_entries + statistics.l0_entries + statistics.l1_entries);
  } else if (name == "braid.approximate-memory-usage") {
    *value = std::to_string(statistics.memory_bytes);
  } else if (name == "braid.l0-tables") {
    *value = std::to_string(statistics.l0_tables);
  } else if (name == "braid.media-class") {
    *value = MediaClassName(statistics.media_class);
  } else if (name == "braid.design") {
    *value = statistics.design;
  } else {
    return false;
  }
  return true;
}

}  // namespace

Status DB::GetSnapshot(std::shared_ptr<const Snapshot>* snapshot) noexcept {
  return base::CatchToStatus([&] {
    snapshot->reset();
    std::shared_ptr<const Snapshot> made = GetSnapshot();
    if (made == nullptr) return Status::OutOfMemory();
    Status s = made->status();
    if (s.ok()) *snapshot = std::move(made);
    return s;
  });
}

// What a DB that wraps another one answers until it passes the call on.
Result<bool> DB::CompareAndSwap(const WriteOptions&, Slice, std::optional<Slice>, Slice) {
  return Status::NotSupported("this database has no compare-and-swap");
}
Status DB::Ingest(RecordSource*, const IngestOptions&, IngestReport*) {
  return Status::NotSupported("this database has no ingest");
}
Result<std::unique_ptr<Transaction>> DB::BeginTransaction() {
  return Status::NotSupported("this database has no transactions");
}
Status DB::CreateCheckpoint(const std::string&, const CheckpointOptions&) {
  return Status::NotSupported("this database has no checkpoints");
}

Status DB::CompactRange(const CompactOptions&, std::optional<Slice>, std::optional<Slice>) {
  return Status::NotSupported("this database can't compact a range; call Compact");
}
Status DB::SetBackgroundLimit(uint64_t) {
  return Status::NotSupported("this database has no limit for background work");
}

Status DB::PublishStatistics(bool) {
  return Status::NotSupported("this database does not publish its statistics");
}

Status DB::ApproximateSizes(std::span<const KeyRange> ranges, uint64_t* sizes) {
  return ApproximateSizesOf(this, nullptr, ranges, sizes);
}

Status Iterator::Refresh() {
  return Status::NotSupported("this iterator can't be refreshed; create a new one");
}

Status DB::BackgroundStatus() {
  return Status::NotSupported("this database does not report the status of its background work");
}
Status DB::Resume() { return BackgroundStatus(); }

Status DB::DeleteRange(const WriteOptions&, Slice, std::optional<Slice>, uint64_t*) {
  return Status::NotSupported("this database has no delete of a range");
}

Status DB::GetPinned(const ReadOptions& options, Slice key, PinnedValue* value) {
  Status s = Get(options, key, value->CopyTo());
  if (!s.ok()) value->Reset();
  return s;
}

std::vector<Status> DB::MultiGet(const ReadOptions& options, std::span<const Slice> keys,
                                 std::vector<std::string>* values) {
  std::vector<Status> statuses(keys.size());
  values->assign(keys.size(), {});
  for (size_t i = 0; i < keys.size(); ++i) statuses[i] = Get(options, keys[i], &(*values)[i]);
  return statuses;
}

namespace {

Result<std::unique_ptr<DB>> MakeHandle(const Options& options, std::unique_ptr<media::Media> media,
                                       const std::string& path = {}) {
  if (Status s = options.Validate(); !s.ok()) return s;
  if (Status s = media::WatchForks(); !s.ok()) return s;
  if (Status s = base::CheckResources(options); !s.ok()) return s;
  Result<const design::Design*> design = design::FindDesign(options.design);
  if (!design.ok()) return design.status();
  Result<std::shared_ptr<engine::Engine>> engine = (*design)->Make(options, std::move(media));
  if (!engine.ok()) return engine.status();
  return std::unique_ptr<DB>(std::make_unique<DbHandle>(std::move(engine).value(),
                                                        (*design)->capabilities, options, path));
}

Result<std::unique_ptr<DB>> OpenToRead(const Options& options, const std::string& path,
                                       const std::string& order_name) {
  // While another process writes it takes some time, in which that one may end and others may come.
  const auto deadline = media::ReaderSlot::Clock::now() + concurrent_reader_patience.load();
  for (;;) {
    Result<std::unique_ptr<media::Media>> media = media::OpenFileMediaToRead(path, options.pool);
    if (media.ok() && (*media)->segment_bytes().empty()) {
      return Status::Corruption(path + "/segment-000000+0x0: segment: the file is missing");
    }
    if (media.ok()) {
      (*media)->set_key_order(order_name);
      return MakeHandle(options, std::move(media).value(), path);
    }
    if (!media.status().IsBusy()) return media.status();
    Result<std::unique_ptr<DB>> beside =
        OpenConcurrentReader(options, path, order_name, media.status(), deadline);
    if (beside.ok() || !beside.status().IsTryAgain()) return beside;
  }
}

Result<std::unique_ptr<DB>> OpenPath(const Options& options, const std::string& path,
                                     const std::string& order_name) {
  const base::ActivityScope activity(base::Activity::kOpen);
  if (Status s = base::CheckResources(options); !s.ok()) return s;
  if (Status s = options.Validate(); !s.ok()) return s;
  if (Result<const design::Design*> design = design::FindDesign(options.design); !design.ok()) {
    return design.status();  // before anything is made at the path
  }
  Result<media::PathKind> kind = media::ProbePath(path);
  if (!kind.ok()) return kind.status();
  if (*kind == media::PathKind::kForeign) {
    return Status::InvalidArgument(path +
                                   " is not a braid pool: it holds no segment-000000; name a "
                                   "pool, or a new or empty directory");
  }
  if (*kind == media::PathKind::kMissing && options.read_only) {
    return Status::NotFound("no pool at " + path + " (a read-only open never creates one)");
  }
  if (*kind == media::PathKind::kMissing && !options.create_if_missing) {
    return Status::NotFound("there is no pool at " + path +
                            "; set create_if_missing, or load data into it first");
  }
  if (*kind == media::PathKind::kPool && options.error_if_exists) {
    return Status::InvalidArgument("there is a pool at " + path + " already");
  }
  if (options.read_only) return OpenToRead(options, path, order_name);
  Result<std::unique_ptr<media::Media>> media =
      media::OpenFileMedia(path, options.pool, *kind == media::PathKind::kMissing);
  if (!media.ok()) return media.status();
  if (*kind == media::PathKind::kPool && (*media)->segment_bytes().empty()) {
    return Status::Corruption(path + "/segment-000000+0x0: segment: the file is missing");
  }
  (*media)->set_key_order(order_name);
  return MakeHandle(options, std::move(media).value(), path);
}

Result<std::unique_ptr<DB>> OpenInOrder(const Options& options, const std::string& path,
                                        std::shared_ptr<const KeyOrder> order) {
  if (Status s = CheckKeyOrder(*order); !s.ok()) return s;
  Result<std::unique_ptr<DB>> db = OpenPath(options, path, std::string(order->Name()));
  if (!db.ok()) return db;
  return InOrder(std::move(db).value(), std::move(order));
}

Result<std::unique_ptr<DB>> OpenCompared(const Options& options, const std::string& path,
                                         std::shared_ptr<const Comparator> comparator) {
  if (comparator == nullptr) {
    return Status::InvalidArgument("no comparator is given; open the pool with DB::Open");
  }
  if (Status s = CheckComparator(*comparator); !s.ok()) return s;
  Result<std::unique_ptr<DB>> db = OpenPath(options, path, HeaderNameOf(comparator->Name()));
  if (!db.ok()) return db;
  return InComparison(std::move(db).value(), std::move(comparator), options.read_only);
}

Result<std::unique_ptr<DB>> OpenForLooking(const Options& options, const std::string& path) {
  if (!options.read_only) {
    return Status::InvalidArgument(
        "a pool whose key order is not known can only be opened read-only; set options.read_only");
  }
  Result<PoolInfo> info = DB::Inspect(path, options);
  if (!info.ok()) return info.status();
  return OpenPath(options, path, info->comparator);
}

Status DestroyPath(const std::string& path) {
  Result<media::PathKind> kind = media::ProbePath(path);
  if (!kind.ok()) return kind.status();
  if (*kind == media::PathKind::kForeign) {
    return Status::InvalidArgument(path + " is not a braid pool; nothing was removed");
  }
  const media::LockHolder holder = media::ProbeLock(path);
  if (holder.held) {
    return Status::Busy("the pool " + path + " is open in " +
                        (holder.pid > 0 ? "process " + std::to_string(holder.pid)
                                        : std::string("another process")));
  }
  // Without segments, the folders of its regions may still be named.
  const bool unfinished = ::access((path + "/" + media::kRegionsFileName).c_str(), F_OK) == 0;
  if (*kind == media::PathKind::kMissing && !unfinished) return Status::OK();
  return media::RemovePool(path);
}

}  // namespace

Result<std::unique_ptr<DB>> OpenOnMedia(const Options& options,
                                        std::unique_ptr<media::Media> media) {
  return base::CatchToStatus([&] { return MakeHandle(options, std::move(media)); });
}

Result<std::unique_ptr<DB>> DB::Open(const Options& options, const std::string& path) {
  return OpenNamed(options, path, std::string(kBytewiseOrder));
}

Result<std::unique_ptr<DB>> DB::Open(const Options& options, const std::string& path,
                                     std::shared_ptr<const KeyOrder> order) {
  if (order == nullptr) return Open(options, path);
  return base::CatchToStatus([&] { return OpenInOrder(options, path, std::move(order)); });
}

Result<std::unique_ptr<DB>> DB::OpenWithComparator(const Options& options, const std::string& path,
                                                   std::shared_ptr<const Comparator> comparator) {
  return base::CatchToStatus([&] { return OpenCompared(options, path, std::move(comparator)); });
}

Result<std::unique_ptr<DB>> DB::OpenEncoded(const Options& options, const std::string& path) {
  return base::CatchToStatus([&] { return OpenForLooking(options, path); });
}

Result<std::unique_ptr<DB>> OpenNamed(const Options& options, const std::string& path,
                                      const std::string& order_name) {
  return base::CatchToStatus([&] { return OpenPath(options, path, order_name); });
}

Status DB::Destroy(const std::string& path) {
  return base::CatchToStatus([&] { return DestroyPath(path); });
}

}  // namespace braid
