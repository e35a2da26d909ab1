// A pool as programs of format version 1 would have left it, made from one of today's.
#pragma once

#include <algorithm>
#include <cstring>

#include "format/manifest.h"

namespace braid::test {

/// Of the pool whose bytes begin at `base`, with two levels, one place for a merge and no
/// extension.
inline void MakeVersion1(char* base, const format::ManifestState& state) {
  for (int copy = 0; copy < 2; ++copy) {
    format::PoolHeader header;
    const uint64_t header_at = format::kPoolHeaderOffset[copy];
    std::memcpy(&header, base + header_at, sizeof header);
    header.version = 1;
    header.check = format::StructCheck(header, header_at);
    std::memcpy(base + header_at, &header, sizeof header);

    format::Manifest1Record record{};
    record.magic = format::kManifest1Magic;
    record.commit_count = state.commit_count;
    record.flushed_table_id = state.flushed_table_id;
    record.next_table_id = state.next_table_id;
    record.last_sequence = state.last_sequence;
    record.merge_id = state.merges[0].id;
    record.merging_table_id = state.merges[0].source_id;
    record.merge_flags = state.merges[0].flags;
    record.next_merge_id = state.next_merge_id;
    record.collected_table_id = state.collected_table_id;
    record.merged_table_id = state.merged_table_id;
    record.table_count = static_cast<uint32_t>(state.tables.size());
    std::copy(state.tables.begin(), state.tables.end(), record.tables);
    record.check = format::StructCheck(record, format::kManifestOffset[copy]);
    char* const at = base + format::kManifestOffset[copy];
    std::memset(at, 0, format::kManifestBytes);
    std::memcpy(at, &record, sizeof record);
  }
}

}  // namespace braid::test
