// Purpose: the fields of Statistics by name. Thread safety: pure. Persistence: none.
#include "braid/statistics.h"

namespace braid {

std::vector<StatisticsField> ListFields(const Statistics& s) {
  return {
      {"puts", s.puts, true},
      {"deletes", s.deletes, true},
      {"batches", s.batches, true},
      {"gets", s.gets, true},
      {"gets_found", s.gets_found, true},
      {"iterators", s.iterators, true},
      {"bytes_put", s.bytes_put, true},
      {"lines_flushed", s.lines_flushed, true},
      {"fences", s.fences, true},
      {"syncs", s.syncs, true},
      {"flushes", s.flushes, true},
      {"flushed_entries", s.flushed_entries, true},
      {"merges", s.merges, true},
      {"merged_entries", s.merged_entries, true},
      {"collected_chunks", s.collected_chunks, true},
      {"stall_micros", s.stall_micros, true},
      {"stalls", s.stalls, true},
      {"memtable_entries", s.memtable_entries, false},
      {"memtable_bytes", s.memtable_bytes, false},
      {"immutable_memtables", s.immutable_memtables, false},
      {"l0_tables", s.l0_tables, false},
      {"l0_entries", s.l0_entries, false},
      {"l1_entries", s.l1_entries, false},
      {"index_entries", s.index_entries, false},
      {"index_complete", s.index_complete, false},
      {"lookup_cache_entries", s.lookup_cache_entries, false},
      {"lookup_cache_hits", s.lookup_cache_hits, true},
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
