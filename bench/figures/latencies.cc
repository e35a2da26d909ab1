#include "bench/figures/latencies.h"

namespace braid::figures {

Status Latencies::Add(FigureRun& run, StoreRun store, size_t number, double x,
                      const std::string& point) {
  if (write.size() <= number) {
    write.push_back({store.label, {}, {}});
    read.push_back({store.label, {}, {}});
  }
  store.label += ", " + point;
  store.workload.benchmarks = {"fillrandom", "readrandom"};
  Json result;
  if (Status s = run.Measure(store, &result); !s.ok()) return s;
  write[number].x.push_back(x);
  read[number].x.push_back(x);
  write[number].y.push_back(MicrosAnOperation(result, "fillrandom"));
  read[number].y.push_back(MicrosAnOperation(result, "readrandom"));
  return Status::OK();
}

void Latencies::AddPanels(FigureRun& run, const std::string& x_label,
                          const std::string& title) const {
  const std::string of = title.empty() ? "" : ", " + title;
  run.AddPanel({"writes" + of, PanelKind::kLines, x_label, "latency (µs)", {}, write, false});
  run.AddPanel({"reads" + of, PanelKind::kLines, x_label, "latency (µs)", {}, read, false});
}

double MicrosAnOperation(const Json& result, const std::string& benchmark) {
  return 1e6 / OpsPerSecond(result, benchmark);
}

StoreRun LevelDb(const bench::WorkloadOptions& workload, uint64_t write_buffer_bytes) {
  StoreRun store{"LevelDB", "leveldb", workload};
  store.workload.write_buffer_bytes = write_buffer_bytes;
  return store;
}

bool HasLevelDb(FigureRun& run) {
  if (FigureRun::HasEngine("leveldb")) return true;
  run.AddNote("LevelDB is not in this build: nothing is judged against it.");
  return false;
}

}  // namespace braid::figures
