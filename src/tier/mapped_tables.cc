// Purpose: mappings of tables.
// Thread safety, invariants, persistence: see mapped_tables.h.
#if defined(BRAID_ROCKSDB_TIER)

#include "tier/mapped_tables.h"

#include <string>
#include <utility>

#include "base/no_throw.h"
#include "media/mapped_file.h"

namespace braid::tier {

namespace {

class MappedTable final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  MappedTable(std::unique_ptr<rocksdb::FSRandomAccessFile> file,
              std::unique_ptr<media::MappedFile> mapping)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), mapping_(std::move(mapping)) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* context) const override {
    // Indexes and filters of larger tables, which are read once and kept, are to be kept in memory
    // that is counted.
    constexpr size_t kMostOfABlock = 16 << 10;
    if (bytes <= kMostOfABlock && mapping_->Has(offset, bytes)) {
      *result = rocksdb::Slice(mapping_->At(offset), bytes);
      return rocksdb::IOStatus::OK();
    }
    return target()->Read(offset, bytes, options, result, scratch, context);
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override {
    return FSRandomAccessFile::MultiRead(requests, count, options, context);
  }
  rocksdb::IOStatus Prefetch(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override {
    if (mapping_->Has(offset, bytes)) return rocksdb::IOStatus::OK();
    return target()->Prefetch(offset, bytes, options, context);
  }

 private:
  const std::unique_ptr<media::MappedFile> mapping_;
};

class MappedSystem final : public rocksdb::FileSystemWrapper {
 public:
  MappedSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}

  const char* Name() const override { return "braid.mapped-tables"; }
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* context) override {
    rocksdb::IOStatus s = target()->NewRandomAccessFile(path, options, file, context);
    if (!s.ok() || !path.ends_with(".sst")) return s;
    // Without memory for that it is read as any other.
    base::IgnoreExceptions([&] {
      if (auto mapping = media::MappedFile::Of(path); mapping != nullptr) {
        *file = std::make_unique<MappedTable>(std::move(*file), std::move(mapping));
      }
    });
    return s;
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> MappedTables() { return std::make_shared<MappedSystem>(); }

}  // namespace braid::tier

#endif  // BRAID_ROCKSDB_TIER
