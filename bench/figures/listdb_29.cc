// Figure 29: one client writes at full speed, nothing is merged. Can the flush keep up?
#include "bench/figures/all_figures.h"
#include "bench/figures/listdb.h"

namespace braid::figures {
namespace listdb_29 {
namespace {

constexpr uint64_t kRecords = 3'000'000;
// As many tables as L0 takes without merges.
constexpr uint64_t kMemTableBytes = 3584u << 10;

Status MeasureLog(FigureRun& run, const std::string& label, const std::string& kind, Json* result) {
  StoreRun store;
  store.label = label;
  store.workload = run.Workload(run.Scaled(kRecords), 8, 8);
  store.workload.benchmarks = {"ycsb-load"};
  store.workload.sample_millis = 100;
  store.workload.settings =
      ListDbParts({"log.kind=" + kind, "compaction.kind=none", "memtable.max_immutable=4",
                   "compaction.l0_slowdown=55", "compaction.l0_stop=56",
                   "memtable.bytes=" + std::to_string(run.Scaled(kMemTableBytes, 64 << 10))});
  Json all;
  const Status status = run.Measure(store, &all);
  if (status.ok()) *result = ResultOf(all, "ycsb-load");
  return status;
}

Status Run(FigureRun& run) {
  Json wal;
  Json iul;
  if (Status s = MeasureLog(run, "write-ahead log", "write-ahead", &wal); !s.ok()) return s;
  if (Status s = MeasureLog(run, "index-unified log", "index-unified", &iul); !s.ok()) return s;
  run.AddPanel(FlowPanel("(a) write-ahead log", wal, false));
  run.AddPanel(FlowPanel("(b) index-unified log", iul, false));

  const auto put_rate = [](const Json& result) {
    return OverallRate(DoneSamples(result, "write"));
  };
  run.AddCheck({"index-unified log: records flushed a second of flushing, to records put a second",
                FlushCapacity(iul) / put_rate(iul), Direction::kAtLeast, 1.5, 1.0,
                "far above 1 (read off the figure)",
                "flushing costs about as much as the put here"});
  run.AddCheck({"write-ahead log: share of the client's time in which it waited for a flush",
                StallShare(wal), Direction::kAtLeast, 0.1, 0.02, "stalls after 40 s",
                "on memory, copying keeps up with one client"});
  run.AddCheck({"index-unified log: share of the client's time in which it waited for a flush",
                StallShare(iul), Direction::kAtMost, 0.01, 0.05, "0",
                "a flush still shares memory and processors with the client"});
  run.AddCheck({"flush capacity, index-unified to write-ahead log",
                FlushCapacity(iul) / FlushCapacity(wal), Direction::kAtLeast, 2.0, 1.1,
                "several times (read off the figure)",
                "both flushes are bounded by random accesses to entries, not by copying"});
  return Status::OK();
}

}  // namespace
}  // namespace listdb_29

FigureSpec ListDbFigure29() {
  return {
      "listdb-29",
      "Write stalls: write-ahead log and index-unified log",
      kListDbPaper,
      "6.8.2.1, figure 29",
      "With a write-ahead log one background thread copies memtables more slowly than one client "
      "fills them, so the client stalls once four sealed tables wait. With an index-unified log "
      "the flush only sets links and is much faster than the client, so nothing stalls.",
      "One client, 8-byte keys and values, no merges, four immutable memtables at most. 3 million "
      "records and memtables of 3.5 MiB instead of 20 million and 64 MiB.",
      true,
      listdb_29::Run};
}

}  // namespace braid::figures
