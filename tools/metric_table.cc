#include "tools/metric_table.h"

#include <fmt/format.h>

#include "tools/text_format.h"

namespace braid::tools {
namespace {

constexpr double kMicro = 1e-6;
constexpr const char* kVisits =
    "Nodes of lists that gets have visited, by layer and by region; 0 without lists.count_visits";
constexpr const char* kPaths =
    "Gets by the number of nodes they have visited; 0 without lists.count_visits";
constexpr const char* kStalls = "The same time by what held writers back";
constexpr const char* kStallCodes =
    "Why: 0 nobody is, 1 l0, 2 memtables, 3 ingest, 4 full_pool, 5 room, 6 lock, 7 range, 8 pages, "
    "9 background, 10 system";
constexpr const char* kSpace =
    "What the bytes of the pool are used for; the values of one moment sum up to braid_pool_bytes";
constexpr const char* kRunning = "Pieces of background work under way now, by kind";
constexpr const char* kWorked = "Time that background work took, what is under way up to now";
constexpr const char* kUp = "1 while a process tells what it does with the pool, else 0";
constexpr const char* kInfo = "Always 1; the labels say what the pool is";
constexpr const char* kUptime = "Time since the process began to tell, mostly when it opened";

constexpr const char* kLatency =
    "How long calls and background work took, by kind; of writes, gets and steps of iterators one "
    "in "
    "64 is timed and counts as 64";
// The bounds of buckets are powers of two in nanoseconds: 128 ns to 17 s.
constexpr unsigned kFirstBound = 7;
constexpr unsigned kLastBound = 34;

// A label's value, with the escapes of the format.
std::string LabelValue(std::string_view bytes) {
  std::string text;
  for (const char c : EscapeForTerminal(bytes)) {
    if (c == '\\' || c == '"') text.push_back('\\');
    if (c == '\n') {
      text += "\\n";
    } else {
      text.push_back(c);
    }
  }
  return text;
}

void AppendHead(std::string_view name, std::string_view help, std::string_view type,
                std::string* out) {
  out->append(fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type));
}

std::string Number(uint64_t value, double unit) {
  if (unit == 1) return std::to_string(value);
  return fmt::format("{}", static_cast<double>(value) * unit);
}

void AppendHistogram(const std::string& labels, const LatencyHistogram& of, std::string* out) {
  const auto line = [&](const std::string& le, uint64_t count) {
    out->append(
        fmt::format("braid_latency_seconds_bucket{{{},le=\"{}\"}} {}\n", labels, le, count));
  };
  uint64_t cumulative = 0;
  size_t bucket = 0;
  for (unsigned bound = kFirstBound; bound <= kLastBound; ++bound) {
    const uint64_t nanos = uint64_t{1} << bound;
    for (; bucket < of.buckets.size() && LatencyHistogram::UpperNanos(bucket) <= nanos; ++bucket) {
      cumulative += of.buckets[bucket];
    }
    line(fmt::format("{}", static_cast<double>(nanos) / 1e9), cumulative);
  }
  // All buckets, so that it is never less than the last bound's.
  for (; bucket < of.buckets.size(); ++bucket) cumulative += of.buckets[bucket];
  line("+Inf", cumulative);
  out->append(fmt::format("braid_latency_seconds_sum{{{}}} {}\n", labels,
                          static_cast<double>(of.sum_nanos) / 1e9));
  out->append(fmt::format("braid_latency_seconds_count{{{}}} {}\n", labels, cumulative));
}

}  // namespace

// Long: a table.
const std::vector<Metric>& MetricTable() {
  static const std::vector<Metric> table = {
      {"puts", "braid_puts_total", "", true, 1, "Keys stored, those of batches included"},
      {"deletes", "braid_deletes_total", "", true, 1, "Keys deleted, those of batches included"},
      {"batches", "braid_batches_total", "", true, 1, "Batches written"},
      {"gets", "braid_gets_total", "", true, 1, "Keys looked up"},
      {"gets_found", "braid_gets_found_total", "", true, 1, "Keys looked up that were there"},
      {"iterators", "braid_iterators_total", "", true, 1, "Iterators made"},
      {"bytes_put", "braid_put_bytes_total", "", true, 1, "Bytes of keys and values stored"},
      {"lines_flushed", "braid_flushed_lines_total", "", true, 1,
       "Cache lines written back to the medium"},
      {"fences", "braid_fences_total", "", true, 1, "Fences that waited for write-backs"},
      {"syncs", "braid_syncs_total", "", true, 1, "Rounds of fdatasync on page-cache media"},
      {"flushes", "braid_flushes_total", "", true, 1, "Memtables turned into tables of L0"},
      {"flushed_entries", "braid_flush_entries_total", "", true, 1, "Entries of these memtables"},
      {"flush_micros", "braid_flush_seconds_total", "", true, kMicro, "Time these flushes took"},
      {"merges", "braid_merges_total", "", true, 1,
       "Tables of L0 merged into L1; with `compaction.kind=rewrite` compactions, of any lists"},
      {"merged_entries", "braid_merge_entries_total", "", true, 1, "Entries of these tables"},
      {"overwritten_tables", "braid_overwritten_tables_total", "", true, 1,
       "Merged tables that newer ones had overwritten entirely"},
      {"full_merges", "braid_full_merges_total", "", true, 1,
       "Merges of all of L0 with all of L1 into a new L1"},
      {"merge_micros", "braid_merge_seconds_total", "", true, kMicro, "Time these merges took"},
      {"collected_chunks", "braid_collected_chunks_total", "", true, 1,
       "Chunks freed by garbage collection"},
      {"reclustered_entries", "braid_reclustered_entries_total", "", true, 1,
       "Entries copied next to their neighbours by key"},
      {"passed_entries", "braid_passed_entries_total", "", true, 1,
       "Deleted keys that iterators had to pass on their way"},
      {"region_fallbacks", "braid_region_fallbacks_total", "", true, 1,
       "Allocations that another region than theirs has served"},
      {"upper_visits_local", "braid_node_visits_total", R"(layer="upper",region="local")", true, 1,
       kVisits},
      {"upper_visits_remote", "braid_node_visits_total", R"(layer="upper",region="remote")", true,
       1, kVisits},
      {"bottom_visits_local", "braid_node_visits_total", R"(layer="bottom",region="local")", true,
       1, kVisits},
      {"bottom_visits_remote", "braid_node_visits_total", R"(layer="bottom",region="remote")", true,
       1, kVisits},
      {"lookup_paths_0", "braid_lookup_paths_total", R"(nodes="0")", true, 1, kPaths},
      {"lookup_paths_1", "braid_lookup_paths_total", R"(nodes="1")", true, 1, kPaths},
      {"lookup_paths_2", "braid_lookup_paths_total", R"(nodes="2-3")", true, 1, kPaths},
      {"lookup_paths_4", "braid_lookup_paths_total", R"(nodes="4-7")", true, 1, kPaths},
      {"lookup_paths_8", "braid_lookup_paths_total", R"(nodes="8-15")", true, 1, kPaths},
      {"lookup_paths_16", "braid_lookup_paths_total", R"(nodes="16-31")", true, 1, kPaths},
      {"lookup_paths_32", "braid_lookup_paths_total", R"(nodes="32-63")", true, 1, kPaths},
      {"lookup_paths_64", "braid_lookup_paths_total", R"(nodes="64-127")", true, 1, kPaths},
      {"lookup_paths_128", "braid_lookup_paths_total", R"(nodes="128-255")", true, 1, kPaths},
      {"lookup_paths_256", "braid_lookup_paths_total", R"(nodes="256-511")", true, 1, kPaths},
      {"lookup_paths_512", "braid_lookup_paths_total", R"(nodes="512-1023")", true, 1, kPaths},
      {"lookup_paths_1024", "braid_lookup_paths_total", R"(nodes="1024-2047")", true, 1, kPaths},
      {"lookup_paths_2048", "braid_lookup_paths_total", R"(nodes="2048-4095")", true, 1, kPaths},
      {"lookup_paths_4096", "braid_lookup_paths_total", R"(nodes="4096-8191")", true, 1, kPaths},
      {"lookup_paths_8192", "braid_lookup_paths_total", R"(nodes="8192-16383")", true, 1, kPaths},
      {"lookup_paths_16384", "braid_lookup_paths_total", R"(nodes="16384-")", true, 1, kPaths},
      {"stall_micros", "braid_stall_seconds_total", "", true, kMicro,
       "Time that writers were slowed down or waited, summed over them"},
      {"stalls", "braid_stalls_total", "", true, 1, "Writes that were slowed down or waited"},
      {"longest_stall_micros", "braid_longest_stall_seconds", "", false, kMicro,
       "The longest time that one write was slowed down or waited"},
      {"stall_l0_micros", "braid_stall_reason_seconds_total", R"(reason="l0")", true, kMicro,
       kStalls},
      {"stall_memtables_micros", "braid_stall_reason_seconds_total", R"(reason="memtables")", true,
       kMicro, kStalls},
      {"stall_ingest_micros", "braid_stall_reason_seconds_total", R"(reason="ingest")", true,
       kMicro, kStalls},
      {"stall_full_pool_micros", "braid_stall_reason_seconds_total", R"(reason="full_pool")", true,
       kMicro, kStalls},
      {"stall_room_micros", "braid_stall_reason_seconds_total", R"(reason="room")", true, kMicro,
       kStalls},
      {"stall_lock_micros", "braid_stall_reason_seconds_total", R"(reason="lock")", true, kMicro,
       kStalls},
      {"stall_range_micros", "braid_stall_reason_seconds_total", R"(reason="range")", true, kMicro,
       kStalls},
      {"stall_pages_micros", "braid_stall_reason_seconds_total", R"(reason="pages")", true, kMicro,
       kStalls},
      {"stall_background_micros", "braid_stall_reason_seconds_total", R"(reason="background")",
       true, kMicro, kStalls},
      {"stall_system_micros", "braid_stall_reason_seconds_total", R"(reason="system")", true,
       kMicro, kStalls},
      {"stall_processors_micros", "braid_stall_reason_seconds_total", R"(reason="processors")",
       true, kMicro, kStalls},
      {"stalled_writers", "braid_stalled_writers", "", false, 1,
       "Writers that are held back at this moment"},
      {"stalled_writer_micros", "braid_stalled_writer_seconds", "", false, kMicro,
       "How long the first of them has been held back"},
      {"stalled_writer_reason", "braid_stalled_writer_reason", "", false, 1, kStallCodes},
      {"work_flush_running", "braid_background_running", "work=\"flush\"", false, 1, kRunning},
      {"work_merge_running", "braid_background_running", "work=\"merge\"", false, 1, kRunning},
      {"work_index_running", "braid_background_running", "work=\"index\"", false, 1, kRunning},
      {"work_collect_running", "braid_background_running", "work=\"collect\"", false, 1, kRunning},
      {"work_recluster_running", "braid_background_running", "work=\"recluster\"", false, 1,
       kRunning},
      {"work_count_running", "braid_background_running", "work=\"count\"", false, 1, kRunning},
      {"work_flush_micros", "braid_background_seconds_total", "work=\"flush\"", true, kMicro,
       kWorked},
      {"work_merge_micros", "braid_background_seconds_total", "work=\"merge\"", true, kMicro,
       kWorked},
      {"work_index_micros", "braid_background_seconds_total", "work=\"index\"", true, kMicro,
       kWorked},
      {"work_collect_micros", "braid_background_seconds_total", "work=\"collect\"", true, kMicro,
       kWorked},
      {"work_recluster_micros", "braid_background_seconds_total", "work=\"recluster\"", true,
       kMicro, kWorked},
      {"work_count_micros", "braid_background_seconds_total", "work=\"count\"", true, kMicro,
       kWorked},
      {"memtable_entries", "braid_memtable_entries", "", false, 1, "Entries in the memtables"},
      {"memtable_bytes", "braid_memtable_bytes", "", false, 1, "Bytes of log below the memtables"},
      {"immutable_memtables", "braid_immutable_memtables", "", false, 1,
       "Full memtables that wait for their flush"},
      {"l0_tables", "braid_l0_tables", "", false, 1, "Tables of L0 that wait for their merge"},
      {"l0_entries", "braid_l0_entries", "", false, 1, "Entries in these tables"},
      {"waiting_tables", "braid_waiting_tables", "", false, 1,
       "Tables of L0 that wait for their checkpoint"},
      {"l1_entries", "braid_l1_entries", "", false, 1, "Entries in L1, and below it"},
      {"index_entries", "braid_index_entries", "", false, 1,
       "Entries of L1 that the index in DRAM covers"},
      {"index_complete", "braid_index_complete", "", false, 1,
       "1 when that index covers what it is meant to cover"},
      {"lookup_cache_entries", "braid_lookup_cache_entries", "", false, 1,
       "Buckets of the lookup cache that are in use"},
      {"lookup_cache_hits", "braid_lookup_cache_hits_total", "", true, 1,
       "Gets that the lookup cache answered"},
      {"lookup_cache_absences", "braid_lookup_cache_absences_total", "", true, 1,
       "Gets of keys that the lookup cache knew to be in no table"},
      {"lookup_cache_misses", "braid_lookup_cache_misses_total", "", true, 1,
       "Gets that asked the lookup cache and had to go on to the tables"},
      {"second_chance_entries", "braid_second_chance_entries", "", false, 1,
       "Entries of L1 in the second-chance cache"},
      {"memory_bytes", "braid_memory_bytes", "", false, 1,
       "DRAM of memtables, indexes and filters"},
      {"memory_budget_bytes", "braid_memory_budget_bytes", "", false, 1,
       "What that may grow to (--memory-budget)"},
      {"shared_memory_bytes", "braid_shared_memory_bytes", "", false, 1,
       "DRAM of all databases that share a memory budget with it, its own included; 0: none does"},
      {"shared_budget_bytes", "braid_shared_budget_bytes", "", false, 1,
       "What they may take together"},
      {"shared_databases", "braid_shared_databases", "", false, 1,
       "How many of them are open, this one among them"},
      {"pool_bytes", "braid_pool_bytes", "", false, 1, "Bytes of the pool's files"},
      {"pool_used_bytes", "braid_pool_used_bytes", "", false, 1, "Bytes of them that are in use"},
      {"pool_max_bytes", "braid_pool_limit_bytes", "", false, 1,
       "What the pool may grow to (--max-size); 0: as far as its device goes"},
      {"pool_allocated_bytes", "braid_pool_allocated_bytes", "", false, 1,
       "Bytes that the pool's files take on the file system, holes not among them"},
      {"pool_hole_bytes", "braid_pool_hole_bytes", "", false, 1,
       "Bytes of free chunks whose pages were given back, or may be"},
      {"given_back_bytes", "braid_given_back_bytes_total", "", true, 1,
       "Bytes of the pool's files that were given back to the file system"},
      {"holes_filled_bytes", "braid_holes_filled_bytes_total", "", true, 1,
       "Bytes of these that were asked for again"},
      {"log_bytes", "braid_space_bytes", "level=\"log\",state=\"live\"", false, 1, kSpace},
      {"l0_bytes", "braid_space_bytes", "level=\"l0\",state=\"live\"", false, 1, kSpace},
      {"l0_obsolete_bytes", "braid_space_bytes", "level=\"l0\",state=\"obsolete\"", false, 1,
       kSpace},
      {"l1_bytes", "braid_space_bytes", "level=\"l1\",state=\"live\"", false, 1, kSpace},
      {"l1_obsolete_bytes", "braid_space_bytes", "level=\"l1\",state=\"obsolete\"", false, 1,
       kSpace},
      {"value_bytes", "braid_space_bytes", "level=\"values\",state=\"live\"", false, 1, kSpace},
      {"value_obsolete_bytes", "braid_space_bytes", "level=\"values\",state=\"obsolete\"", false, 1,
       kSpace},
      {"uncounted_bytes", "braid_space_bytes", "level=\"l1\",state=\"uncounted\"", false, 1,
       kSpace},
      {"other_bytes", "braid_space_bytes", "level=\"other\",state=\"live\"", false, 1, kSpace},
      {"pool_free_bytes", "braid_space_bytes", "level=\"none\",state=\"free\"", false, 1, kSpace},
      {"retired_bytes", "braid_retired_bytes", "", false, 1,
       "Bytes of these that are given back once readers and snapshots have left"},
      {"tier_bytes", "braid_tier_bytes", "", false, 1, "Bytes of the tier on its device"},
      {"tier_entries", "braid_tier_entries", "", false, 1,
       "Keys and deletes in the tier; one that went again counts twice until RocksDB compacts it"},
      {"tier_gets", "braid_tier_gets_total", "", true, 1, "Gets that came to the tier"},
      {"tier_gets_found", "braid_tier_gets_found_total", "", true, 1,
       "Gets that the tier had a value for"},
      {"tier_gets_cached", "braid_tier_gets_cached_total", "", true, 1,
       "Gets whose record, or delete, of the tier was in DRAM"},
      {"tier_moved_entries", "braid_tier_moved_entries_total", "", true, 1,
       "Entries moved from the pool to the tier"},
      {"tier_moved_bytes", "braid_tier_moved_bytes_total", "", true, 1,
       "Key and value bytes moved from the pool to the tier"},
      {"last_sequence", "braid_last_sequence", "", false, 1, "Number of the newest update"},
      {"snapshots", "braid_snapshots", "", false, 1, "Live snapshots and iterators"},
      {"open_micros", "braid_open_seconds", "", false, kMicro, "Time that opening the pool took"},
      {"recovered_entries", "braid_recovered_entries", "", false, 1,
       "Entries of the log that the open has replayed"},
      {"clean_open", "braid_clean_open", "", false, 1, "1 when the last close was in order"},
  };
  return table;
}

std::string MetricsText(const MetricsSource& source) {
  const std::string pool = fmt::format("pool=\"{}\"", LabelValue(source.pool));
  std::string text;
  AppendHead("braid_up", kUp, "gauge", &text);
  text += fmt::format("braid_up{{{}}} {}\n", pool, source.snapshot == nullptr ? 0 : 1);
  if (!source.facts.empty()) {
    AppendHead("braid_info", kInfo, "gauge", &text);
    text += fmt::format("braid_info{{{}", pool);
    for (const auto& [name, value] : source.facts) {
      text += fmt::format(",{}=\"{}\"", name, LabelValue(value));
    }
    text += "} 1\n";
  }
  if (source.snapshot == nullptr) return text;
  AppendHead("braid_uptime_seconds", kUptime, "gauge", &text);
  text += fmt::format("braid_uptime_seconds{{{}}} {}\n", pool, source.snapshot->seconds);
  std::string_view headed;
  for (const Metric& metric : MetricTable()) {
    const std::optional<uint64_t> value = source.snapshot->Value(metric.field);
    if (!value) continue;
    if (headed != metric.name) {
      AppendHead(metric.name, metric.help, metric.counter ? "counter" : "gauge", &text);
    }
    headed = metric.name;
    const std::string label = *metric.label == '\0' ? "" : std::string(",") + metric.label;
    text += fmt::format("{}{{{}{}}} {}\n", metric.name, pool, label, Number(*value, metric.unit));
  }
  if (source.snapshot->latencies.empty()) return text;
  AppendHead("braid_latency_seconds", kLatency, "histogram", &text);
  for (const auto& [kind, of] : source.snapshot->latencies) {
    AppendHistogram(fmt::format("{},kind=\"{}\"", pool, LabelValue(kind)), of, &text);
  }
  return text;
}

std::string MetricsPage() {
  std::string text =
      "# Metrics\n"
      "\n"
      "What `braid metrics POOL` prints and `braid metrics POOL --listen PORT` serves, in the "
      "text\n"
      "format of Prometheus. Every line has the label `pool`, the path. Counters begin at 0 when "
      "a\n"
      "process opens the pool. The column *field* names the same number in `braid stat --json`, "
      "in\n"
      "`POOL.stats.json` and in `DB::GetStatistics()`, where times are microseconds. The [user\n"
      "guide](user-guide.md) says which of them deserve an alert.\n"
      "\n"
      "This page is made by `braid metrics --markdown`; `scripts/docs.sh` renews it.\n"
      "\n"
      "| metric | type | labels | field | what it is |\n"
      "|---|---|---|---|---|\n";
  text += fmt::format("| `braid_up` | gauge | | | {} |\n", kUp);
  text += fmt::format(
      "| `braid_info` | gauge | `design`, `media_class`, `format`, `version` | | "
      "{} |\n",
      kInfo);
  text += fmt::format("| `braid_uptime_seconds` | gauge | | `seconds` | {} |\n", kUptime);
  for (const Metric& metric : MetricTable()) {
    const std::string label = *metric.label == '\0' ? " " : fmt::format(" `{}` ", metric.label);
    text += fmt::format("| `{}` | {} |{}| `{}` | {} |\n", metric.name,
                        metric.counter ? "counter" : "gauge", label, metric.field, metric.help);
  }
  text += fmt::format(
      "| `braid_latency_seconds` | histogram | `kind` | `latency_KIND_...` | {} |\n", kLatency);
  return text;
}

}  // namespace braid::tools
