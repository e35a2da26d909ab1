// Figure 9: how long an open takes after a crash, by the size of the memtables.
#include <fmt/format.h>

#include "bench/engines/engines.h"
#include "bench/figures/all_figures.h"
#include "bench/figures/latencies.h"
#include "bench/figures/novelsm.h"
#include "bench/harness/keys.h"
#include "src/base/clock.h"

namespace braid::figures {
namespace novelsm_9 {
namespace {

constexpr size_t kValue = 1024;
/// Sizes of memtables at full scale; the records are half as many again as the largest holds, so
/// that what is in memtables when the process dies is what they may hold.
constexpr uint64_t kMib[] = {4, 16, 64};
constexpr uint64_t kRecords = 96 * 1024;

/// Puts records; the process ends without closing the store.
Status FillAndCrash(FigureRun& run, const StoreRun& store, const std::string& folder) {
  const auto body = [&](Json*) {
    std::unique_ptr<bench::KvEngine> engine = bench::MakeEngine(store.engine);
    Status s = engine->Open(store.workload.MakeEngineConfig(folder));
    if (!s.ok()) return s;
    const bench::KeyMaker maker(store.workload.key_size, true);
    bench::KeyBuffer key(maker);
    const std::string value(kValue, 'v');
    std::unique_ptr<bench::KvSession> session = engine->NewSession();
    for (uint64_t i = 0; i < store.workload.num && s.ok(); ++i) s = session->Put(key.Key(i), value);
    (void)session.release();
    (void)engine.release();
    return s;
  };
  Json none;
  return run.InChild(store.label + ": writes, and is killed", body, &none);
}

/// Seconds until the first read is answered.
Status Reopen(FigureRun& run, const StoreRun& store, const std::string& folder, double* seconds) {
  const auto body = [&](Json* out) {
    const bench::KeyMaker maker(store.workload.key_size, true);
    bench::KeyBuffer key(maker);
    std::string value;
    const std::unique_ptr<bench::KvEngine> engine = bench::MakeEngine(store.engine);
    const uint64_t begin = NowNanos();
    Status s = engine->Open(store.workload.MakeEngineConfig(folder));
    if (!s.ok()) return s;
    std::unique_ptr<bench::KvSession> session = engine->NewSession();
    s = session->Get(key.Key(store.workload.num - 1), &value);
    if (!s.ok()) return s;
    *out = {{"seconds", static_cast<double>(NowNanos() - begin) / 1e9}};
    session.reset();
    return engine->Close();
  };
  Json opened;
  if (Status s = run.InChild(store.label + ": opens", body, &opened); !s.ok()) return s;
  *seconds = opened.at("seconds").get<double>();
  run.AddRun({{"label", store.label}, {"opened", opened}, {"workload", store.workload.settings}});
  return Status::OK();
}

Status Run(FigureRun& run) {
  const bool beside = HasLevelDb(run);
  const bench::WorkloadOptions workload = run.Workload(run.Scaled(kRecords), 16, kValue);
  std::vector<Series> opens;
  for (const uint64_t mib : kMib) {
    std::vector<StoreRun> stores = {NoveLsm(run, "mutable", workload,
                                            {ScaledSetting(run, "levels.persistent_bytes", mib),
                                             ScaledSetting(run, "levels.l1_bytes", 4096)})};
    if (beside) stores.push_back(LevelDb(workload, run.Scaled(mib << 20, 64u << 10)));
    for (size_t i = 0; i < stores.size(); ++i) {
      if (opens.size() <= i) opens.push_back({stores[i].label, {}, {}});
      stores[i].label += fmt::format(", {} MiB", mib);
      Result<bench::ScratchDirectory> scratch = run.Scratch();
      if (!scratch.ok()) return scratch.status();
      const std::string folder = scratch->path() + "/db";
      if (Status s = FillAndCrash(run, stores[i], folder); !s.ok()) return s;
      double seconds = 0;
      if (Status s = Reopen(run, stores[i], folder, &seconds); !s.ok()) return s;
      opens[i].x.push_back(static_cast<double>(mib));
      opens[i].y.push_back(seconds * 1e3);
    }
  }
  run.AddPanel(
      {"", PanelKind::kLines, "MiB a memtable", "open after a crash (ms)", {}, opens, true});
  run.AddCheck({"opens: persistent memtables of 64 MiB to 4",
                opens[0].y.back() / opens[0].y.front(), Direction::kAtMost, 1.2, 4.0, "constant",
                "links prove nothing after a crash, so that entries are read back, as from a log"});
  if (!beside) return Status::OK();
  run.AddCheck({"opens with 64 MiB: LevelDB to mutable", opens[1].y.back() / opens[0].y.back(),
                Direction::kAtLeast, 1000.0, 1.5, "three orders of magnitude",
                "the paper maps the persistent memtable and believes its links"});
  return Status::OK();
}

}  // namespace
}  // namespace novelsm_9

FigureSpec NoveLsmFigure9() {
  return {"novelsm-9",
          "Opening after a crash, by the size of the memtables",
          kNoveLsmPaper,
          "5.4, figure 9",
          "LevelDB reads its log, which grows with its memtable: 4 seconds for 1 GB. The mutable "
          "persistent memtable is mapped, at no cost that grows.",
          std::string("96 MB of values of 1 KB, memtables of 4 to 64 MB. ") + kNoveLsmScale,
          true,
          novelsm_9::Run};
}

}  // namespace braid::figures
