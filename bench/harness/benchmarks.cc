#include "bench/harness/benchmarks.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "bench/harness/sustained.h"
#include "bench/harness/worker.h"
#include "bench/harness/zipfian.h"

namespace braid::bench {
namespace {

/// Chooses existing key numbers, uniformly or scrambled Zipfian.
class Chooser {
 public:
  Chooser(const WorkloadOptions& options, std::string_view fallback, Worker& worker)
      : worker_(worker) {
    const std::string_view wanted =
        options.distribution.empty() ? fallback : std::string_view(options.distribution);
    if (wanted == "zipfian") zipfian_.emplace(worker.dataset().limit());
  }
  uint64_t Next() {
    if (zipfian_) return zipfian_->Next(worker_.random());
    return worker_.random().Uniform(worker_.dataset().limit());
  }

 private:
  Worker& worker_;
  std::optional<ScrambledZipfianGenerator> zipfian_;
};

/// YCSB's "latest": Zipfian by age, the newest key first.
class LatestChooser {
 public:
  explicit LatestChooser(Worker& worker) : worker_(worker), zipfian_(worker.dataset().limit()) {}
  uint64_t Next() {
    const uint64_t limit = worker_.dataset().limit();
    // Following each insert would cost more than the read; a percent is not seen in the shape.
    if (limit > zipfian_.n() + zipfian_.n() / 100) zipfian_.Resize(limit);
    return limit - 1 - zipfian_.Next(worker_.random());
  }

 private:
  Worker& worker_;
  ZipfianGenerator zipfian_;
};

uint64_t PartBegin(uint64_t total, const Part& part) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(total) * part.index / part.threads);
}

/// Writes this part of [0, num), number i of it as `order(i)`, in batches.
template <class Order>
Status Fill(const WorkloadOptions& options, Worker& worker, const Part& part, Order&& order) {
  uint64_t next = PartBegin(options.num, part);
  const uint64_t end = PartBegin(options.num, {part.index + 1, part.threads, 0});
  if (options.batch_size == 1) {
    return worker.Loop(end - next, [&](OperationKind* kind) {
      *kind = OperationKind::kWrite;
      return worker.Put(order(next++));
    });
  }
  std::vector<uint64_t> batch;
  const uint64_t batches = (end - next + options.batch_size - 1) / options.batch_size;
  return worker.Loop(batches, [&](OperationKind* kind) {
    *kind = OperationKind::kWrite;
    batch.clear();
    while (next < end && batch.size() < options.batch_size) batch.push_back(order(next++));
    return worker.PutBatch(batch);
  });
}

Status FillSeq(const WorkloadOptions& options, Worker& worker, const Part& part) {
  return Fill(options, worker, part, [](uint64_t i) { return i; });
}

Status FillRandom(const WorkloadOptions& options, Worker& worker, const Part& part) {
  return Fill(options, worker, part, Permutation(options.num, options.seed));
}

Status Overwrite(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "uniform", worker);
  std::vector<uint64_t> batch(options.batch_size);
  return worker.Loop(part.steps / options.batch_size, [&](OperationKind* kind) {
    *kind = OperationKind::kWrite;
    if (options.batch_size == 1) return worker.Put(chooser.Next());
    for (uint64_t& number : batch) number = chooser.Next();
    return worker.PutBatch(batch);
  });
}

Status ReadRandom(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "uniform", worker);
  return worker.Loop(part.steps, [&](OperationKind*) { return worker.Get(chooser.Next()); });
}

Status ReadZipfian(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "zipfian", worker);
  return worker.Loop(part.steps, [&](OperationKind*) { return worker.Get(chooser.Next()); });
}

Status MultiReadRandom(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "uniform", worker);
  const uint64_t many = options.multiread_keys;
  std::vector<uint64_t> numbers;
  uint64_t done = 0;
  return worker.Loop((part.steps + many - 1) / many, [&](OperationKind*) {
    // The last call takes what is left; when the time ends the benchmark, there is no last one.
    numbers.resize(done < part.steps ? std::min(many, part.steps - done) : many);
    done += numbers.size();
    for (uint64_t& number : numbers) number = chooser.Next();
    return worker.MultiGet(numbers);
  });
}

Status ReadMissing(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "uniform", worker);
  return worker.Loop(part.steps, [&](OperationKind*) { return worker.GetMissing(chooser.Next()); });
}

Status ReadSeq(const WorkloadOptions& options, Worker& worker, const Part&) {
  return worker.FullScan(false, options.reads.value_or(~uint64_t{0}));
}

Status ReadReverse(const WorkloadOptions& options, Worker& worker, const Part&) {
  return worker.FullScan(true, options.reads.value_or(~uint64_t{0}));
}

Status SeekRandom(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "uniform", worker);
  return worker.Loop(part.steps, [&](OperationKind* kind) {
    *kind = OperationKind::kScan;
    return worker.Seek(chooser.Next(), options.seek_nexts);
  });
}

Status DeleteRandom(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "uniform", worker);
  return worker.Loop(part.steps, [&](OperationKind* kind) {
    *kind = OperationKind::kWrite;
    return worker.Delete(chooser.Next());
  });
}

Status ReadWhileWriting(const WorkloadOptions& options, Worker& worker, const Part& part) {
  Chooser chooser(options, "uniform", worker);
  if (part.index < options.threads) {
    return worker.Loop(part.steps, [&](OperationKind*) { return worker.Get(chooser.Next()); });
  }
  while (!worker.stopped()) {
    Status status = worker.Put(chooser.Next());
    if (!status.ok()) return status;
  }
  return Status::OK();
}

/// Waits for the moments of a writer that is to put `rate` records a second, a burst a millisecond:
/// one that spins would take a processor from the others.
class Pace {
 public:
  explicit Pace(uint64_t rate) : rate_(rate), begin_(NowNanos()) {}
  void Wait() {
    if (rate_ == 0 || done_++ < allowed_) return;
    for (;;) {
      const uint64_t millis = (NowNanos() - begin_) / 1'000'000 + 1;
      allowed_ = millis * rate_ / 1000;
      if (done_ <= allowed_) return;
      const uint64_t due = begin_ + millis * 1'000'000;
      const uint64_t now = NowNanos();
      if (due > now) std::this_thread::sleep_for(std::chrono::nanoseconds(due - now));
    }
  }

 private:
  uint64_t rate_;
  uint64_t begin_;
  uint64_t done_ = 0;
  uint64_t allowed_ = 0;
};

/// The side writer: overwrites random records, `rate` a second, or as fast as it can when that is
/// 0.
Status OverwriteBeside(Worker& worker, uint64_t rate) {
  Histogram& latency = worker.totals().latency[static_cast<size_t>(OperationKind::kWrite)];
  Pace pace(rate);
  while (!worker.stopped()) {
    pace.Wait();
    const uint64_t number = worker.random().Uniform(worker.dataset().limit());
    const uint64_t begin = NowNanos();
    Status status = worker.Put(number);
    if (!status.ok()) return status;
    latency.Record(NowNanos() - begin);
  }
  return Status::OK();
}

/// Full scans one after another, for as long as other benchmarks run; one without a duration.
Status ScanAgainAndAgain(const WorkloadOptions& options, Worker& worker, const Part&) {
  const uint64_t end = NowNanos() + static_cast<uint64_t>(options.duration * 1e9);
  do {
    Status status = worker.FullScan(false, options.reads.value_or(~uint64_t{0}));
    if (!status.ok()) return status;
  } while (NowNanos() < end && !worker.stopped());
  return Status::OK();
}

/// Shares of operations in percent; what is left reads.
struct Mix {
  unsigned update = 0;
  unsigned insert = 0;
  unsigned read_modify_write = 0;
  bool scans = false;   ///< the rest scans instead of getting
  bool latest = false;  ///< reads prefer what was inserted last
};

template <class Choose>
Status RunMix(const Mix& mix, Worker& worker, const Part& part, Choose&& choose) {
  constexpr uint64_t kLongestScan = 100;
  return worker.Loop(part.steps, [&](OperationKind* kind) {
    const uint64_t percent = worker.random().Uniform(100);
    *kind = OperationKind::kWrite;
    if (percent < mix.insert) return worker.Insert();
    if (percent < mix.update) return worker.Put(choose());
    if (percent < mix.read_modify_write) {
      const uint64_t number = choose();
      Status status = worker.Get(number);
      if (!status.ok()) return status;
      --worker.totals().operations;  // reading and writing back is one operation
      return worker.Put(number);
    }
    *kind = mix.scans ? OperationKind::kScan : OperationKind::kRead;
    if (mix.scans) return worker.Seek(choose(), worker.random().Uniform(kLongestScan));
    return worker.Get(choose());
  });
}

BenchmarkBody Ycsb(const Mix& mix) {
  return [mix](const WorkloadOptions& options, Worker& worker, const Part& part) {
    if (mix.latest && options.distribution != "uniform") {
      LatestChooser latest(worker);
      return RunMix(mix, worker, part, [&] { return latest.Next(); });
    }
    Chooser chooser(options, "zipfian", worker);
    return RunMix(mix, worker, part, [&] { return chooser.Next(); });
  };
}

/// "mix-N": N percent updates, the rest gets.
BenchmarkBody MixedByShare(unsigned percent) {
  return [percent](const WorkloadOptions& options, Worker& worker, const Part& part) {
    Chooser chooser(options, "uniform", worker);
    return RunMix({.update = percent}, worker, part, [&] { return chooser.Next(); });
  };
}

BenchmarkSpec WriteSpec(const char* name, const char* summary, BenchmarkBody body, bool fills) {
  BenchmarkSpec spec{name, summary, std::move(body)};
  spec.writes = true;
  spec.fills = fills;
  return spec;
}

BenchmarkSpec ReadSpec(const char* name, const char* summary, BenchmarkBody body, bool scans_all) {
  BenchmarkSpec spec{name, summary, std::move(body)};
  spec.reads = true;
  spec.scans_all = scans_all;
  spec.warms_up = !scans_all;
  return spec;
}

BenchmarkSpec MixSpec(const char* name, const char* summary, BenchmarkBody body) {
  BenchmarkSpec spec{name, summary, std::move(body)};
  spec.reads = true;
  spec.writes = true;
  return spec;
}

/// `body` on all threads beside one more that overwrites.
BenchmarkSpec BesideSpec(const char* name, const char* summary, const BenchmarkBody& body,
                         uint64_t rate) {
  BenchmarkSpec spec =
      MixSpec(name, summary,
              [body, rate](const WorkloadOptions& options, Worker& worker, const Part& part) {
                return part.index < options.threads ? body(options, worker, part)
                                                    : OverwriteBeside(worker, rate);
              });
  spec.extra_writer = true;
  spec.head_start = true;
  spec.never_settles = true;
  return spec;
}

/// Each reading benchmark beside a writer as fast as it can be, and beside one of a steady rate.
void AddBesideSpecs(std::vector<BenchmarkSpec>* specs) {
  constexpr uint64_t kSteadyRate = 100'000;
  struct Reads {
    const char* fast;
    const char* steady;
    const char* summary;
    BenchmarkBody body;
    bool scans_all;
  };
  const Reads all[] = {
      {"readseq-beside-writer", "readseq-beside-100k", "read all records in order beside a writer",
       ScanAgainAndAgain, true},
      {"seekrandom-beside-writer", "seekrandom-beside-100k",
       "seek to a random key and read on beside a writer", SeekRandom, false},
      {"ycsb-e-beside-writer", "ycsb-e-beside-100k", "ycsb-e beside a writer",
       Ycsb({.insert = 5, .scans = true}), false},
      {"readrandom-beside-writer", "readrandom-beside-100k", "get random keys beside a writer",
       ReadRandom, false},
  };
  for (const Reads& reads : all) {
    specs->push_back(BesideSpec(reads.steady, reads.summary, reads.body, kSteadyRate));
    specs->back().scans_all = reads.scans_all;
  }
  for (const Reads& reads : all) {
    specs->push_back(BesideSpec(reads.fast, reads.summary, reads.body, 0));
    specs->back().scans_all = reads.scans_all;
  }
}

BenchmarkSpec SustainedSpec() {
  BenchmarkSpec spec =
      WriteSpec("sustained", "write every record, then overwrite all of them ten times, no pause",
                Sustain, true);
  spec.in_rounds = true;
  return spec;
}

std::vector<BenchmarkSpec> MakeBenchmarks() {
  BenchmarkSpec delete_random =
      WriteSpec("deleterandom", "delete random keys", DeleteRandom, false);
  delete_random.deletes = true;
  BenchmarkSpec read_while_writing = MixSpec(
      "readwhilewriting", "get random keys while one more thread overwrites", ReadWhileWriting);
  read_while_writing.extra_writer = true;
  BenchmarkSpec ycsb_c = ReadSpec("ycsb-c", "100 % get", Ycsb({}), false);
  std::vector<BenchmarkSpec> specs = {
      WriteSpec("fillseq", "write every record once, in order", FillSeq, true),
      WriteSpec("fillrandom", "write every record once, in random order", FillRandom, true),
      WriteSpec("ycsb-load", "the same as fillrandom", FillRandom, true),
      WriteSpec("overwrite", "write random existing keys", Overwrite, false),
      ReadSpec("readrandom", "get random keys", ReadRandom, false),
      ReadSpec("readzipfian", "get Zipfian keys", ReadZipfian, false),
      ReadSpec("multireadrandom", "get many random keys with one call", MultiReadRandom, false),
      ReadSpec("readmissing", "get keys that are not there", ReadMissing, false),
      ReadSpec("readseq", "read all records in order", ReadSeq, true),
      ReadSpec("readreverse", "read all records backwards", ReadReverse, true),
      ReadSpec("seekrandom", "seek to a random key and read on", SeekRandom, false),
      std::move(delete_random),
      std::move(read_while_writing),
      MixSpec("ycsb-a", "50 % get, 50 % update", Ycsb({.update = 50})),
      MixSpec("ycsb-b", "95 % get, 5 % update", Ycsb({.update = 5})),
      std::move(ycsb_c),
      MixSpec("ycsb-d", "95 % get of the latest, 5 % insert", Ycsb({.insert = 5, .latest = true})),
      MixSpec("ycsb-e", "95 % scan of up to 100, 5 % insert", Ycsb({.insert = 5, .scans = true})),
      MixSpec("ycsb-f", "50 % get, 50 % read-modify-write", Ycsb({.read_modify_write = 50})),
      SustainedSpec(),
  };
  AddBesideSpecs(&specs);
  return specs;
}

/// One for each share; too many to be listed.
std::vector<BenchmarkSpec> MakeMixes() {
  std::vector<BenchmarkSpec> mixes;
  for (unsigned percent = 0; percent <= 100; ++percent) {
    mixes.push_back(MixSpec("", "get and update random keys", MixedByShare(percent)));
    mixes.back().name = "mix-" + std::to_string(percent);
    mixes.back().writes = percent > 0;
    mixes.back().reads = percent < 100;
  }
  return mixes;
}

}  // namespace

const std::vector<BenchmarkSpec>& AllBenchmarks() {
  static const std::vector<BenchmarkSpec> benchmarks = MakeBenchmarks();
  return benchmarks;
}

const BenchmarkSpec* FindBenchmark(std::string_view name) {
  static const std::vector<BenchmarkSpec> mixes = MakeMixes();
  for (const std::vector<BenchmarkSpec>* specs : {&AllBenchmarks(), &mixes}) {
    const auto found = std::find_if(specs->begin(), specs->end(),
                                    [&](const BenchmarkSpec& spec) { return spec.name == name; });
    if (found != specs->end()) return &*found;
  }
  return nullptr;
}

}  // namespace braid::bench
