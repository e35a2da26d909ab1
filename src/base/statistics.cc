// Purpose: the fields of Statistics by name.
// Thread safety: pure.
// Persistence: none.
#include "braid/statistics.h"

namespace braid {

const char* PowerLossName(PowerLoss power_loss) {
  switch (power_loss) {
    case PowerLoss::kKept:
      return "kept";
    case PowerLoss::kGone:
      return "gone";
    case PowerLoss::kAsHost:
      return "as_host";
    case PowerLoss::kUnknown:
      break;
  }
  return "unknown";
}

// Long: a table, a line a field.
std::vector<StatisticsField> ListFields(const Statistics& s) {
  return {
      {"puts", s.puts, true},
      {"deletes", s.deletes, true},
      {"batches", s.batches, true},
      {"gets", s.gets, true},
      {"gets_found", s.gets_found, true},
      {"iterators", s.iterators, true},
      {"passed_entries", s.passed_entries, true},
      {"bytes_put", s.bytes_put, true},
      {"lines_flushed", s.lines_flushed, true},
      {"fences", s.fences, true},
      {"syncs", s.syncs, true},
      {"flushes", s.flushes, true},
      {"flushed_entries", s.flushed_entries, true},
      {"flush_micros", s.flush_micros, true},
      {"merges", s.merges, true},
      {"merged_entries", s.merged_entries, true},
      {"merge_micros", s.merge_micros, true},
      {"collected_chunks", s.collected_chunks, true},
      {"reclustered_entries", s.reclustered_entries, true},
      {"region_fallbacks", s.region_fallbacks, true},
      {"upper_visits_local", s.upper_visits_local, true},
      {"upper_visits_remote", s.upper_visits_remote, true},
      {"bottom_visits_local", s.bottom_visits_local, true},
      {"bottom_visits_remote", s.bottom_visits_remote, true},
      {"lookup_paths_0", s.lookup_paths[0], true},
      {"lookup_paths_1", s.lookup_paths[1], true},
      {"lookup_paths_2", s.lookup_paths[2], true},
      {"lookup_paths_4", s.lookup_paths[3], true},
      {"lookup_paths_8", s.lookup_paths[4], true},
      {"lookup_paths_16", s.lookup_paths[5], true},
      {"lookup_paths_32", s.lookup_paths[6], true},
      {"lookup_paths_64", s.lookup_paths[7], true},
      {"lookup_paths_128", s.lookup_paths[8], true},
      {"lookup_paths_256", s.lookup_paths[9], true},
      {"lookup_paths_512", s.lookup_paths[10], true},
      {"lookup_paths_1024", s.lookup_paths[11], true},
      {"lookup_paths_2048", s.lookup_paths[12], true},
      {"lookup_paths_4096", s.lookup_paths[13], true},
      {"lookup_paths_8192", s.lookup_paths[14], true},
      {"lookup_paths_16384", s.lookup_paths[15], true},
      {"stall_micros", s.stall_micros, true},
      {"stalls", s.stalls, true},
      {"longest_stall_micros", s.longest_stall_micros, false},
      {"stall_l0_micros", s.stall_micros_by[0], true},
      {"stall_memtables_micros", s.stall_micros_by[1], true},
      {"stall_ingest_micros", s.stall_micros_by[2], true},
      {"stall_full_pool_micros", s.stall_micros_by[3], true},
      {"stall_room_micros", s.stall_micros_by[4], true},
      {"stall_lock_micros", s.stall_micros_by[5], true},
      {"stall_range_micros", s.stall_micros_by[6], true},
      {"stall_pages_micros", s.stall_micros_by[7], true},
      {"stall_background_micros", s.stall_micros_by[8], true},
      {"stall_system_micros", s.stall_micros_by[9], true},
      {"stalled_writers", s.stalled_writers, false},
      {"stalled_writer_micros", s.stalled_writer_micros, false},
      {"stalled_writer_reason", s.stalled_writer_reason, false},
      {"memtable_entries", s.memtable_entries, false},
      {"memtable_bytes", s.memtable_bytes, false},
      {"immutable_memtables", s.immutable_memtables, false},
      {"l0_tables", s.l0_tables, false},
      {"l0_entries", s.l0_entries, false},
      {"waiting_tables", s.waiting_tables, false},
      {"l1_entries", s.l1_entries, false},
      {"index_entries", s.index_entries, false},
      {"index_complete", s.index_complete, false},
      {"lookup_cache_entries", s.lookup_cache_entries, false},
      {"lookup_cache_hits", s.lookup_cache_hits, true},
      {"lookup_cache_absences", s.lookup_cache_absences, true},
      {"lookup_cache_misses", s.lookup_cache_misses, true},
      {"second_chance_entries", s.second_chance_entries, false},
      {"memory_bytes", s.memory_bytes, false},
      {"memory_budget_bytes", s.memory_budget_bytes, false},
      {"pool_bytes", s.pool_bytes, false},
      {"pool_used_bytes", s.pool_used_bytes, false},
      {"pool_max_bytes", s.pool_max_bytes, false},
      {"last_sequence", s.last_sequence, false},
      {"snapshots", s.snapshots, false},
      {"open_micros", s.open_micros, false},
      {"recovered_entries", s.recovered_entries, false},
      {"clean_open", s.clean_open, false},
  };
}

}  // namespace braid
