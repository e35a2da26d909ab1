// Figure 33: which part brings what: log, merge and lists, in all eight combinations.
#include <algorithm>
#include <map>

#include "bench/figures/all_figures.h"
#include "bench/figures/listdb.h"

namespace braid::figures {
namespace listdb_33 {
namespace {

constexpr uint64_t kRecords = 1'500'000;

struct Combination {
  const char* title;
  bool index_unified;
  bool zipper;
  bool braided;
};
constexpr Combination kCombinations[] = {
    {"(a) WAL", false, false, false},        {"(b) WAL+Zipper", false, true, false},
    {"(c) WAL+Braided", false, false, true}, {"(d) WAL+Zipper+Braided", false, true, true},
    {"(e) IUL", true, false, false},         {"(f) IUL+Zipper", true, true, false},
    {"(g) IUL+Braided", true, false, true},  {"(h) IUL+Zipper+Braided", true, true, true}};

Status MeasureOne(FigureRun& run, const Combination& parts, Json* result) {
  StoreRun store;
  store.label = parts.title;
  store.workload = run.Workload(run.Scaled(kRecords), 8, 8);
  store.workload.threads = run.cores();
  store.workload.benchmarks = {"ycsb-load"};
  store.workload.sample_millis = 100;
  // Not what L0 holds, but what waits for its flush holds writers back, as in the paper.
  store.workload.settings = ListDbParts(
      {std::string("log.kind=") + (parts.index_unified ? "index-unified" : "write-ahead"),
       std::string("compaction.kind=") + (parts.zipper ? "zipper" : "copy"), "pool.regions=4",
       std::string("lists.kind=") + (parts.braided ? "braided" : "oblivious"),
       "memtable.max_immutable=4", "compaction.l0_slowdown=55", "compaction.l0_stop=56",
       "memtable.bytes=" + std::to_string(run.Scaled(4u << 20, 64 << 10))});
  Json all;
  const Status status = run.Measure(store, &all);
  if (status.ok()) *result = ResultOf(all, "ycsb-load");
  return status;
}

Status Run(FigureRun& run) {
  std::vector<Json> results;
  Status missing;
  for (const Combination& parts : kCombinations) {
    results.emplace_back();
    Status s = MeasureOne(run, parts, &results.back());
    if (s.IsNotSupported()) {
      run.AddNote(std::string(parts.title) + " is left out: " + std::string(s.message()) + ".");
      missing = s;
      continue;
    }
    if (!s.ok()) return s;
    run.AddPanel(FlowPanel(parts.title, results.back(), true));
  }
  // Without all of them there is nothing to compare.
  if (!missing.ok()) return missing;
  const Json& none = results[0];
  const Json& all = results[7];
  const auto seconds = [](const Json& result) { return result.at("seconds").get<double>(); };
  run.AddCheck({"time of the load, (a) to (h)", seconds(none) / seconds(all), Direction::kAtLeast,
                2.0, 1.1, "4.6 (300 s to 65 s)",
                "four clients fill memtables more slowly than 80, so that what each part saves is "
                "hidden in idle time of the background threads"});
  run.AddCheck({"(a): share of the clients' time in which they were held back", StallShare(none),
                Direction::kAtLeast, 0.1, 0.02, "about 0.2 (over 50 s of 300 s)",
                "copying keeps up with four clients"});
  run.AddCheck({"(h): share of the clients' time in which they were held back", StallShare(all),
                Direction::kAtMost, 0.02, 0.1, "virtually 0",
                "clients and background threads share four processors"});
  run.AddCheck({"flush capacity, (e) to (a)", FlushCapacity(results[4]) / FlushCapacity(none),
                Direction::kAtLeast, 1.5, 1.05, "several times (read off the figure)",
                "both flushes visit every entry once at a random place, and that bounds them"});
  run.AddCheck(
      {"merge capacity, (b) to (a)", MergeCapacity(results[1]) / MergeCapacity(none),
       Direction::kAtLeast, 1.3, 1.05, "above 1 (read off the figure)",
       "following links at random places costs as much as copying small records in order"});
  run.AddCheck({"flush capacity, (c) to (a)", FlushCapacity(results[2]) / FlushCapacity(none),
                Direction::kAtLeast, 1.5, 1.1, "2",
                "the machine has one memory node, so that no access is remote and none is saved"});
  return Status::OK();
}

}  // namespace
}  // namespace listdb_33

FigureSpec ListDbFigure33() {
  return {
      "listdb-33",
      "All parts on and off: put, flush and merge throughput over time",
      kListDbPaper,
      "6.8.4, figure 33",
      "With a write-ahead log, copying merges and region-oblivious lists, clients stall for more "
      "than 50 of 300 seconds. Zipper merges speed merging up, braided lists double the flush, the "
      "index-unified log makes the flush as fast as the puts; all three together finish in 65 "
      "seconds, virtually without stalls.",
      "8-byte keys and values, 1.5 million records instead of 500 million, a client a processor "
      "instead of 80, memtables of 4 MiB, a pool of four regions on one memory node. Writers wait "
      "for immutable memtables only, not for L0.",
      true,
      listdb_33::Run};
}

}  // namespace braid::figures
