// Purpose: an engine that accepts writes and stores nothing. It has a real pool, so that opening,
// locking and the limits behave as everywhere.
// Thread safety: any thread.
// Persistence: none beyond the pool header.
#pragma once

#include <atomic>
#include <memory>

#include "engine/engine.h"
#include "pool/pool.h"

namespace braid::null {

class NullEngine final : public engine::Engine, public std::enable_shared_from_this<NullEngine> {
 public:
  static Result<std::shared_ptr<NullEngine>> Open(const Options& options,
                                                  std::unique_ptr<media::Media> media);

  Status Put(const WriteOptions& options, Slice key, Slice value) override;
  Status Delete(const WriteOptions& options, Slice key) override;
  Status Write(const WriteOptions& options, const WriteBatch& batch) override;
  Status Get(const ReadOptions& options, Slice key, std::string* value) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) override;
  std::shared_ptr<const Snapshot> GetSnapshot() override;
  Status Flush() override { return OpenStatus(); }
  Status Compact() override { return OpenStatus(); }
  Statistics GetStatistics() override;
  Status Verify(VerifyReport* report, const std::function<void(double)>& progress) override;
  Status Close() override;
  Status BackgroundStatus() override { return OpenStatus(); }

  /// Closed after Close.
  Status OpenStatus() const { return closed_.load() ? Status::Closed() : Status::OK(); }

 private:
  NullEngine(const Options& options, std::unique_ptr<pool::PmemPool> pool)
      : options_(options), pool_(std::move(pool)) {}

  const Options options_;
  std::unique_ptr<pool::PmemPool> pool_;
  std::atomic<bool> closed_{false};
  std::atomic<uint64_t> puts_{0};
  std::atomic<uint64_t> deletes_{0};
  std::atomic<uint64_t> gets_{0};
};

}  // namespace braid::null
