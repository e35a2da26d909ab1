// Figure 34: how long recovery takes: after periodic checkpoints that stop the clients, by the log
// entries behind the last one; and braid, by the rate at which writes arrived before the crash.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "bench/engines/engines.h"
#include "bench/figures/all_figures.h"
#include "bench/figures/facebook.h"
#include "bench/figures/listdb.h"
#include "bench/figures/sync_checkpoint.h"
#include "bench/harness/prefix_dist.h"
#include "src/base/clock.h"

namespace braid::figures {
namespace listdb_34 {
namespace {

constexpr uint64_t kKeys = 400'000;
constexpr double kLogShares[] = {0, 0.125, 0.25, 0.5, 0.75};
/// Of what the clients can write when nothing holds them back.
constexpr double kRateShares[] = {0.1, 0.25, 0.5, 0.75, 1.0, 1.25};
constexpr double kSeconds = 2.0;

struct SyncPoint {
  double log_entries = 0;
  double load_seconds = 0;
  double replay_seconds = 0;
  double pause_seconds = 0;
};

/// Puts `keys` keys, makes the checkpoint so that `behind` entries follow it, and recovers.
Status MeasureSync(FigureRun& run, uint64_t keys, uint64_t behind, SyncPoint* point) {
  Result<bench::ScratchDirectory> scratch = run.Scratch();
  if (!scratch.ok()) return scratch.status();
  const auto body = [&](Json* out) {
    const bench::KeyMaker maker(kFacebookKeyBytes, false);
    bench::KeyBuffer key(maker);
    const bench::Permutation order(keys, run.seed());
    const bench::SizedValues values;
    const bench::ParetoSizes sizes;
    Random random(run.seed());
    char value[bench::ParetoSizes::kMost];
    double pause = 0;
    {
      SyncCheckpointStore store(scratch->path());
      Status s = store.Create();
      for (uint64_t i = 0; s.ok() && i < keys; ++i) {
        if (i == keys - behind) {
          const uint64_t begin = NowNanos();
          s = store.Checkpoint();
          pause = static_cast<double>(NowNanos() - begin) / 1e9;
        }
        const std::string_view name = key.Key(order(i));
        const size_t size = sizes.Next(random);
        values.Make(name, size, i, value);
        if (s.ok()) s = store.Put(name, {value, size});
      }
      if (behind == 0 && s.ok()) {
        const uint64_t begin = NowNanos();
        s = store.Checkpoint();
        pause = static_cast<double>(NowNanos() - begin) / 1e9;
      }
      if (!s.ok()) return s;
    }
    SyncCheckpointStore again(scratch->path());
    SyncCheckpointStore::Recovery recovery;
    if (Status s = again.Recover(&recovery); !s.ok()) return s;
    if (again.size() != keys || recovery.from_log != behind) {
      return Status::Corruption("the store with checkpoints lost entries");
    }
    *out = {
        {"load", recovery.checkpoint_seconds}, {"replay", recovery.log_seconds}, {"pause", pause}};
    return Status::OK();
  };
  Json out;
  if (Status s = run.InChild(fmt::format("checkpoint, {} entries behind it", behind), body, &out);
      !s.ok()) {
    return s;
  }
  *point = {static_cast<double>(behind), out.at("load").get<double>(),
            out.at("replay").get<double>(), out.at("pause").get<double>()};
  run.AddRun({{"label", "synchronous checkpoint"}, {"log_entries", behind}, {"measured", out}});
  return Status::OK();
}

Status RunSync(FigureRun& run, std::vector<SyncPoint>* points) {
  const uint64_t keys = run.Scaled(kKeys, 1000);
  for (const double share : kLogShares) {
    points->emplace_back();
    const auto behind = static_cast<uint64_t>(share * static_cast<double>(keys));
    if (Status s = MeasureSync(run, keys, behind, &points->back()); !s.ok()) return s;
  }
  constexpr double kMillis = 1e3;
  Panel panel{"(a) periodic checkpoints, clients wait",
              PanelKind::kLines,
              "log entries behind the last checkpoint (thousand)",
              "milliseconds",
              {},
              {},
              false};
  Series total{"recovery", {}, {}};
  Series load{"reading the checkpoint", {}, {}};
  Series pause{"pause of the clients to make it", {}, {}};
  for (const SyncPoint& point : *points) {
    for (Series* series : {&total, &load, &pause}) series->x.push_back(point.log_entries / 1000);
    total.y.push_back((point.load_seconds + point.replay_seconds) * kMillis);
    load.y.push_back(point.load_seconds * kMillis);
    pause.y.push_back(point.pause_seconds * kMillis);
  }
  panel.series = {std::move(total), std::move(load), std::move(pause)};
  run.AddPanel(std::move(panel));
  return Status::OK();
}

struct AsyncPoint {
  double arrived_per_second = 0;
  double open_seconds = 0;
  double recovered = 0;
  double longest_put_seconds = 0;
};

bench::WorkloadOptions AsyncWorkload(const FigureRun& run, uint32_t group_tables) {
  bench::WorkloadOptions workload = run.Workload(run.Scaled(kKeys, 1000), kFacebookKeyBytes, 40);
  workload.threads = run.cores();
  workload.settings = {"log.kind=index-unified", "memtable.bytes=8M",
                       "flush.group_tables=" + std::to_string(group_tables)};
  return workload;
}

/// Puts at `rate` (0: as fast as it goes), then the process ends without closing the store.
Status LoadAndCrash(FigureRun& run, const bench::WorkloadOptions& workload, double rate,
                    const std::string& directory, Json* out) {
  FacebookLoad load;
  load.keys = workload.num;
  load.put_share = 1;
  load.threads = workload.threads;
  load.seconds = rate > 0 ? kSeconds : kSeconds / 2;
  load.rate = {rate, rate / 4, kSeconds / 2, 0.5};
  load.seed = run.seed();
  load.fills = false;
  const auto body = [&](Json* result) {
    std::unique_ptr<bench::KvEngine> engine = bench::MakeBraidEngine();
    Status s = engine->Open(workload.MakeEngineConfig(directory));
    if (s.ok()) s = RunFacebook(*engine, load, result);
    // Nothing is closed: this is the crash.
    (void)engine.release();
    return s;
  };
  return run.InChild(rate > 0 ? fmt::format("{:.0f} puts/s, then a crash", rate)
                              : std::string("puts as fast as they go"),
                     body, out);
}

Status MeasureAsync(FigureRun& run, const bench::WorkloadOptions& workload, double rate,
                    AsyncPoint* point) {
  Result<bench::ScratchDirectory> scratch = run.Scratch();
  if (!scratch.ok()) return scratch.status();
  const std::string directory = scratch->path() + "/db";
  Json loaded;
  if (Status s = LoadAndCrash(run, workload, rate, directory, &loaded); !s.ok()) return s;
  Json opened;
  const auto reopen = [&](Json* out) {
    const std::unique_ptr<bench::KvEngine> engine = bench::MakeBraidEngine();
    Status s = engine->Open(workload.MakeEngineConfig(directory));
    if (!s.ok()) return s;
    for (const bench::EngineField& field : engine->Fields()) (*out)[field.name] = field.value;
    return engine->Close();
  };
  if (Status s = run.InChild("opening it again", reopen, &opened); !s.ok()) return s;
  point->arrived_per_second =
      loaded.at("operations").get<double>() / loaded.at("seconds").get<double>();
  point->open_seconds = opened.at("open_micros").get<double>() / 1e6;
  point->recovered = opened.at("recovered_entries").get<double>();
  point->longest_put_seconds = loaded.at("latency").at("put").at("max_ns").get<double>() / 1e9;
  loaded.erase("samples");
  run.AddRun({{"label", "asynchronous"},
              {"rate", rate},
              {"loaded", loaded},
              {"opened", opened},
              {"workload", workload.settings}});
  return Status::OK();
}

Status RunAsync(FigureRun& run, uint32_t group_tables, std::vector<AsyncPoint>* points) {
  const bench::WorkloadOptions workload = AsyncWorkload(run, group_tables);
  Json fastest;
  {
    Result<bench::ScratchDirectory> scratch = run.Scratch();
    if (!scratch.ok()) return scratch.status();
    if (Status s = LoadAndCrash(run, workload, 0, scratch->path() + "/db", &fastest); !s.ok()) {
      return s;
    }
  }
  const double most = fastest.at("operations").get<double>() / fastest.at("seconds").get<double>();
  for (const double share : kRateShares) {
    points->emplace_back();
    if (Status s = MeasureAsync(run, workload, share * most, &points->back()); !s.ok()) return s;
  }
  // Rates above what the store can take come out as they may.
  std::sort(points->begin(), points->end(), [](const AsyncPoint& a, const AsyncPoint& b) {
    return a.arrived_per_second < b.arrived_per_second;
  });
  return Status::OK();
}

Status Run(FigureRun& run) {
  std::vector<SyncPoint> sync;
  if (Status s = RunSync(run, &sync); !s.ok()) return s;
  Panel time{"(b) braid: time to open",
             PanelKind::kLines,
             "puts before the crash (thousand/s)",
             "milliseconds",
             {},
             {},
             false};
  Panel entries{"(c) braid: entries replayed",
                PanelKind::kLines,
                "puts before the crash (thousand/s)",
                "thousand entries",
                {},
                {},
                false};
  std::vector<AsyncPoint> eager;
  std::vector<AsyncPoint> lazy;
  for (const uint32_t tables : {1u, 8u}) {
    std::vector<AsyncPoint>& points = tables == 1 ? eager : lazy;
    Status s = RunAsync(run, tables, &points);
    if (s.IsNotSupported() && tables > 1) {
      run.AddNote("Links written back later are left out: " + std::string(s.message()) + ".");
      continue;
    }
    if (!s.ok()) return s;
    const std::string name =
        tables == 1 ? "links written back at each flush" : "links written back every 8 flushes";
    time.series.push_back({name, {}, {}});
    entries.series.push_back({name, {}, {}});
    for (const AsyncPoint& point : points) {
      time.series.back().x.push_back(point.arrived_per_second / 1000);
      time.series.back().y.push_back(point.open_seconds * 1000);
      entries.series.back().x.push_back(point.arrived_per_second / 1000);
      entries.series.back().y.push_back(point.recovered / 1000);
    }
  }
  run.AddPanel(std::move(time));
  run.AddPanel(std::move(entries));
  run.AddNote(
      "The store with periodic checkpoints is a small one of the benchmark's own: a log, an "
      "ordered map from keys to places in the log, and a file that the map is written to in "
      "key order while its one client waits.");

  const auto recovery = [](const SyncPoint& p) { return p.load_seconds + p.replay_seconds; };
  double longest_put = 0;
  for (const AsyncPoint& point : eager)
    longest_put = std::max(longest_put, point.longest_put_seconds);
  run.AddCheck({"checkpoints: recovery with the most log entries to with none",
                recovery(sync.back()) / recovery(sync.front()), Direction::kAtLeast, 1.5, 1.1,
                "about 2 (read off the figure)", "reading the checkpoint is most of the recovery"});
  run.AddCheck({"a checkpoint's pause to braid's longest put at the lowest rate",
                sync.front().pause_seconds / eager.front().longest_put_seconds, Direction::kAtLeast,
                5, 1.5, "90 s of waiting to none",
                "the index is small and the medium is memory, so that the pause is short; and the "
                "scheduler of a busy machine takes a client off its processor for milliseconds"});
  run.AddCheck({"braid's recovery at the lowest rate to the shortest with checkpoints",
                eager.front().open_seconds / recovery(sync.front()), Direction::kAtMost, 0.5, 1.0,
                "next to 0 (below 3 million puts/s)", "what is left of the memtable is replayed"});
  if (lazy.empty()) return Status::OK();
  run.AddCheck({"links written back every 8 flushes: recovery at the highest rate to the lowest",
                lazy.back().open_seconds / lazy.front().open_seconds, Direction::kAtLeast, 2.0, 1.2,
                "from next to 0 to 19 s", "four clients write few tables before they end"});
  return Status::OK();
}

}  // namespace
}  // namespace listdb_34

FigureSpec ListDbFigure34() {
  return {
      "listdb-34",
      "Recovery: periodic checkpoints and asynchronous, incremental ones",
      kListDbPaper,
      "6.8.5, figure 34",
      "A checkpoint that serialises the index stops all clients for 90 seconds; made less often, "
      "recovery replays more log entries. ListDB checkpoints incrementally in the background: it "
      "recovers at once after low rates of arrival, and longer the more the rate exceeds what "
      "merges keep up with (19 s at 7 to 9 million puts/s).",
      "Keys and values of the Facebook workload, 400,000 keys instead of 100 million; two seconds "
      "of puts at shares of the highest rate, by a noisy sine, then the process ends without a "
      "close. braid has its links on the medium after each flush, so that only memtables are "
      "replayed; with flush.group_tables=8 it behaves as ListDB does.",
      false,
      listdb_34::Run};
}

}  // namespace braid::figures
