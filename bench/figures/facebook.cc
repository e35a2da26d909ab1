#include "bench/figures/facebook.h"

#include <sched.h>

#include <atomic>
#include <latch>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/prefix_dist.h"
#include "src/base/clock.h"
#include "src/base/histogram.h"

namespace braid::figures {
namespace {

struct alignas(64) Lane {
  std::atomic<uint64_t> gets{0};
  std::atomic<uint64_t> puts{0};
};

/// One client: its own arrivals, and what it did with them.
class Client {
 public:
  Client(const FacebookLoad& load, const bench::PrefixDistKeys& keys,
         const bench::SizedValues& values, const bench::KeyMaker& maker,
         std::unique_ptr<bench::KvSession> session, int index)
      : load_(load),
        keys_(keys),
        values_(values),
        session_(std::move(session)),
        index_(index),
        random_(Mix64(load.seed + 77) + static_cast<uint64_t>(index)),
        key_(maker) {}

  Status Fill() {
    const uint64_t threads = static_cast<uint64_t>(load_.threads);
    const uint64_t index = static_cast<uint64_t>(index_);
    const bench::Permutation order(load_.keys, load_.seed);
    for (uint64_t i = load_.keys * index / threads; i < load_.keys * (index + 1) / threads; ++i) {
      if (Status s = Put(order(i)); !s.ok()) return s;
    }
    return Status::OK();
  }

  Status Run(uint64_t start, Lane* lane) {
    return load_.rate.mean > 0 ? RunOpen(start, lane) : RunClosed(start, lane);
  }

  uint64_t gets_arrived() const { return gets_arrived_; }
  uint64_t puts_arrived() const { return puts_arrived_; }
  const Histogram& get_latency() const { return get_latency_; }
  const Histogram& put_latency() const { return put_latency_; }

 private:
  uint64_t Duration() const { return static_cast<uint64_t>(load_.seconds * 1e9); }

  Status RunOpen(uint64_t start, Lane* lane) {
    bench::ArrivalSchedule schedule(load_.rate, load_.threads, index_, load_.seed);
    uint64_t now = NowNanos();
    const uint64_t end = start + Duration();
    bool in_time = true;
    for (uint64_t due = start + schedule.Next(); due < end; due = start + schedule.Next()) {
      const bool put = random_.NextDouble() < load_.put_share;
      ++(put ? puts_arrived_ : gets_arrived_);
      if (!in_time) continue;  // the rest arrives, but nobody gets to it
      while (now < due) {
        // Background threads of the store may have the processor meanwhile.
        if (due - now > 5000) sched_yield();
        now = NowNanos();
      }
      if (Status s = One(put, lane); !s.ok()) return s;
      now = NowNanos();
      (put ? put_latency_ : get_latency_).Record(now - due);
      in_time = now < end;
    }
    return Status::OK();
  }

  Status RunClosed(uint64_t start, Lane* lane) {
    uint64_t now = start;
    while (now < start + Duration()) {
      const bool put = random_.NextDouble() < load_.put_share;
      ++(put ? puts_arrived_ : gets_arrived_);
      if (Status s = One(put, lane); !s.ok()) return s;
      const uint64_t end = NowNanos();
      (put ? put_latency_ : get_latency_).Record(end - now);
      now = end;
    }
    return Status::OK();
  }

  Status One(bool put, Lane* lane) {
    const uint64_t number = keys_.Next(random_);
    std::atomic<uint64_t>& count = put ? lane->puts : lane->gets;
    Status s = put ? Put(number) : Get(number);
    // relaxed: a number to look at, written by this thread alone.
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return s;
  }

  Status Put(uint64_t number) {
    const std::string_view key = key_.Key(number);
    const size_t size = sizes_.Next(random_);
    values_.Make(key, size, random_.Next(), value_);
    return session_->Put(key, {value_, size});
  }

  Status Get(uint64_t number) {
    const std::string_view key = key_.Key(number);
    const Status s = session_->Get(key, &read_);
    if (s.ok() && !values_.Check(key, read_)) {
      return Status::Corruption("wrong value for key " + std::string(key));
    }
    if (s.IsNotFound()) return Status::Corruption("no value for key " + std::string(key));
    return s;
  }

  const FacebookLoad& load_;
  const bench::PrefixDistKeys& keys_;
  const bench::SizedValues& values_;
  bench::ParetoSizes sizes_;
  std::unique_ptr<bench::KvSession> session_;
  int index_;
  Random random_;
  bench::KeyBuffer key_;
  char value_[bench::ParetoSizes::kMost];
  std::string read_;
  Histogram get_latency_;
  Histogram put_latency_;
  uint64_t gets_arrived_ = 0;
  uint64_t puts_arrived_ = 0;
};

/// Runs `body(i)` on as many threads as there are clients; the first error wins.
Status OnThreads(size_t count, const std::function<Status(size_t)>& body) {
  std::mutex mutex;
  Status first;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      Status s = body(i);
      const std::lock_guard lock(mutex);
      if (first.ok()) first = s;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first;
}

/// The operations that were due until each sample.
void AddArrivals(const FacebookLoad& load, Json* samples) {
  double due = 0;
  double at = 0;
  constexpr double kStep = bench::kNoiseSlotSeconds / 5;
  for (const Json& moment : samples->at("seconds")) {
    for (; at < moment.get<double>(); at += kStep) {
      due += kStep * bench::RateAt(load.rate, at, load.seed);
    }
    (*samples)["due"]["write"].push_back(due * load.put_share);
    (*samples)["due"]["read"].push_back(due * (1 - load.put_share));
  }
}

void TakeSample(bench::KvEngine& engine, const std::vector<Lane>& lanes, uint64_t start,
                Json* samples) {
  uint64_t gets = 0;
  uint64_t puts = 0;
  for (const Lane& lane : lanes) {
    // relaxed: see Client::One.
    gets += lane.gets.load(std::memory_order_relaxed);
    puts += lane.puts.load(std::memory_order_relaxed);
  }
  const std::vector<bench::EngineField> fields = engine.Fields();
  (*samples)["seconds"].push_back(static_cast<double>(NowNanos() - start) / 1e9);
  (*samples)["done"]["read"].push_back(gets);
  (*samples)["done"]["write"].push_back(puts);
  for (const bench::EngineField& field : fields) {
    (*samples)["fields"][field.name].push_back(field.value);
  }
}

Json LatencyJson(const Histogram& latency) {
  return {{"p50_ns", latency.Percentile(50)},
          {"p99_ns", latency.Percentile(99)},
          {"p99_9_ns", latency.Percentile(99.9)},
          {"max_ns", latency.max()}};
}

}  // namespace

Status RunFacebook(bench::KvEngine& engine, const FacebookLoad& load, Json* result) {
  const bench::PrefixDistKeys keys(load.keys, load.seed);
  const bench::SizedValues values;
  const bench::KeyMaker maker(kFacebookKeyBytes, false);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < load.threads; ++i) {
    clients.push_back(std::make_unique<Client>(load, keys, values, maker, engine.NewSession(), i));
  }
  Status status;
  if (load.fills) {
    status = OnThreads(clients.size(), [&](size_t i) { return clients[i]->Fill(); });
    if (status.ok()) status = engine.Settle();
    if (!status.ok()) return status;
  }
  std::vector<Lane> lanes(clients.size());
  Json samples = Json::object();
  const uint64_t start = NowNanos();
  std::atomic<bool> done{false};
  std::thread sampler([&] {
    // What comes later is no throughput any more: an open loop ends with its time.
    while (!done && NowNanos() - start < static_cast<uint64_t>(load.seconds * 1e9)) {
      TakeSample(engine, lanes, start, &samples);
      std::this_thread::sleep_for(std::chrono::milliseconds(load.sample_millis));
    }
  });
  status = OnThreads(clients.size(), [&](size_t i) { return clients[i]->Run(start, &lanes[i]); });
  const bool open = load.rate.mean > 0;
  const double seconds = open ? load.seconds : static_cast<double>(NowNanos() - start) / 1e9;
  done = true;
  sampler.join();
  if (!status.ok()) return status;
  if (open) AddArrivals(load, &samples);

  Histogram gets;
  Histogram puts;
  uint64_t arrived = 0;
  for (const std::unique_ptr<Client>& client : clients) {
    gets.Merge(client->get_latency());
    puts.Merge(client->put_latency());
    arrived += client->gets_arrived() + client->puts_arrived();
  }
  *result = {{"operations", gets.count() + puts.count()},
             {"arrived", arrived},
             {"seconds", seconds},
             {"gets", gets.count()},
             {"puts", puts.count()},
             {"latency", {{"get", LatencyJson(gets)}, {"put", LatencyJson(puts)}}},
             {"samples", std::move(samples)}};
  return Status::OK();
}

}  // namespace braid::figures
