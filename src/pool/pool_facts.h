// Purpose: reads the headers of a pool's files without mapping, locking or changing anything.
// Thread safety: any thread. The pool may be open elsewhere: the result is a snapshot of one
// moment.
// Persistence: none.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "braid/status.h"
#include "format/layout.h"

namespace braid::pool {

struct RegionFacts {
  std::string folder;
  uint64_t bytes = 0;
  uint64_t free_chunks = 0;
};

struct PoolFacts {
  format::PoolHeader header{};
  uint64_t pool_bytes = 0;
  uint64_t allocated_bytes = 0;  // of the files, holes not among them
  uint64_t free_chunks = 0;
  uint64_t entry_chunks = 0;
  uint64_t value_chunks = 0;
  uint64_t entries = 0;  // of all tables, by the manifest
  uint64_t l0_tables = 0;
  uint64_t l0_entries = 0;
  std::vector<RegionFacts> regions;
  std::optional<uint64_t> dirty_shutdowns;  // when the pool was opened to write last
  std::optional<std::string> tier;          // its folder at that time
};

/// Errors: Corruption (no intact header), NotSupported (another version), IOError.
Result<PoolFacts> ReadPoolFacts(const std::string& path);

/// Chooses the newer intact one of two header copies and checks that this library can read it.
/// `where` names the file for messages.
Result<format::PoolHeader> ChooseHeader(const format::PoolHeader (&copies)[2],
                                        const std::string& where);

/// What the record behind copy number `copy` of the header says; none where it is not of that copy.
std::optional<uint64_t> DirtyShutdownsIn(const format::PoolHeader& header,
                                         const format::DeviceRecord& record, int copy);
/// Whether `record` is an intact one of copy number `copy` of the header, itself intact.
bool IsTierRecordOf(const format::PoolHeader& header, const format::TierRecord& record, int copy);
/// The folder that it names.
std::string PathIn(const format::TierRecord& record);

}  // namespace braid::pool
