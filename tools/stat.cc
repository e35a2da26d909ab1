// braid stat POOL: opens a pool and prints its statistics.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/pool_flags.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

constexpr const char* kRegions = "regions since the open";

struct Group {
  const char* title;
  std::vector<const char*> fields;
};

// Fields that a group does not name are printed last, so that a new counter is never hidden.
const std::vector<Group>& Groups() {
  static const std::vector<Group> groups = {
      {"open", {"open_micros", "recovered_entries", "clean_open"}},
      {"tables now",
       {"memtable_entries", "memtable_bytes", "immutable_memtables", "waiting_tables", "l0_tables",
        "l0_entries", "l1_entries", "index_entries", "index_complete", "lookup_cache_entries",
        "second_chance_entries", "last_sequence", "snapshots"}},
      {"memory now",
       {"memory_bytes", "memory_budget_bytes", "shared_memory_bytes", "shared_budget_bytes",
        "shared_databases"}},
      {"pool now",
       {"pool_bytes", "pool_used_bytes", "pool_max_bytes", "pool_allocated_bytes",
        "pool_hole_bytes"}},
      {"space now",
       {"log_bytes", "l0_bytes", "l0_obsolete_bytes", "l1_bytes", "l1_obsolete_bytes",
        "value_bytes", "value_obsolete_bytes", "uncounted_bytes", "other_bytes", "pool_free_bytes",
        "retired_bytes"}},
      {"the tier",
       {"tier_bytes", "tier_entries", "tier_gets", "tier_gets_found", "tier_gets_cached",
        "tier_moved_entries", "tier_moved_bytes"}},
      {"operations since the open",
       {"puts", "deletes", "batches", "gets", "gets_found", "lookup_cache_hits",
        "lookup_cache_absences", "lookup_cache_misses", "iterators", "passed_entries",
        "bytes_put"}},
      {"durability since the open", {"lines_flushed", "fences", "syncs"}},
      {"background work since the open",
       {"flushes",
        "flushed_entries",
        "merges",
        "merged_entries",
        "overwritten_tables",
        "full_merges",
        "collected_chunks",
        "reclustered_entries",
        "given_back_bytes",
        "holes_filled_bytes",
        "flush_micros",
        "merge_micros",
        "stall_micros",
        "stalls",
        "longest_stall_micros",
        "stall_l0_micros",
        "stall_memtables_micros",
        "stall_ingest_micros",
        "stall_full_pool_micros",
        "stall_room_micros",
        "stall_lock_micros",
        "stall_range_micros",
        "stall_pages_micros",
        "stall_background_micros",
        "stall_system_micros",
        "stall_processors_micros"}},
      {"background time since the open",
       {"work_flush_micros", "work_merge_micros", "work_index_micros", "work_collect_micros",
        "work_recluster_micros", "work_count_micros"}},
      {"background work now",
       {"work_flush_running", "work_merge_running", "work_index_running", "work_collect_running",
        "work_recluster_running", "work_count_running"}},
      {"writers held back now",
       {"stalled_writers", "stalled_writer_micros", "stalled_writer_reason"}},
      {kRegions,
       {"region_fallbacks", "upper_visits_local", "upper_visits_remote", "bottom_visits_local",
        "bottom_visits_remote"}},
  };
  return groups;
}

std::string ValueText(const StatisticsField& field) {
  const std::string_view name = field.name;
  std::string text = GroupDigits(field.value);
  if (name.find("bytes") != std::string_view::npos && field.value >= 1024) {
    text += fmt::format(" ({})", SizeText(field.value));
  } else if (name.ends_with("_micros") && field.value >= 1000) {
    text += fmt::format(" ({})", DurationText(static_cast<double>(field.value) / 1e6));
  }
  return text;
}

class StatVerb final : public Verb {
 public:
  std::string name() const override { return "stat"; }
  std::string summary() const override { return "open a pool and print its statistics"; }
  std::string description() const override {
    return "Opens a pool and prints the statistics of the store: how the open went, how large "
           "everything is, what background work was done. The numbers of a pool that a program has "
           "open come from braid metrics and braid top.";
  }

  void Configure(CLI::App& app) override {
    pool_.AddTo(app);
    app.add_option("FIELD", field_, "print the value of this field alone")->type_name("");
    AddJsonFlag(app, &json_, "print all fields as one object");
    app.footer(
        "Counters begin with the open, so those of operations are those of this command.\n"
        "\n"
        "Example: braid stat POOL open_micros");
  }

  int Run() override {
    auto opened = pool_.OpenToRead();
    if (!opened.ok()) return Fail(opened.status());
    DB& db = **opened;
    const Statistics statistics = db.GetStatistics();
    const std::vector<StatisticsField> fields = ListFields(statistics);
    Output out;
    if (!field_.empty()) {
      const auto found = std::find_if(fields.begin(), fields.end(),
                                      [this](const auto& field) { return field_ == field.name; });
      if (found == fields.end()) {
        return Fail(fmt::format("unknown field '{}': 'braid stat POOL' lists the fields", field_));
      }
      out.WriteLine(json_ ? fmt::format("{{\"{}\":{}}}", found->name, found->value)
                          : std::to_string(found->value));
    } else if (json_) {
      PrintJson(statistics, fields, &out);
    } else {
      PrintText(statistics, fields, &out);
    }
    return out.Finish(CloseAndReturn(db, kExitOk));
  }

 private:
  static void PrintJson(const Statistics& statistics, const std::vector<StatisticsField>& fields,
                        Output* out) {
    nlohmann::ordered_json object;
    object["design"] = statistics.design;
    object["media_class"] = MediaClassName(statistics.media_class);
    object["media_class_forced"] = statistics.media_class_forced;
    for (const StatisticsField& field : fields) object[field.name] = field.value;
    out->WriteLine(object.dump());
  }

  /// The histogram of lookups by the length of their path, as one line of "from:count".
  static void PrintPaths(std::vector<StatisticsField>* fields, Output* out) {
    constexpr std::string_view kPrefix = "lookup_paths_";
    std::string text;
    for (const StatisticsField& field : *fields) {
      const std::string_view name = field.name;
      if (!name.starts_with(kPrefix) || field.value == 0) continue;
      text += fmt::format(" {}:{}", name.substr(kPrefix.size()), GroupDigits(field.value));
    }
    std::erase_if(*fields,
                  [&](const auto& f) { return std::string_view(f.name).starts_with(kPrefix); });
    out->WriteLine(fmt::format("  {:<25}{}", "lookup_paths", text.empty() ? " none" : text));
  }

  /// What was timed, a line a kind. Takes the fields out.
  static void PrintLatencies(const Statistics& statistics, std::vector<StatisticsField>* fields,
                             Output* out) {
    std::erase_if(*fields,
                  [](const auto& f) { return std::string_view(f.name).starts_with("latency_"); });
    out->WriteLine(fmt::format("\n{:<28}{:>12}{:>11}{:>11}{:>11}{:>11}{:>11}",
                               "latencies since the open", "count", "mean", "p50", "p99", "p99.9",
                               "longest"));
    for (size_t i = 0; i < kLatencyKinds; ++i) {
      const LatencyHistogram& of = statistics.latencies[i];
      std::string line = fmt::format("  {:<26}{:>12}", LatencyKindName(static_cast<LatencyKind>(i)),
                                     GroupDigits(of.count));
      for (const uint64_t nanos : {of.MeanNanos(), of.Percentile(50), of.Percentile(99),
                                   of.Percentile(99.9), of.max_nanos}) {
        line += fmt::format("{:>11}", of.count == 0 ? "-" : NanosText(nanos));
      }
      out->WriteLine(line);
    }
  }

  static void PrintText(const Statistics& statistics, std::vector<StatisticsField> fields,
                        Output* out) {
    out->WriteLine(fmt::format("design {}, media class {}{}", statistics.design,
                               MediaClassName(statistics.media_class),
                               statistics.media_class_forced ? " (forced)" : ""));
    for (const Group& group : Groups()) {
      out->WriteLine(fmt::format("\n{}", group.title));
      for (const char* name : group.fields) {
        const auto field = std::find_if(fields.begin(), fields.end(), [name](const auto& f) {
          return std::strcmp(f.name, name) == 0;
        });
        if (field == fields.end()) continue;
        out->WriteLine(fmt::format("  {:<26}{}", field->name, ValueText(*field)));
        fields.erase(field);
      }
      if (std::strcmp(group.title, kRegions) == 0) PrintPaths(&fields, out);
    }
    PrintLatencies(statistics, &fields, out);
    if (!fields.empty()) out->WriteLine("\nother");
    for (const StatisticsField& field : fields) {
      out->WriteLine(fmt::format("  {:<26}{}", field.name, ValueText(field)));
    }
  }

  PoolFlags pool_;
  std::string field_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Verb> MakeStatVerb() { return std::make_unique<StatVerb>(); }

}  // namespace braid::tools
