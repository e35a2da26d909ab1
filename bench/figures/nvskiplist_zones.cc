#include "bench/figures/nvskiplist_zones.h"

#include <fmt/format.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

#include "bench/engines/engines.h"
#include "bench/figures/frame/timeline.h"
#include "bench/harness/keys.h"
#include "bench/harness/zipfian.h"
#include "src/base/clock.h"
#include "src/base/random.h"

namespace braid::figures {
namespace {

constexpr unsigned kZoneBits = std::countr_zero(kZones);

/// The keys of one thread, big-endian: different ones, since their lower bits are.
std::vector<uint64_t> KeysOf(const InsertLoad& load, uint64_t seed, int thread) {
  const uint64_t from =
      load.records * static_cast<uint64_t>(thread) / static_cast<uint64_t>(load.threads);
  const uint64_t to =
      load.records * (static_cast<uint64_t>(thread) + 1) / static_cast<uint64_t>(load.threads);
  const bench::Permutation lower = bench::Permutation::OfBits(64 - kZoneBits, seed);
  Random random(seed + static_cast<uint64_t>(thread) + 1);
  bench::ZipfianGenerator zipfian(kZones);
  std::vector<uint64_t> keys;
  keys.reserve(to - from);
  for (uint64_t i = from; i < to; ++i) {
    const uint64_t zone = load.zipfian ? zipfian.Next(random) : random.Uniform(kZones);
    keys.push_back(__builtin_bswap64(zone << (64 - kZoneBits) | lower(i)));
  }
  return keys;
}

std::string_view BytesOf(const uint64_t& key) {
  return {reinterpret_cast<const char*>(&key), sizeof key};
}

/// Every record is there, its value is its key, and there is no other.
Status CheckRecords(bench::KvEngine* engine, uint64_t records) {
  uint64_t seen = 0;
  bool wrong = false;
  const Status status = engine->NewSession()->Scan(
      {std::string_view()}, [&](std::string_view key, std::string_view value) {
        ++seen;
        wrong = wrong || key != value;
        return true;
      });
  if (!status.ok()) return status;
  if (seen == records && !wrong) return Status::OK();
  return Status::Corruption(fmt::format("the store shows {} of {} records{}", seen, records,
                                        wrong ? ", some wrong" : ""));
}

Status InsertAll(bench::KvEngine* engine, const InsertLoad& load, uint64_t seed, double* seconds) {
  const auto count = static_cast<size_t>(load.threads);
  std::vector<Status> outcomes(count);
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  for (size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<uint64_t> keys = KeysOf(load, seed, static_cast<int>(t));
      const std::unique_ptr<bench::KvSession> session = engine->NewSession();
      ready.fetch_add(1);
      while (!go.load()) std::this_thread::yield();
      for (const uint64_t& key : keys) {
        outcomes[t] = session->Put(BytesOf(key), BytesOf(key));
        if (!outcomes[t].ok()) return;
      }
    });
  }
  while (ready.load() < load.threads) std::this_thread::yield();
  const uint64_t begin = NowNanos();
  go.store(true);
  for (std::thread& thread : threads) thread.join();
  *seconds = static_cast<double>(NowNanos() - begin) / 1e9;
  for (const Status& outcome : outcomes) {
    if (!outcome.ok()) return outcome;
  }
  return Status::OK();
}

}  // namespace

Status MeasureInserts(FigureRun& run, const InsertLoad& load, Json* result) {
  Result<bench::ScratchDirectory> scratch = run.Scratch();
  if (!scratch.ok()) return scratch.status();
  bench::WorkloadOptions workload = run.Workload(load.records, 8, 8);
  workload.threads = load.threads;
  const StoreRun store = StoreOf(load.variant, workload);
  const std::string label = fmt::format("{}, {} keys, {} threads", load.variant.name,
                                        load.zipfian ? "Zipfian" : "uniform", load.threads);
  const std::string directory = scratch->path() + "/db";
  const FigureRun::ChildBody body = [&](Json* out) {
    const std::unique_ptr<bench::KvEngine> engine = bench::MakeEngine(store.engine);
    Status status = engine->Open(store.workload.MakeEngineConfig(directory));
    if (!status.ok()) return status;
    double seconds = 0;
    status = InsertAll(engine.get(), load, run.seed(), &seconds);
    if (status.ok()) status = CheckRecords(engine.get(), load.records);
    if (!status.ok()) return status;
    *out = {{"label", label},
            {"engine", store.engine},
            {"parameters", engine->parameters()},
            {"records", load.records},
            {"threads", load.threads},
            {"zipfian", load.zipfian},
            {"seconds", seconds},
            {"ops_per_second", static_cast<double>(load.records) / seconds}};
    run.Say(fmt::format("    {:.0f} inserts/s", static_cast<double>(load.records) / seconds));
    for (const bench::EngineField& field : engine->Fields()) {
      if (field.name.starts_with("leaf")) (*out)[field.name] = field.value;
    }
    return engine->Close();
  };
  const Status status = run.InChild(label, body, result);
  if (status.ok()) run.AddRun(*result);
  return status;
}

Status MeasureInsertsInTurn(FigureRun& run, const std::vector<InsertLoad>& loads, int rounds,
                            std::vector<double>* rates) {
  std::vector<std::vector<double>> seen(loads.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < loads.size(); ++i) {
      Json result;
      if (const Status s = MeasureInserts(run, loads[i], &result); !s.ok()) return s;
      seen[i].push_back(result.at("ops_per_second").get<double>() / 1e3);
    }
  }
  rates->clear();
  for (const std::vector<double>& one : seen) rates->push_back(Median(one));
  return Status::OK();
}

}  // namespace braid::figures
