// A pool in a folder of its own, without an engine: for tests of the parts that engines are made
// of.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "braid/options.h"
#include "media/file_media.h"
#include "pool/pool.h"
#include "support/temp_folder.h"

namespace braid::test {

/// `count` chunks of 16 KiB, headers included, that may grow.
inline Options PoolOfSmallChunks(uint64_t count = 64) {
  Options options;
  options.pool.chunk_bytes = 16u << 10;
  options.pool.initial_bytes = count * options.pool.chunk_bytes;
  return options;
}

class TestPool {
 public:
  using Init = std::function<Status(pool::PmemPool*)>;

  /// `init` fills the pool before it is published.
  explicit TestPool(
      const Init& init = [](pool::PmemPool*) { return Status::OK(); },
      const Options& options = PoolOfSmallChunks()) {
    Result<std::unique_ptr<media::Media>> media =
        media::OpenFileMedia(folder_.Sub("pool"), options.pool, true);
    EXPECT_TRUE(media.ok()) << media.status().ToString();
    Result<std::unique_ptr<pool::PmemPool>> pool =
        pool::PmemPool::Open(std::move(media).value(), options, init);
    EXPECT_TRUE(pool.ok()) << pool.status().ToString();
    pool_ = std::move(pool).value();
  }

  std::string path() const { return folder_.Sub("pool"); }
  /// The pool is the caller's from here on; the folder stays this object's.
  std::unique_ptr<pool::PmemPool> TakePool() noexcept { return std::move(pool_); }
  pool::PmemPool* get() const noexcept { return pool_.get(); }
  pool::PmemPool* operator->() const noexcept { return pool_.get(); }
  pool::PmemPool& operator*() const noexcept { return *pool_; }

 private:
  TempFolder folder_;
  std::unique_ptr<pool::PmemPool> pool_;
};

}  // namespace braid::test
