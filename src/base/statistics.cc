// Purpose: the fields of Statistics by name.
// Thread safety: pure.
// Persistence: none.
#include "braid/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/log_linear.h"

namespace braid {

namespace {

using Buckets = base::LogLinear<3>;
static_assert(Buckets::Index((uint64_t{1} << 37) - 1) + 1 == LatencyHistogram::kBuckets);

constexpr std::array<const char*, 6> kLatencyFields = {"count",     "sum_nanos",  "p50_nanos",
                                                       "p99_nanos", "p999_nanos", "max_nanos"};
using FieldName = std::array<char, 32>;

/// "latency_get_count" and the others, made once: a program that ends may still be asking.
constexpr auto kLatencyNames = [] {
  std::array<std::array<FieldName, kLatencyFields.size()>, kLatencyKinds> names{};
  for (size_t kind = 0; kind < kLatencyKinds; ++kind) {
    for (size_t field = 0; field < kLatencyFields.size(); ++field) {
      size_t at = 0;
      for (const char* part : {"latency_", LatencyKindName(static_cast<LatencyKind>(kind)), "_",
                               kLatencyFields[field]}) {
        for (; *part != 0; ++part) names[kind][field][at++] = *part;
      }
    }
  }
  return names;
}();

void AppendLatencies(const Statistics& s, std::vector<StatisticsField>* fields) {
  for (size_t kind = 0; kind < kLatencyKinds; ++kind) {
    const LatencyHistogram& of = s.latencies[kind];
    const std::array<uint64_t, kLatencyFields.size()> values = {
        of.count,          of.sum_nanos,        of.Percentile(50),
        of.Percentile(99), of.Percentile(99.9), of.max_nanos};
    for (size_t i = 0; i < values.size(); ++i) {
      fields->push_back({kLatencyNames[kind][i].data(), values[i], i < 2});
    }
  }
}

}  // namespace

size_t LatencyHistogram::BucketOf(uint64_t nanos) noexcept {
  return std::min(Buckets::Index(nanos), kBuckets - 1);
}
uint64_t LatencyHistogram::LowerNanos(size_t bucket) noexcept { return Buckets::Lower(bucket); }
uint64_t LatencyHistogram::UpperNanos(size_t bucket) noexcept {
  return bucket + 1 < kBuckets ? Buckets::Upper(bucket) : ~uint64_t{0};
}

uint64_t LatencyHistogram::Percentile(double percent) const noexcept {
  if (count == 0) return 0;
  if (percent >= 100) return max_nanos;
  const double rank = std::max(std::ceil(percent / 100 * static_cast<double>(count)), 1.0);
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets[i];
    if (static_cast<double>(seen) < rank) continue;
    const uint64_t lower = LowerNanos(i);
    const uint64_t upper = std::min(UpperNanos(i), std::max(lower, max_nanos));
    return lower + (upper - lower) / 2;
  }
  return max_nanos;
}

LatencyHistogram LatencyHistogram::Since(const LatencyHistogram& earlier) const noexcept {
  LatencyHistogram growth;
  for (size_t i = 0; i < kBuckets; ++i) {
    if (buckets[i] < earlier.buckets[i]) return *this;
    growth.buckets[i] = buckets[i] - earlier.buckets[i];
    growth.count += growth.buckets[i];
    if (growth.buckets[i] != 0) growth.max_nanos = UpperNanos(i);
  }
  growth.max_nanos = std::min(growth.max_nanos, max_nanos);
  growth.sum_nanos = sum_nanos - std::min(sum_nanos, earlier.sum_nanos);
  return growth;
}

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
  std::vector<StatisticsField> fields = {
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
      {"overwritten_tables", s.overwritten_tables, true},
      {"full_merges", s.full_merges, true},
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
      {"stall_processors_micros", s.stall_micros_by[10], true},
      {"stalled_writers", s.stalled_writers, false},
      {"stalled_writer_micros", s.stalled_writer_micros, false},
      {"stalled_writer_reason", s.stalled_writer_reason, false},
  };
  AppendLatencies(s, &fields);
  fields.insert(fields.end(), {
                                  {"work_flush_running", s.work_running[0], false},
                                  {"work_merge_running", s.work_running[1], false},
                                  {"work_index_running", s.work_running[2], false},
                                  {"work_collect_running", s.work_running[3], false},
                                  {"work_recluster_running", s.work_running[4], false},
                                  {"work_count_running", s.work_running[5], false},
                                  {"work_flush_micros", s.work_micros[0], true},
                                  {"work_merge_micros", s.work_micros[1], true},
                                  {"work_index_micros", s.work_micros[2], true},
                                  {"work_collect_micros", s.work_micros[3], true},
                                  {"work_recluster_micros", s.work_micros[4], true},
                                  {"work_count_micros", s.work_micros[5], true},
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
                                  {"shared_memory_bytes", s.shared_memory_bytes, false},
                                  {"shared_budget_bytes", s.shared_budget_bytes, false},
                                  {"shared_databases", s.shared_databases, false},
                                  {"pool_bytes", s.pool_bytes, false},
                                  {"pool_used_bytes", s.pool_used_bytes, false},
                                  {"pool_max_bytes", s.pool_max_bytes, false},
                                  {"pool_allocated_bytes", s.pool_allocated_bytes, false},
                                  {"pool_hole_bytes", s.pool_hole_bytes, false},
                                  {"given_back_bytes", s.given_back_bytes, true},
                                  {"holes_filled_bytes", s.holes_filled_bytes, true},
                                  {"log_bytes", s.log_bytes, false},
                                  {"l0_bytes", s.l0_bytes, false},
                                  {"l0_obsolete_bytes", s.l0_obsolete_bytes, false},
                                  {"l1_bytes", s.l1_bytes, false},
                                  {"l1_obsolete_bytes", s.l1_obsolete_bytes, false},
                                  {"value_bytes", s.value_bytes, false},
                                  {"value_obsolete_bytes", s.value_obsolete_bytes, false},
                                  {"uncounted_bytes", s.uncounted_bytes, false},
                                  {"other_bytes", s.other_bytes, false},
                                  {"pool_free_bytes", s.pool_free_bytes, false},
                                  {"retired_bytes", s.retired_bytes, false},
                                  {"tier_bytes", s.tier_bytes, false},
                                  {"tier_entries", s.tier_entries, false},
                                  {"tier_gets", s.tier_gets, true},
                                  {"tier_gets_found", s.tier_gets_found, true},
                                  {"tier_gets_cached", s.tier_gets_cached, true},
                                  {"tier_moved_entries", s.tier_moved_entries, true},
                                  {"tier_moved_bytes", s.tier_moved_bytes, true},
                                  {"last_sequence", s.last_sequence, false},
                                  {"snapshots", s.snapshots, false},
                                  {"open_micros", s.open_micros, false},
                                  {"recovered_entries", s.recovered_entries, false},
                                  {"clean_open", s.clean_open, false},
                              });
  return fields;
}

}  // namespace braid
