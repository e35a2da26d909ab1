// Figures 31 and 32: puts and gets on lists that know regions in different ways.
#include <algorithm>
#include <limits>

#include "bench/figures/all_figures.h"
#include "bench/figures/listdb.h"

namespace braid::figures {
namespace listdb_31 {
namespace {

constexpr uint64_t kRecords = 400'000;

constexpr int kRegions = 4;

/// A pool of four regions with one list a table, or four pools of a region each.
struct Kind {
  const char* label;
  const char* engine;
  const char* list;  ///< null: the store has pools of a region each
};
constexpr Kind kKinds[] = {{"Obl", "braid", "oblivious"},
                           {"Deleg", "delegated", nullptr},
                           {"Local", "local", nullptr},
                           {"BR", "braid", "braided"}};
constexpr size_t kOblivious = 0, kDelegated = 1, kLocal = 2, kBraided = 3;

/// Visits of nodes an operation, and microseconds an operation by where they go.
struct Costs {
  double local = 0;
  double remote = 0;
  double call = 0;   ///< what the client waits, queues left out
  double queue = 0;  ///< in it before its request is begun, and after it is done
  double flush = 0;  ///< background work an entry
  double merge = 0;

  static Costs Unknown() {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return {kNan, kNan, kNan, kNan, kNan, kNan};
  }
  double response() const { return call + queue; }
  double visits() const { return local + remote; }
  double remote_share() const { return remote / visits(); }
};

double MeanMicros(const Json& result) {
  return result.at("latency").at("mean_ns").get<double>() / 1000;
}

StoreRun MakeRun(const FigureRun& run, const Kind& kind, bool counts) {
  StoreRun store;
  store.engine = kind.engine;
  store.label = std::string(kind.label) + (counts ? ", counting visits" : "");
  store.workload = run.Workload(run.Scaled(kRecords), 15, 100);
  store.workload.threads = run.cores();
  store.workload.settle = true;
  store.workload.sample_millis = 100;
  store.workload.benchmarks = {"ycsb-load", "ycsb-c", "readmissing"};
  // Pools of a region each share out what one pool has for its memtable.
  store.workload.settings =
      ListDbParts({"pool.regions=" + std::to_string(kRegions),
                   kind.list != nullptr ? "memtable.bytes=8M" : "memtable.bytes=2M",
                   std::string("lists.count_visits=") + (counts ? "true" : "false")});
  if (kind.list != nullptr) {
    store.workload.settings.push_back(std::string("lists.kind=") + kind.list);
  }
  return store;
}

double LastSample(const Json& result, const char* field) {
  return FieldSamples(result, field).values.back();
}

double Growth(const Json& result, const char* field) {
  const CounterSamples samples = FieldSamples(result, field);
  return samples.values.empty() ? 0 : samples.values.back() - samples.values.front();
}

/// Visits an operation of `result`, which is a benchmark of gets.
void TakeVisits(const Json& result, Costs* costs) {
  const auto operations = result.at("operations").get<double>();
  costs->local =
      (Growth(result, "upper_visits_local") + Growth(result, "bottom_visits_local")) / operations;
  costs->remote =
      (Growth(result, "upper_visits_remote") + Growth(result, "bottom_visits_remote")) / operations;
}

/// What a client waits, and how much of it in queues.
void TakeResponse(const Json& result, Costs* costs) {
  // Of requests, which warming up makes, too.
  const double requests = Growth(result, "delegated_requests");
  if (requests > 0) {
    const double nanos = Growth(result, "queue_wait_nanos") + Growth(result, "answer_wait_nanos");
    costs->queue = nanos / requests / 1000;
  }
  costs->call = MeanMicros(result) - costs->queue;
}

/// Puts are followed until their entries stand in L1, so that background work counts as theirs.
Status MeasureKind(FigureRun& run, const Kind& kind, Costs* put, Costs* get) {
  Json counted;
  Json timed;
  if (Status s = run.Measure(MakeRun(run, kind, true), &counted); !s.ok()) return s;
  if (Status s = run.Measure(MakeRun(run, kind, false), &timed); !s.ok()) return s;
  TakeVisits(ResultOf(counted, "ycsb-c"), get);
  TakeVisits(ResultOf(counted, "readmissing"), put);
  // A put never looks at another region's list, though a get must.
  if (std::string(kind.engine) == "local") put->remote = 0;
  const Json& load = ResultOf(timed, "ycsb-load");
  const Json& reads = ResultOf(timed, "ycsb-c");
  const auto records = load.at("operations").get<double>();
  TakeResponse(load, put);
  put->flush = LastSample(reads, "flush_micros") / records;
  put->merge = LastSample(reads, "merge_micros") / records;
  TakeResponse(reads, get);
  return Status::OK();
}

Status MeasureAll(FigureRun& run, std::vector<Costs>* puts, std::vector<Costs>* gets) {
  Status missing;
  size_t measured = 0;
  for (const Kind& kind : kKinds) {
    puts->emplace_back();
    gets->emplace_back();
    Status s = MeasureKind(run, kind, &puts->back(), &gets->back());
    if (s.IsNotSupported()) {
      run.AddNote(std::string(kind.label) + " is left out: " + std::string(s.message()) + ".");
      missing = s;
      puts->back() = gets->back() = Costs::Unknown();
      continue;
    }
    if (!s.ok()) return s;
    ++measured;
  }
  if (measured == 0) return missing;
  run.AddNote(
      "This machine has one memory node: the four regions are folders on it, and a visit of "
      "another "
      "region costs no more than one of the own. The counts are the paper's subject; response "
      "times "
      "show the rest of each scheme, but not what remote memory costs.");
  return Status::OK();
}

Series Take(const char* name, const std::vector<Costs>& costs, double Costs::*member) {
  Series series{name, {}, {}};
  for (const Costs& cost : costs) series.y.push_back(cost.*member);
  return series;
}

Panel Bars(const char* title, const char* unit, std::vector<Series> series) {
  Panel panel{title, PanelKind::kStackedBars, "", unit, {}, std::move(series), false};
  for (const Kind& kind : kKinds) panel.categories.push_back(kind.label);
  return panel;
}

constexpr const char* kOneNode = "all memory is equally near on this machine";

Status RunPuts(FigureRun& run) {
  std::vector<Costs> puts;
  std::vector<Costs> gets;
  if (Status s = MeasureAll(run, &puts, &gets); !s.ok()) return s;
  run.AddPanel(Bars("(a) nodes on the way to its place", "visits / put",
                    {Take("local", puts, &Costs::local), Take("remote", puts, &Costs::remote)}));
  run.AddPanel(
      Bars("(b) time", "microseconds / put",
           {Take("client", puts, &Costs::call), Take("waits for the worker", puts, &Costs::queue),
            Take("flush", puts, &Costs::flush), Take("merge", puts, &Costs::merge)}));
  run.AddCheck({"oblivious: share of visits in other regions", puts[kOblivious].remote_share(),
                Direction::kAtLeast, 0.6, 0.4, "0.741", "most nodes are found near by chance"});
  run.AddCheck({"braided: share of visits in other regions", puts[kBraided].remote_share(),
                Direction::kAtMost, 0.35, 0.5, "0.201",
                "lists are shorter here, so that the bottom layer, which crosses regions, makes a "
                "larger part of a search"});
  run.AddCheck({"local: share of visits in other regions", puts[kLocal].remote_share(),
                Direction::kAtMost, 0.02, 0.1, "0", "background threads serve every region"});
  run.AddCheck({"delegated: share of visits in other regions", puts[kDelegated].remote_share(),
                Direction::kAtMost, 0.02, 0.1, "0", "a worker reads what is not its own"});
  run.AddCheck(
      {"response time of a put, local to the fastest of the others",
       puts[kLocal].response() / std::min({puts[kOblivious].response(), puts[kDelegated].response(),
                                           puts[kBraided].response()}),
       Direction::kAtMost, 1.05, 1.3, "below 1",
       "clients write to the log and to DRAM of their own region on every list; here no "
       "memory is remote, and what local adds is a version and a lock"});
  run.AddCheck({"response time of a put, delegated to local",
                puts[kDelegated].response() / puts[kLocal].response(), Direction::kAtLeast, 1.5,
                1.05, "several times", "few clients wait for a worker at a time"});
  run.AddCheck({"delegated: share of a put's response time that is waiting for the worker",
                puts[kDelegated].queue / puts[kDelegated].response(), Direction::kAtLeast, 0.6, 0.4,
                "0.771", "few clients wait for a worker at a time"});
  run.AddCheck({"visits of a put, braided to local",
                puts[kBraided].visits() / puts[kLocal].visits(), Direction::kAtLeast, 1.0, 0.9,
                "above 1", "four short lists cost as many hops together as one long list"});
  return Status::OK();
}

Status RunGets(FigureRun& run) {
  std::vector<Costs> puts;
  std::vector<Costs> gets;
  if (Status s = MeasureAll(run, &puts, &gets); !s.ok()) return s;
  run.AddPanel(Bars("(a) nodes visited", "visits / get",
                    {Take("local", gets, &Costs::local), Take("remote", gets, &Costs::remote)}));
  run.AddPanel(Bars(
      "(b) time", "microseconds / get",
      {Take("client", gets, &Costs::call), Take("waits for the worker", gets, &Costs::queue)}));
  run.AddCheck({"response time of a get, local to braided",
                gets[kLocal].response() / gets[kBraided].response(), Direction::kAtLeast, 2.5, 1.2,
                "about 4",
                "four short searches overlap better than one long search, and none is "
                "remote on one node"});
  run.AddCheck({"response time of a get, delegated to braided",
                gets[kDelegated].response() / gets[kBraided].response(), Direction::kAtLeast, 1.5,
                1.05, "about 2", "few clients wait for a worker at a time"});
  run.AddCheck({"delegated: share of a get's visits in other regions",
                gets[kDelegated].remote_share(), Direction::kAtMost, 0.02, 0.1, "0",
                "a worker reads what is not its own"});
  run.AddCheck({"local: share of a get's visits in other regions", gets[kLocal].remote_share(),
                Direction::kAtLeast, 0.7, 0.6, "0.75 (one list in four is near)",
                "clients are not spread evenly over the regions"});
  run.AddCheck({"response time of a get, oblivious to braided",
                gets[kOblivious].response() / gets[kBraided].response(), Direction::kAtLeast, 1.1,
                1.0, "above 1", kOneNode});
  run.AddCheck({"visits of a get, braided to oblivious (the detour to stay local is short)",
                gets[kBraided].visits() / gets[kOblivious].visits(), Direction::kAtMost, 1.15, 1.4,
                "about 1",
                "upper layers of a region skip over fewer nodes than those of one list"});
  run.AddCheck({"visits of a get, delegated to braided",
                gets[kDelegated].visits() / gets[kBraided].visits(), Direction::kAtMost, 1.0, 1.1,
                "below 1", "a list of a quarter of the keys is only two layers lower"});
  return Status::OK();
}

constexpr const char* kSetting =
    "Keys of 15 bytes (the paper's have 5 to 25) and values of 100 bytes, 400,000 records instead "
    "of "
    "100 million, a client a processor instead of 80, and a pool of four regions. braid's clients "
    "write to the log and to DRAM, and lists are made behind them: a put's times are followed "
    "until "
    "its entry stands in L1, and its visits are those of a lookup of an absent key in L1, which "
    "goes "
    "where an insertion would go. Local and Deleg are four pools of one region each: local "
    "writes go to the pool of the client's region, and reads ask all four; delegated clients "
    "sleep until a worker of the region, which the key's hash names, has done their work.";

}  // namespace
}  // namespace listdb_31

FigureSpec ListDbFigure31() {
  return {
      "listdb-31",
      "Puts on lists across regions: visits and time",
      kListDbPaper,
      "6.8.3, figure 31",
      "A put on a region-oblivious list makes 74 % of its accesses in other regions, on a braided "
      "list 20 %, on lists of their own (local, delegated) none. Local is the fastest writer, "
      "delegation the slowest: its clients wait in queues.",
      listdb_31::kSetting,
      false,
      listdb_31::RunPuts};
}

FigureSpec ListDbFigure32() {
  return {
      "listdb-32",
      "Gets on lists across regions: visits and time",
      kListDbPaper,
      "6.8.3, figure 32",
      "Gets are fastest on the braided list: local lists are about four times slower, since all of "
      "them must be asked, delegation about twice, and the detour of staying in a region hardly "
      "lengthens a search.",
      listdb_31::kSetting,
      false,
      listdb_31::RunGets};
}

}  // namespace braid::figures
