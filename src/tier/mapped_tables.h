// Purpose: reads blocks of a tier's tables where the system has them in memory, through a mapping,
// without a copy and without memory of their own; all else as usual.
// Thread safety: that of a rocksdb::FileSystem.
// Invariants:
//   1. What is handed out is what media/mapped_file.h says to be there. So what the device can't
//      give is an error of a read and no signal, and a block that is not there is one read of the
//      device, where a mapping alone makes two or, with what it reads ahead, far more. Zeros in
//      the place of a page are refused by the block's check.
// Persistence: reads only; tables do not change.
// Source: RocksDB's allow_mmap_reads, which has none of that.
#pragma once

#if defined(BRAID_ROCKSDB_TIER)

#include <rocksdb/file_system.h>

#include <memory>

namespace braid::tier {

/// Above the file system of the process. Throws std::bad_alloc.
std::shared_ptr<rocksdb::FileSystem> MappedTables();

}  // namespace braid::tier

#endif  // BRAID_ROCKSDB_TIER
