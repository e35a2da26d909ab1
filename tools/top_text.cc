#include "tools/top_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "braid/statistics.h"
#include "tools/text_format.h"

namespace braid::tools {
namespace {

struct Counter {
  const char* label;
  const char* field;
};
constexpr std::array<Counter, 6> kCounters = {{{"put", "puts"},
                                               {"delete", "deletes"},
                                               {"get", "gets"},
                                               {"iterator", "iterators"},
                                               {"flush", "flushed_entries"},
                                               {"merge", "merged_entries"}}};
constexpr int kShareBarWidth = 24;
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
  std::string line = fmt::format("  {:<10}", label);
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

std::string RateRows(const StatsSnapshot& now, const StatsSnapshot* before) {
  std::string text =
      fmt::format("  {:<10}{:>14}{:>14}{:>18}\n", "", "a second", "on average", "since the open");
  for (const Counter& counter : kCounters) {
    const std::optional<uint64_t> total = now.Value(counter.field);
    if (!total) continue;
    std::optional<double> average;
    if (now.seconds > 0) average = static_cast<double>(*total) / now.seconds;
    text +=
        fmt::format("  {:<10}{:>14}{:>14}{:>18}\n", counter.label,
                    Whole(RateOf(counter.field, now, before)), Whole(average), GroupDigits(*total));
  }
  return text;
}

std::string CostRow(const StatsSnapshot& now, const StatsSnapshot* before) {
  const std::optional<double> stalls = StallPercent(now, before);
  return fmt::format("  {:<10}{} lines flushed, {} fences; writers stalled {} of a thread's time\n",
                     "a write", Decimal(PerWrite("lines_flushed", now, before)),
                     Decimal(PerWrite("fences", now, before)),
                     stalls ? fmt::format("{:.1f} %", *stalls) : std::string(kNothing));
}

/// Who is held back now, and what held writers back since `before`.
std::string StallRows(const StatsSnapshot& now, const StatsSnapshot* before) {
  const std::optional<uint64_t> writers = now.Value("stalled_writers");
  if (!writers) return {};  // from a program that does not tell
  std::string text = fmt::format("  {:<10}", "held back");
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
  const char* before_reason = "; of a thread's time by ";
  for (size_t i = 0; i < kStallReasons; ++i) {
    const char* name = StallReasonName(static_cast<StallReason>(i));
    const std::optional<double> micros = RateOf(fmt::format("stall_{}_micros", name), now, before);
    if (!micros || *micros < 1e3) continue;
    text += fmt::format("{}{} {:.1f} %", std::exchange(before_reason, ", "), name, *micros / 1e4);
  }
  return text + "\n";
}

std::string LevelRows(const StatsSnapshot& now) {
  std::string text = fmt::format("  {:<10}{:>14} entries  {}, {} immutable\n", "memtables",
                                 Count(now, "memtable_entries"), Size(now, "memtable_bytes"),
                                 Count(now, "immutable_memtables"));
  text +=
      fmt::format("  {:<10}{:>14} entries  {} tables, {} waiting for a checkpoint\n", "L0",
                  Count(now, "l0_entries"), Count(now, "l0_tables"), Count(now, "waiting_tables"));
  text += fmt::format("  {:<10}{:>14} entries  {} in the DRAM index{}\n", "L1",
                      Count(now, "l1_entries"), Count(now, "index_entries"),
                      now.Value("index_complete").value_or(1) == 0 ? ", which is being built" : "");
  return text;
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
  text += RateRows(now, before) + "\n" + CostRow(now, before) + StallRows(now, before) + "\n" +
          LevelRows(now) + "\n";
  text += Meter("memory", now, "memory_bytes", "memory_budget_bytes");
  text += Meter("pool", now, "pool_used_bytes", "pool_bytes");
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
        name == "lines_flushed" || name == "fences" || name == "stall_micros";
    if (shown && rate) object["a_second"][name] = *rate;
  }
  object["values"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : now.values) object["values"][name] = value;
  return object.dump();
}

}  // namespace braid::tools
