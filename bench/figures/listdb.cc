#include "bench/figures/listdb.h"

#include <algorithm>
#include <limits>

namespace braid::figures {
namespace {

double CapacityOf(const Json& result, const char* entries, const char* micros) {
  const double time = LastOf(result, micros);
  return time > 0 ? LastOf(result, entries) / time * 1e6 : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::vector<std::string> ListDbParts(const std::vector<std::string>& more) {
  std::vector<std::string> settings = {"log.kind=index-unified", "memtable.kind=skiplist",
                                       "cache.index=false", "lists.kind=braided"};
  Append(&settings, more);
  return settings;
}

void Append(std::vector<std::string>* settings, const std::vector<std::string>& more) {
  settings->insert(settings->end(), more.begin(), more.end());
}

Panel FlowPanel(const std::string& title, const Json& result, bool with_merges) {
  constexpr double kThousand = 1e-3;
  Panel panel;
  panel.title = title;
  panel.x_label = "time (s)";
  panel.y_label = "throughput (thousand records/s)";
  panel.series.push_back(RateSeries("put", DoneSamples(result, "write"), kThousand));
  panel.series.push_back(JobSeries("flush", FieldSamples(result, "flushed_entries"),
                                   FieldSamples(result, "flush_micros"), kThousand));
  if (with_merges) {
    panel.series.push_back(JobSeries("compaction", FieldSamples(result, "merged_entries"),
                                     FieldSamples(result, "merge_micros"), kThousand));
  }
  return panel;
}

double StallShare(const Json& result) {
  const Json& stall = result.at("counters").at("stall_ns");
  if (stall.is_null()) return std::numeric_limits<double>::quiet_NaN();
  const double worked =
      result.at("seconds").get<double>() * result.at("threads").get<double>() * 1e9;
  return std::min(1.0, stall.get<double>() / worked);
}

double LastOf(const Json& result, const std::string& field) {
  const CounterSamples samples = FieldSamples(result, field);
  return samples.values.empty() ? 0 : samples.values.back();
}

double FlushCapacity(const Json& result) {
  return CapacityOf(result, "flushed_entries", "flush_micros");
}

double MergeCapacity(const Json& result) {
  return CapacityOf(result, "merged_entries", "merge_micros");
}

}  // namespace braid::figures
