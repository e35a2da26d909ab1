// Purpose: rates over time from the samples that the harness took while a benchmark ran.
// Thread safety: pure.
// Persistence: none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bench/figures/frame/figure.h"

namespace braid::figures {

/// A counter at moments, as ResultToJson tells it: what was done ("read", "write") or a field.
struct CounterSamples {
  std::vector<double> seconds;
  std::vector<double> values;
};
CounterSamples DoneSamples(const Json& result, std::string_view kind);
CounterSamples FieldSamples(const Json& result, std::string_view field);

/// Growth a second between neighbours, times `factor`, at the middle of each interval. Intervals
/// shorter than half the usual one are joined with the one before: the last is cut off anywhere.
Series RateSeries(const std::string& name, const CounterSamples& samples, double factor = 1);

/// What a background job did, that counts its entries and its time (in microseconds) when it ends:
/// steps of the rate while it worked, and 0 in between, times `factor`.
Series JobSeries(const std::string& name, const CounterSamples& entries,
                 const CounterSamples& micros, double factor = 1);

/// The share of the intervals of `series` in which the rate is below `part` of its median: how long
/// a flow stood nearly still.
double ShareBelow(const Series& series, double part);
double Median(std::vector<double> values);
double Mean(const std::vector<double>& values);
/// Growth over the whole time, a second.
double OverallRate(const CounterSamples& samples);

}  // namespace braid::figures
