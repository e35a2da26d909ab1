// Table 2: how long the tables of each level of LevelDB live, and what compactions write there; by
// LevelDB's own log.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>

#include "bench/engines/engines.h"
#include "bench/figures/all_figures.h"
#include "bench/figures/latencies.h"
#include "bench/figures/tlsm.h"
#include "bench/harness/runner.h"

namespace braid::figures {
namespace tlsm_2 {
namespace {

constexpr uint64_t kRecords = 2'000'000;  // of 100 bytes
constexpr size_t kLevels = 7;

struct Table {
  double born = 0;  // seconds
  size_t level = 0;
};

struct LevelFacts {
  uint64_t tables = 0;  // that compactions have read and replaced
  double lifetime = 0;  // seconds, of all of them
  uint64_t bytes = 0;   // written into the level
};

/// What LevelDB's log tells: lines begin with a date, the time and a thread.
class TableLog {
 public:
  void Take(const std::string& line) {
    unsigned hours = 0;
    unsigned minutes = 0;
    double seconds = 0;
    int end = 0;
    if (std::sscanf(line.c_str(), "%*4u/%*2u/%*2u-%2u:%2u:%lf %*s %n", &hours, &minutes, &seconds,
                    &end) < 3 ||
        end == 0) {
      return;
    }
    const double now = hours * 3600.0 + minutes * 60.0 + seconds;
    const char* const event = line.c_str() + end;
    unsigned long long table = 0;
    unsigned long long bytes = 0;
    size_t level = 0;
    if (std::sscanf(event, "Level-0 table #%llu: %llu bytes", &table, &bytes) == 2) {
      Make(table, 0, bytes, now);
    } else if (std::sscanf(event, "Generated table #%llu@%zu: %*u keys, %llu bytes", &table, &level,
                           &bytes) == 3) {
      Make(table, level + 1, bytes, now);  // the level is that of the inputs
    } else if (std::sscanf(event, "Moved #%llu to level-%zu", &table, &level) == 2) {
      if (const auto found = tables_.find(table); found != tables_.end()) {
        found->second.level = std::min(level, kLevels - 1);
      }
    } else if (std::sscanf(event, "Delete type=2 #%llu", &table) == 1) {
      End(table, now);
    }
  }
  const std::vector<LevelFacts>& levels() const { return levels_; }

 private:
  void Make(uint64_t table, size_t level, uint64_t bytes, double now) {
    level = std::min(level, kLevels - 1);
    tables_[table] = {now, level};
    levels_[level].bytes += bytes;
  }
  void End(uint64_t table, double now) {
    const auto found = tables_.find(table);
    if (found == tables_.end()) return;
    LevelFacts& level = levels_[found->second.level];
    ++level.tables;
    // Behind midnight.
    level.lifetime += now - found->second.born + (now < found->second.born ? 86'400 : 0);
    tables_.erase(found);
  }

  std::map<uint64_t, Table> tables_;
  std::vector<LevelFacts> levels_ = std::vector<LevelFacts>(kLevels);
};

Status FillLevelDb(const StoreRun& store, const std::string& folder, Json* out) {
  const std::unique_ptr<bench::KvEngine> engine = bench::MakeEngine(store.engine);
  bench::Runner runner(*engine, store.workload, folder);
  Status s = runner.Run([](const bench::BenchmarkResult&) {});
  if (!s.ok()) return s;
  TableLog log;
  std::ifstream lines(folder + "/LOG");
  for (std::string line; std::getline(lines, line);) log.Take(line);
  for (const LevelFacts& level : log.levels()) {
    out->push_back(
        {{"tables", level.tables}, {"lifetime", level.lifetime}, {"bytes", level.bytes}});
  }
  return Status::OK();
}

Status Run(FigureRun& run) {
  if (!HasLevelDb(run))
    return Status::NotSupported("it is about LevelDB, which is not in this build");
  StoreRun store = LevelDbBesideTlsm(run.Workload(run.Scaled(kRecords), 16, 100));
  store.workload.benchmarks = {"fillrandom"};
  Result<bench::ScratchDirectory> scratch = run.Scratch();
  if (!scratch.ok()) return scratch.status();
  Json levels = Json::array();
  const auto body = [&](Json* out) {
    *out = Json::array();
    return FillLevelDb(store, scratch->path() + "/db", out);
  };
  if (Status s = run.InChild("LevelDB", body, &levels); !s.ok()) return s;
  run.AddRun({{"label", "LevelDB"}, {"levels", levels}});
  std::vector<std::string> names;
  std::vector<double> lifetimes;
  std::vector<double> tables;
  std::vector<double> written;
  for (size_t level = 0; level < levels.size(); ++level) {
    const double count = levels[level].at("tables").get<double>();
    if (count == 0) continue;
    names.push_back(fmt::format("L{}", level));
    tables.push_back(count);
    lifetimes.push_back(levels[level].at("lifetime").get<double>() / count);
    written.push_back(levels[level].at("bytes").get<double>() / (1 << 20));
  }
  if (names.size() < 2) {
    run.AddNote("Too little was written for compactions of two levels: nothing is judged.");
    return Status::OK();
  }
  run.AddPanel({"lifetime of a table",
                PanelKind::kBars,
                "level",
                "seconds",
                names,
                {{"LevelDB", {}, lifetimes}},
                true});
  run.AddPanel({"tables that were compacted",
                PanelKind::kBars,
                "level",
                "tables",
                names,
                {{"LevelDB", {}, tables}},
                true});
  run.AddPanel({"written into the level",
                PanelKind::kBars,
                "level",
                "MiB",
                names,
                {{"LevelDB", {}, written}},
                true});
  const double upper = *std::max_element(tables.begin(), tables.end() - 1);
  run.AddCheck({"lifetime of a table: lowest level to L0", lifetimes.back() / lifetimes.front(),
                Direction::kAtLeast, 3.0, 1.2, "far above 1",
                "the lowest level is compacted into as often as its upper neighbour is full"});
  run.AddCheck({"tables compacted: the most of a level above the lowest to the lowest",
                upper / tables.back(), Direction::kAtLeast, 0.3, 0.1, "not small",
                "most of the tables of these sizes are in the lowest level"});
  return Status::OK();
}

}  // namespace
}  // namespace tlsm_2

FigureSpec TlsmTable2() {
  return {"tlsm-2",
          "How long LevelDB's tables live",
          kTlsmPaper,
          "III, table 2",
          "Tables of upper levels are made and compacted away in a short time; those of the lowest "
          "level live far longer. What compactions write in upper levels is not little.",
          std::string("2 million records of 100 bytes in memory instead of 8 GB on an SSD. ") +
              kTlsmScale,
          false,
          tlsm_2::Run};
}

}  // namespace braid::figures
