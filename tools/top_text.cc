#include "tools/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "braid/statistics.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

struct Counter {
  const char* label;
  const char* field;
  const char* latency;  ///< of LatencyKindName
};
constexpr std::array<Counter, 6> kCounters = {{{"put", "puts", "put"},
                                               {"delete", "deletes", ""},
                                               {"get", "gets", "get"},
                                               {"iterator", "iterators", "seek"},
                                               {"flush", "flushed_entries", "flush"},
                                               {"merge", "merged_entries", "merge"}}};
/// Shown where there were some.
constexpr std::array<Counter, 3> kRareCounters = {
    {{"batch", "batches", "batch"}, {"multi-get", "", "multi_get"}, {"sync", "syncs", "sync"}}};
constexpr int kShareBarWidth = 24;
/// From here on there is room for averages and p99.9.
constexpr size_t kWideColumns = 98;
constexpr std::string_view kNothing = "-";
constexpr size_t kDots = 3;  // of a text that was cut

std::string Whole(std::optional<double> number) {
  if (!number) return std::string(kNothing);
  return GroupDigits(static_cast<uint64_t>(std::llround(std::max(0.0, *number))));
}

/// Sum of two rates; none when both are.
std::optional<double> Sum(std::optional<double> a, std::optional<double> b) {
  if (!a && !b) return std::nullopt;
  return a.value_or(0) + b.value_or(0);
}

std::optional<double> Ratio(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || *b <= 0) return std::nullopt;
  return *a / *b;
}

std::string Decimal(std::optional<double> number) {
  return number ? fmt::format("{:.2f}", *number) : std::string(kNothing);
}

std::string Count(const StatsSnapshot& now, std::string_view field) {
  const std::optional<uint64_t> value = now.Value(field);
  return value ? GroupDigits(*value) : std::string(kNothing);
}

std::string Size(const StatsSnapshot& now, std::string_view field) {
  const std::optional<uint64_t> value = now.Value(field);
  return value ? SizeText(*value) : std::string(kNothing);
}

/// Writers' waiting, as a share of one thread's time.
std::optional<double> StallPercent(const StatsSnapshot& now, const StatsSnapshot* before) {
  const std::optional<double> micros = RateOf("stall_micros", now, before);
  if (!micros) return std::nullopt;
  return *micros / 1e4;
}

/// A counter for each put and delete, background work included.
std::optional<double> PerWrite(const char* counter, const StatsSnapshot& now,
                               const StatsSnapshot* before) {
  return Ratio(RateOf(counter, now, before),
               Sum(RateOf("puts", now, before), RateOf("deletes", now, before)));
}

std::string Meter(const char* label, const StatsSnapshot& now, const char* used_field,
                  const char* limit_field) {
  const std::optional<uint64_t> used = now.Value(used_field);
  const std::optional<uint64_t> limit = now.Value(limit_field);
  if (!used) return {};
  std::string line = fmt::format("  {:<12}", label);
  if (limit && *limit > 0) {
    const double share = static_cast<double>(*used) / static_cast<double>(*limit);
    const int filled = static_cast<int>(std::lround(std::min(1.0, share) * kShareBarWidth));
    line += fmt::format("[{:#<{}}{:-<{}}] {:>3.0f} %  ", "", filled, "", kShareBarWidth - filled,
                        share * 100);
  }
  line += SizeText(*used);
  if (limit && *limit > 0) line += " of " + SizeText(*limit);
  return line + "\n";
}

/// What was timed since `before`; since the open without it.
LatencyHistogram LatencyOf(std::string_view kind, const StatsSnapshot& now,
                           const StatsSnapshot* before) {
  const LatencyHistogram* to = now.Latency(kind);
  if (to == nullptr) return {};
  const LatencyHistogram* from = before == nullptr ? nullptr : before->Latency(kind);
  return from == nullptr ? *to : to->Since(*from);
}

std::string RateRow(const Counter& counter, const StatsSnapshot& now, const StatsSnapshot* before,
                    bool wide) {
  const std::optional<uint64_t> total = now.Value(counter.field);
  std::string text =
      fmt::format("  {:<12}{:>12}", counter.label, Whole(RateOf(counter.field, now, before)));
  std::optional<double> average;
  if (total && now.seconds > 0) average = static_cast<double>(*total) / now.seconds;
  if (wide) text += fmt::format("{:>14}", Whole(average));
  text += fmt::format("{:>17}", total ? GroupDigits(*total) : std::string(kNothing));
  if (now.latencies.empty()) return text + "\n";
  const LatencyHistogram of = LatencyOf(counter.latency, now, before);
  const auto append = [&](uint64_t nanos) {
    text += fmt::format("{:>10}", of.count == 0 ? std::string(kNothing) : NanosText(nanos));
  };
  append(of.Percentile(50));
  append(of.Percentile(99));
  if (wide) append(of.Percentile(99.9));
  append(of.Percentile(100));
  return text + "\n";
}

std::string RateRows(const StatsSnapshot& now, const StatsSnapshot* before, size_t columns) {
  const bool wide = columns >= kWideColumns;
  std::string text = fmt::format("  {:<12}{:>12}", "", "a second");
  if (wide) text += fmt::format("{:>14}", "on average");
  text += fmt::format("{:>17}", "since the open");
  if (!now.latencies.empty()) {
    text += fmt::format("{:>10}{:>10}", "p50", "p99");
    if (wide) text += fmt::format("{:>10}", "p99.9");
    text += fmt::format("{:>10}", "longest");
  }
  text += "\n";
  for (const Counter& counter : kCounters) {
    if (now.Value(counter.field)) text += RateRow(counter, now, before, wide);
  }
  for (const Counter& counter : kRareCounters) {
    const LatencyHistogram* of = now.Latency(counter.latency);
    if (of != nullptr && of->count != 0) text += RateRow(counter, now, before, wide);
  }
  return text;
}

std::string CostRow(const StatsSnapshot& now, const StatsSnapshot* before) {
  const std::optional<double> stalls = StallPercent(now, before);
  return fmt::format("  {:<12}{} lines flushed, {} fences; stalled {} of a thread's time\n",
                     "a write", Decimal(PerWrite("lines_flushed", now, before)),
                     Decimal(PerWrite("fences", now, before)),
                     stalls ? fmt::format("{:.1f} %", *stalls) : std::string(kNothing));
}

/// "l0 10.2 %, pages 1.0 %": reasons by the share of a thread's time since `before`.
std::string ReasonsOf(const StatsSnapshot& now, const StatsSnapshot* before) {
  std::string text;
  for (size_t i = 0; i < kStallReasons; ++i) {
    const char* name = StallReasonName(static_cast<StallReason>(i));
    const std::optional<double> micros = RateOf(fmt::format("stall_{}_micros", name), now, before);
    if (!micros || *micros < 1e3) continue;
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : ", ", name, *micros / 1e4);
  }
  return text;
}

/// The same since the open, as times, the most first.
std::string ReasonsSinceOpen(const StatsSnapshot& now) {
  std::vector<std::pair<uint64_t, const char*>> reasons;
  for (size_t i = 0; i < kStallReasons; ++i) {
    const char* name = StallReasonName(static_cast<StallReason>(i));
    const uint64_t micros = now.Value(fmt::format("stall_{}_micros", name)).value_or(0);
    if (micros != 0) reasons.emplace_back(micros, name);
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [micros, name] : reasons) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        DurationText(static_cast<double>(micros) / 1e6));
  }
  return text;
}

/// Who is held back now, and what held writers back since `before` and since the open.
std::string StallRows(const StatsSnapshot& now, const StatsSnapshot* before) {
  const std::optional<uint64_t> writers = now.Value("stalled_writers");
  if (!writers) return {};  // from a program that does not tell
  std::string text = fmt::format("  {:<12}", "held back");
  if (*writers == 0) {
    text += "no writer now";
  } else {
    const auto reason =
        static_cast<StallReason>(now.Value("stalled_writer_reason").value_or(1) - 1);
    text += fmt::format(
        "{} writer{} now, the first for {}: {}", *writers, *writers == 1 ? "" : "s",
        DurationText(static_cast<double>(now.Value("stalled_writer_micros").value_or(0)) / 1e6),
        StallReasonName(reason));
  }
  if (const std::string reasons = ReasonsOf(now, before); !reasons.empty()) {
    text += fmt::format("\n  {:<12}by reason: {}", "", reasons);
  }
  const uint64_t stalls = now.Value("stalls").value_or(0);
  if (stalls == 0) return text + "\n";
  const auto time = [&](const char* field) {
    return DurationText(static_cast<double>(now.Value(field).value_or(0)) / 1e6);
  };
  return text + fmt::format("\n  {:<12}since the open {} stalls, {}, the longest {}\n  {:<12}{}\n",
                            "", GroupDigits(stalls), time("stall_micros"),
                            time("longest_stall_micros"), "", ReasonsSinceOpen(now));
}

/// What the background does now, and the share of a thread's time that it took.
std::string WorkRow(const StatsSnapshot& now, const StatsSnapshot* before) {
  if (!now.Value("work_flush_running")) return {};  // from a program that does not tell
  std::string running;
  std::string shares;
  for (size_t i = 0; i < kBackgroundWorks; ++i) {
    const char* name = BackgroundWorkName(static_cast<BackgroundWork>(i));
    const uint64_t pieces = now.Value(fmt::format("work_{}_running", name)).value_or(0);
    if (pieces != 0) {
      running += fmt::format("{}{}", running.empty() ? "" : ", ", name);
      if (pieces > 1) running += fmt::format(" ({})", pieces);
    }
    const std::optional<double> micros = RateOf(fmt::format("work_{}_micros", name), now, before);
    if (!micros || *micros < 1e3) continue;
    shares += fmt::format("{}{} {:.0f} %", shares.empty() ? "" : ", ", name, *micros / 1e4);
  }
  std::string text = fmt::format("  {:<12}{}\n", "background", running.empty() ? "idle" : running);
  if (!shares.empty()) text += fmt::format("  {:<12}of a thread's time {}\n", "", shares);
  return text;
}

std::string LevelRow(const char* label, const StatsSnapshot& now, const char* entries,
                     const char* live, const char* obsolete, const std::string& remark) {
  const bool known = now.Value("pool_free_bytes").has_value();
  std::string text =
      fmt::format("  {:<12}{:>14}", label, *entries == 0 ? std::string() : Count(now, entries));
  if (known) {
    text += fmt::format("{:>12}{:>12}", Size(now, live),
                        *obsolete == 0 ? std::string() : Size(now, obsolete));
  }
  return text + (remark.empty() ? "" : "  " + remark) + "\n";
}

std::string LevelRows(const StatsSnapshot& now) {
  const bool known = now.Value("pool_free_bytes").has_value();
  std::string text = fmt::format("  {:<12}{:>14}", "", "entries");
  if (known) text += fmt::format("{:>12}{:>12}", "live", "obsolete");
  text += "\n";
  text += LevelRow("memtables", now, "memtable_entries", "log_bytes", "",
                   fmt::format("{} immutable", Count(now, "immutable_memtables")));
  text +=
      LevelRow("L0", now, "l0_entries", "l0_bytes", "l0_obsolete_bytes",
               fmt::format("{} table{}, {} wait", Count(now, "l0_tables"),
                           now.Value("l0_tables") == 1u ? "" : "s", Count(now, "waiting_tables")));
  const bool building = now.Value("index_complete").value_or(1) == 0;
  text += LevelRow(
      "L1", now, "l1_entries", "l1_bytes", "l1_obsolete_bytes",
      fmt::format("{} indexed{}", Count(now, "index_entries"), building ? ", being built" : ""));
  if (!known) return text;
  const auto has = [&](const char* field) { return now.Value(field).value_or(0) != 0; };
  if (has("value_bytes") || has("value_obsolete_bytes")) {
    text += LevelRow("values", now, "", "value_bytes", "value_obsolete_bytes", "");
  }
  if (has("uncounted_bytes")) {
    text += LevelRow("uncounted", now, "", "uncounted_bytes", "", "of earlier sessions");
  }
  return text;
}

uint64_t SumOf(const StatsSnapshot& now, std::initializer_list<const char*> fields) {
  uint64_t sum = 0;
  for (const char* field : fields) sum += now.Value(field).value_or(0);
  return sum;
}

/// The pool as a bar: live, obsolete, free.
std::string PoolMeter(const StatsSnapshot& now, size_t columns) {
  const uint64_t all = now.Value("pool_bytes").value_or(0);
  if (!now.Value("pool_free_bytes") || all == 0) {
    return Meter("pool", now, "pool_used_bytes", "pool_bytes");
  }
  const uint64_t free = *now.Value("pool_free_bytes");
  const uint64_t obsolete =
      SumOf(now, {"l0_obsolete_bytes", "l1_obsolete_bytes", "value_obsolete_bytes"});
  const auto width = [&](uint64_t bytes) {
    const double share = static_cast<double>(bytes) / static_cast<double>(all);
    return static_cast<int>(std::lround(std::min(1.0, share) * kShareBarWidth));
  };
  const int filled = width(all - std::min(all, free));
  const int dead = std::min(filled, width(obsolete));
  const std::string bar = fmt::format("  {:<12}[{:#<{}}{:=<{}}{:-<{}}]", "pool", "", filled - dead,
                                      "", dead, "", kShareBarWidth - filled);
  return fmt::format("{}{}{} # live, {} = obsolete, {} - free\n", bar,
                     columns >= kWideColumns ? " " : "\n              ",
                     SizeText(all - std::min(all, free + obsolete)), SizeText(obsolete),
                     SizeText(free));
}

/// Lines cut at `columns`.
std::string CutLines(const std::string& text, size_t columns) {
  std::string cut;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    // Bytes, not letters: a path in another script is cut early, never too late.
    cut += line.size() <= columns ? std::string(line)
                                  : Shortened(line, columns > kDots ? columns - kDots : 0);
    cut += "\n";
    begin = end + 1;
  }
  return cut;
}

}  // namespace

std::optional<double> RateOf(std::string_view name, const StatsSnapshot& now,
                             const StatsSnapshot* before) {
  if (before == nullptr || now.seconds <= before->seconds) return std::nullopt;
  const std::optional<uint64_t> to = now.Value(name);
  const std::optional<uint64_t> from = before->Value(name);
  if (!to || !from || *to < *from) return std::nullopt;
  return static_cast<double>(*to - *from) / (now.seconds - before->seconds);
}

std::string TopScreen(const std::string& pool, const StatsSnapshot& now,
                      const StatsSnapshot* before, size_t columns) {
  std::string text = fmt::format("braid top  {}\n", EscapeForTerminal(pool));
  text += fmt::format("  process {}, open for {}\n  {}\n\n", now.pid, DurationText(now.seconds),
                      EscapeForTerminal(now.about));
  text += RateRows(now, before, columns) + "\n" + CostRow(now, before) + StallRows(now, before) +
          WorkRow(now, before) + "\n" + LevelRows(now) + "\n";
  text += Meter("memory", now, "memory_bytes", "memory_budget_bytes");
  // Zero: it shares its memory budget with no other.
  if (now.Value("shared_databases").value_or(0) > 0) {
    text += Meter("  of all", now, "shared_memory_bytes", "shared_budget_bytes");
  }
  text += PoolMeter(now, columns);
  return CutLines(text, columns);
}

std::string TopHeader() {
  return fmt::format("{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}{:>8}{:>9}{:>12}{:>12}", "put/s",
                     "delete/s", "get/s", "iterator/s", "flush/s", "merge/s", "stall %", "lines/wr",
                     "memory", "pool");
}

std::string TopLine(const StatsSnapshot& now, const StatsSnapshot* before) {
  std::string line;
  for (const Counter& counter : kCounters) {
    line += fmt::format("{:>12}", Whole(RateOf(counter.field, now, before)));
  }
  const std::optional<double> stalls = StallPercent(now, before);
  return line + fmt::format("{:>8}{:>9}{:>12}{:>12}",
                            stalls ? fmt::format("{:.1f}", *stalls) : std::string(kNothing),
                            Decimal(PerWrite("lines_flushed", now, before)),
                            Size(now, "memory_bytes"), Size(now, "pool_used_bytes"));
}

std::string TopJson(const StatsSnapshot& now, const StatsSnapshot* before) {
  nlohmann::ordered_json object = {{"pid", now.pid}, {"seconds", now.seconds}};
  object["a_second"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : now.values) {
    // What is no counter has no rate; those that top shows are distinguished by their names.
    const std::optional<double> rate = RateOf(name, now, before);
    const bool shown =
        std::any_of(kCounters.begin(), kCounters.end(),
                    [&name = name](const Counter& counter) { return name == counter.field; }) ||
        name == "lines_flushed" || name == "fences" ||
        (name.ends_with("_micros") && (name.starts_with("stall_") || name.starts_with("work_")));
    if (shown && rate) object["a_second"][name] = *rate;
  }
  object["latencies"] = nlohmann::ordered_json::object();
  for (const auto& [kind, unused] : now.latencies) {
    const LatencyHistogram of = LatencyOf(kind, now, before);
    if (of.count == 0) continue;
    object["latencies"][kind] = {{"count", of.count},
                                 {"p50_nanos", of.Percentile(50)},
                                 {"p99_nanos", of.Percentile(99)},
                                 {"p999_nanos", of.Percentile(99.9)},
                                 {"max_nanos", of.Percentile(100)}};
  }
  object["values"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : now.values) object["values"][name] = value;
  return object.dump();
}

}  // namespace braid::tools
