// Purpose: writing and restoring checkpoints.
// Thread safety, persistence: see checkpoint.h. Why one is a logical copy and the other a copy of
// bytes is in docs/internals/decisions/0013-ingest-and-checkpoint.md.
#include "db/checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "base/no_throw.h"
#include "db/open_named.h"
#include "db/pool_place.h"
#include "db/progress.h"
#include "media/file_media.h"
#include "media/pool_copy.h"

namespace braid {

namespace {

constexpr const char* kUnfinished = ".partial";
/// Records after which a new iterator is made: it pins chunks that merges have emptied.
constexpr uint64_t kRecordsAnIterator = 64 << 10;
/// DRAM of the pool that is written, which keeps nothing there but the records on their way.
constexpr uint64_t kMostMemory = 16 << 20;
/// Share of a restore that is copying; the rest is verifying.
constexpr double kCopied = 0.5;
/// What a pool of one region needs at first, in chunks.
constexpr uint64_t kLeastChunks = 16;

/// All records that a snapshot sees.
class SnapshotSource final : public RecordSource {
 public:
  SnapshotSource(engine::Engine* engine, const Snapshot* snapshot, uint64_t expected,
                 Progress progress)
      : engine_(engine),
        expected_(std::max<uint64_t>(expected, 1)),
        progress_(std::move(progress)) {
    options_.snapshot = snapshot;
  }

  bool Next(Slice* key, Slice* value) override {
    if (it_ == nullptr) {
      it_ = engine_->NewIterator(options_);
      it_->SeekToFirst();
    } else if (given_ % kRecordsAnIterator == 0) {
      const std::string last(it_->key());
      it_ = engine_->NewIterator(options_);
      it_->Seek(last);
      if (it_->Valid() && it_->key() == last) it_->Next();
      Tell();
    } else {
      it_->Next();
    }
    if (!it_->Valid()) return false;
    ++given_;
    *key = it_->key();
    *value = it_->value();
    return true;
  }
  Status status() const override { return it_ == nullptr ? Status::OK() : it_->status(); }

 private:
  /// Versions and deletes are among those expected.
  void Tell() const {
    if (!progress_) return;
    progress_(std::min(1.0, static_cast<double>(given_) / static_cast<double>(expected_)));
  }

  engine::Engine* engine_;
  ReadOptions options_;
  uint64_t expected_;
  uint64_t given_ = 0;
  Progress progress_;
  std::unique_ptr<Iterator> it_;
};

/// Of the pool that is written: what is fixed when a pool is made is as in `source`; what serves
/// reads is left out.
Options OptionsOfCheckpoint(const Options& options, const pool::PmemPool& source) {
  Options fresh = options;
  fresh.tier = {};  // everything is to be in the checkpoint
  fresh.create_if_missing = true;
  fresh.error_if_exists = true;
  fresh.verify_on_open = VerifyOnOpen::kQuick;
  fresh.read_only = false;
  fresh.listener = nullptr;  // its events are the database's, not its copy's
  fresh.background_threads = false;
  fresh.resources = nullptr;  // of which it would need a part that there may not be
  fresh.memory_budget_bytes = std::min(options.memory_budget_bytes, kMostMemory);
  fresh.cache.index = false;
  fresh.cache.lookup_bytes = 0;
  fresh.cache.second_chance_bytes = 0;
  fresh.pool.chunk_bytes = source.chunk_bytes();
  fresh.pool.regions = source.regions();
  fresh.pool.region_paths.clear();
  fresh.pool.initial_bytes =
      std::max(options.pool.initial_bytes, kLeastChunks * source.regions() * source.chunk_bytes());
  fresh.pool.max_bytes = 0;
  // The new pool may lie on another medium.
  fresh.pool.force_media_class.reset();
  fresh.pool.emulate_write_ns = 0;
  fresh.pool.emulate_write_mb_s = 0;
  fresh.lists.kind.reset();
  if (source.regions() > 1) fresh.lists.kind = source.list_kind();
  fresh.lists.count_visits = false;
  return fresh;
}

Status FillCheckpoint(engine::Engine* engine, const Options& fresh, const std::string& path,
                      const Progress& progress) {
  const std::shared_ptr<const Snapshot> snapshot = engine->GetSnapshot();
  if (snapshot == nullptr) return Status::OutOfMemory();
  const Statistics now = engine->GetStatistics();
  SnapshotSource source(engine, snapshot.get(),
                        now.memtable_entries + now.l0_entries + now.l1_entries + now.tier_entries,
                        progress);
  Result<std::unique_ptr<DB>> opened =
      OpenNamed(fresh, path, engine->medium()->media().key_order());
  if (!opened.ok()) return opened.status();
  IngestOptions sorted;
  sorted.sorted = true;
  const Status written = (*opened)->Ingest(&source, sorted, nullptr);
  const Status closed = (*opened)->Close();
  return written.ok() ? closed : written;
}

/// `status` with the place that the user knows in the place of the one that was looked at.
Status Elsewhere(const Status& status, const std::string& looked_at, const std::string& known) {
  if (!status.IsCorruption()) return status;
  std::string text(status.message());
  for (size_t at = text.find(looked_at); at != std::string::npos;
       at = text.find(looked_at, at + known.size())) {
    text.replace(at, looked_at.size(), known);
  }
  return Status::Corruption(text);
}

/// Reads all of the pool at `path` as any program would.
Status VerifyCopy(const Options& options, const std::string& path, const Progress& progress) {
  Result<PoolInfo> info = DB::Inspect(path, options);
  if (!info.ok()) return info.status();
  Options fresh;
  fresh.design = info->design;
  fresh.create_if_missing = false;
  fresh.background_threads = false;
  fresh.memory_budget_bytes = options.memory_budget_bytes;
  fresh.pool.catch_sigbus = options.pool.catch_sigbus;
  fresh.pool.force_media_class = options.pool.force_media_class;
  fresh.pool.allow_world_writable = options.pool.allow_world_writable;
  fresh.logger = options.logger;
  Result<std::unique_ptr<DB>> opened = OpenNamed(fresh, path, info->comparator);
  if (!opened.ok()) return opened.status();
  VerifyReport report;
  const Status verified = (*opened)->Verify(&report, progress);
  const Status closed = (*opened)->Close();
  return verified.ok() ? closed : verified;
}

Status RestoreTo(const Options& options, const std::string& checkpoint, const std::string& target,
                 const Progress& progress) {
  if (Status s = options.Validate(); !s.ok()) return s;
  if (!options.pool.region_paths.empty()) {
    return Status::InvalidArgument(
        "options.pool.region_paths: a restored pool has all its regions in its own folder");
  }
  const std::string from = WithoutSlash(checkpoint);
  const std::string to = WithoutSlash(target);
  if (Status s = CheckPlace(to); !s.ok()) return s;
  if (Status s = CheckApart(from, to); !s.ok()) return s;
  // Keeps the checkpoint locked while it is read.
  Result<std::unique_ptr<media::PoolImage>> image = media::PoolImage::Open(from);
  if (!image.ok()) return image.status();
  const std::string unfinished = to + kUnfinished;
  if (Status s = RemoveInterrupted(unfinished); !s.ok()) return s;  // of one that was interrupted
  Status s = media::CopySegments(**image, from, unfinished, PartOf(progress, 0, kCopied));
  if (s.ok()) {
    s = Elsewhere(VerifyCopy(options, unfinished, PartOf(progress, kCopied, 1.0)), unfinished,
                  from);
  }
  return s.ok() ? TakePlace(unfinished, to) : RemoveUnfinished(unfinished, s);
}

}  // namespace

Status WriteCheckpoint(engine::Engine* engine, const Options& options, const std::string& target,
                       const CheckpointOptions& checkpoint_options) {
  const std::string to = WithoutSlash(target);
  if (Status s = CheckPlace(to); !s.ok()) return s;
  const std::filesystem::path segment = engine->medium()->media().Locate(0);
  if (segment.has_parent_path()) {
    if (Status s = CheckApart(segment.parent_path(), to); !s.ok()) return s;
  }
  if (!options.verify_checksums) {
    // What is copied gets new checks, and damage in it would not be seen again.
    VerifyReport report;
    if (Status s = engine->Verify(&report, {}); !s.ok()) return s;
  }
  const std::string unfinished = to + kUnfinished;
  if (Status s = RemoveInterrupted(unfinished); !s.ok()) return s;  // of one that was interrupted
  Status s = FillCheckpoint(engine, OptionsOfCheckpoint(options, *engine->medium()), unfinished,
                            checkpoint_options.progress);
  if (!s.ok()) return RemoveUnfinished(unfinished, s);
  if (s = TakePlace(unfinished, to); s.ok() && checkpoint_options.progress) {
    checkpoint_options.progress(1.0);
  }
  return s;
}

Status DB::Restore(const Options& options, const std::string& checkpoint, const std::string& target,
                   const CheckpointOptions& checkpoint_options) {
  return base::CatchToStatus(
      [&] { return RestoreTo(options, checkpoint, target, checkpoint_options.progress); });
}

}  // namespace braid
