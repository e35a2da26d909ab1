// Purpose: the engine that stores nothing.
// Thread safety, persistence: see null_engine.h.
#include "null/null_engine.h"

#include "engine/empty_iterator.h"
#include "engine/failed_snapshot.h"
#include "engine/parts.h"
#include "level/manifest.h"

namespace braid::null {

namespace {

class NullSnapshot final : public Snapshot {
 public:
  explicit NullSnapshot(std::shared_ptr<const NullEngine> engine) : engine_(std::move(engine)) {}
  uint64_t sequence() const noexcept override { return 0; }
  const void* owner() const noexcept override { return engine_.get(); }

 private:
  const std::shared_ptr<const NullEngine> engine_;
};

}  // namespace

Result<std::shared_ptr<NullEngine>> NullEngine::Open(const Options& options,
                                                     std::unique_ptr<media::Media> media) {
  if (Status s = engine::RefuseLsmParts(options); !s.ok()) return s;
  Result<std::unique_ptr<pool::PmemPool>> pool =
      pool::PmemPool::Open(std::move(media), options, [](pool::PmemPool* fresh) {
        level::Manifest manifest(fresh);
        return manifest.Create();
      });
  if (!pool.ok()) return pool.status();
  return std::shared_ptr<NullEngine>(new NullEngine(options, std::move(pool).value()), Deleter());
}

Status NullEngine::Put(const WriteOptions&, Slice key, Slice value) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  if (Status s = engine::CheckValue(value); !s.ok()) return s;
  puts_.fetch_add(1, std::memory_order_relaxed);
  return OpenStatus();
}

Status NullEngine::Delete(const WriteOptions&, Slice key) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  deletes_.fetch_add(1, std::memory_order_relaxed);
  return OpenStatus();
}

Status NullEngine::Write(const WriteOptions&, const WriteBatch& batch) {
  struct Checker final : WriteBatch::Handler {
    Status status;
    void Put(Slice key, Slice value) override {
      if (status.ok()) status = engine::CheckKey(key);
      if (status.ok()) status = engine::CheckValue(value);
    }
    void Delete(Slice key) override {
      if (status.ok()) status = engine::CheckKey(key);
    }
    void DeleteRange(std::optional<Slice> begin, std::optional<Slice> end) override {
      if (status.ok() && begin) status = engine::CheckKey(*begin);
      if (status.ok() && end) status = engine::CheckKey(*end);
    }
  } checker;
  batch.Iterate(&checker);
  if (!checker.status.ok()) return checker.status;
  puts_.fetch_add(batch.Count(), std::memory_order_relaxed);
  return OpenStatus();
}

Status NullEngine::Get(const ReadOptions& options, Slice key, std::string*) {
  if (Status s = engine::CheckKey(key); !s.ok()) return s;
  if (options.snapshot != nullptr) {
    if (Status s = engine::CheckSnapshot(*options.snapshot, this); !s.ok()) return s;
  }
  gets_.fetch_add(1, std::memory_order_relaxed);
  return closed_.load() ? Status::Closed() : Status::NotFound();
}

std::unique_ptr<Iterator> NullEngine::NewIterator(const ReadOptions& options) {
  if (options.snapshot != nullptr) {
    if (Status s = engine::CheckSnapshot(*options.snapshot, this); !s.ok()) {
      return std::make_unique<engine::StatusIterator>([s] { return s; });
    }
  }
  return std::make_unique<engine::StatusIterator>([self = shared_from_this()] {
    return self->is_parents() ? base::OpenedByParent() : self->OpenStatus();
  });
}

std::shared_ptr<const Snapshot> NullEngine::GetSnapshot() {
  return std::make_shared<NullSnapshot>(shared_from_this());
}

Statistics NullEngine::GetStatistics() {
  Statistics s;
  s.puts = puts_.load();
  s.deletes = deletes_.load();
  s.gets = gets_.load();
  s.pool_bytes = pool_->pool_bytes();
  s.pool_max_bytes = pool_->max_bytes();
  s.media_class = pool_->ops().media_class();
  s.media_class_forced = pool_->media().media_class_forced();
  s.design = options_.design;
  return s;
}

Status NullEngine::Verify(VerifyReport* report, const std::function<void(double)>& progress) {
  *report = VerifyReport{};
  if (progress) progress(1.0);
  return OpenStatus();
}

Status NullEngine::Close() {
  if (closed_.exchange(true)) return Status::Closed();
  pool_->media().Unlock();
  return Status::OK();
}

}  // namespace braid::null
