// Purpose: the store "delegated": a pool a region, chosen by the key's hash. A thread of the region
// does the work; a client hands it its request through the region's queue and waits.
//
// Thread safety: as kv_engine.h says.
// Invariants: 1. A client has one request at most in all queues together, and it lives as long as
// its session: queues are as long as there are sessions, and nothing is allocated. 2. A request is
// the client's until it is enqueued and after it is done, the worker's between; the queue's lock
// and the request's lock hand it over. 3. A key is in one pool, for ever.
// Persistence: the pools' own: a put that is answered is as durable as its pool makes it.
#include <pthread.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include "bench/engines/engines.h"
#include "bench/engines/regional_pools.h"
#include "bench/harness/worker.h"
#include "braid/version.h"

namespace braid::bench {
namespace {

/// The processors of a node, from a list like "0-3,8"; empty when the system does not tell.
cpu_set_t ProcessorsOfNode(int node) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/cpulist");
  for (std::string part; std::getline(file, part, ',');) {
    std::istringstream numbers(part);
    int first = 0;
    if (!(numbers >> first)) continue;
    int last = first;
    if (numbers.get() == '-') numbers >> last;
    for (int cpu = first; cpu <= last && cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &set);
  }
  return set;
}

struct Request {
  enum class Kind { kPut, kGet, kDelete };
  Kind kind = Kind::kGet;
  std::string_view key;
  std::string_view value;
  std::string* found = nullptr;
  uint64_t enqueued = 0;  // NowNanos
  Request* next = nullptr;

  std::mutex mutex;
  std::condition_variable answered;
  bool done = false;
  uint64_t ended = 0;
  Status status;
};

/// Totals, since Open.
struct Waits {
  uint64_t requests = 0;
  uint64_t queue_nanos = 0;   // from the enqueueing to the begin of the work
  uint64_t answer_nanos = 0;  // from the end of the work until the client goes on
};

/// A region's thread and its queue.
class RegionWorker {
 public:
  /// `node`: whose processors the thread runs on; kNoNode: on any.
  RegionWorker(DB* pool, const WriteOptions& write_options, int node)
      : pool_(pool), write_options_(write_options), thread_([this, node] { Run(node); }) {}

  ~RegionWorker() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  /// Blocks until the request is done.
  Status Ask(Request* request) {
    request->done = false;
    request->next = nullptr;
    request->enqueued = NowNanos();
    {
      const std::lock_guard lock(mutex_);
      (last_ == nullptr ? first_ : last_->next) = request;
      last_ = request;
    }
    wake_.notify_one();
    {
      std::unique_lock lock(request->mutex);
      request->answered.wait(lock, [&] { return request->done; });
    }
    // Relaxed: a statistic.
    answer_nanos_.fetch_add(NowNanos() - request->ended, std::memory_order_relaxed);
    return std::move(request->status);
  }

  Waits Totals() const {
    // Relaxed: statistics.
    return {requests_.load(std::memory_order_relaxed), queue_nanos_.load(std::memory_order_relaxed),
            answer_nanos_.load(std::memory_order_relaxed)};
  }

 private:
  void Run(int node) {
    if (node != media::kNoNode) {
      const cpu_set_t set = ProcessorsOfNode(node);
      // Where it is forbidden, or nothing is known, it runs unpinned.
      if (CPU_COUNT(&set) > 0) (void)::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
    }
    for (;;) {
      Request* request = nullptr;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return first_ != nullptr || stopped_; });
        if (first_ == nullptr) return;
        request = std::exchange(first_, nullptr);
        last_ = nullptr;
      }
      while (request != nullptr) {
        // Once it is done, it is the client's again.
        Request* next = request->next;
        Serve(request);
        request = next;
      }
    }
  }

  void Serve(Request* request) {
    // Relaxed: statistics, of one writer.
    queue_nanos_.fetch_add(NowNanos() - request->enqueued, std::memory_order_relaxed);
    requests_.fetch_add(1, std::memory_order_relaxed);
    Status status = Do(*request);
    const std::lock_guard lock(request->mutex);
    request->status = std::move(status);
    request->ended = NowNanos();
    request->done = true;
    // Under the lock: without it the client may see `done` and be gone before the call.
    request->answered.notify_one();
  }

  Status Do(const Request& request) {
    switch (request.kind) {
      case Request::Kind::kPut:
        return pool_->Put(write_options_, request.key, request.value);
      case Request::Kind::kGet:
        return pool_->Get(ReadOptions(), request.key, request.found);
      case Request::Kind::kDelete:
        return pool_->Delete(write_options_, request.key);
    }
    return Status::InvalidArgument("a request of no kind");
  }

  DB* pool_;
  WriteOptions write_options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  Request* first_ = nullptr;
  Request* last_ = nullptr;
  bool stopped_ = false;
  std::atomic<uint64_t> requests_{0};
  std::atomic<uint64_t> queue_nanos_{0};
  std::atomic<uint64_t> answer_nanos_{0};
  std::thread thread_;  // last: it uses all of the above
};

struct DelegatedState {
  RegionalPools pools;
  std::vector<std::unique_ptr<RegionWorker>> workers;
};

class DelegatedSession : public KvSession {
 public:
  explicit DelegatedSession(DelegatedState* state) : state_(state) {}

  Status Put(std::string_view key, std::string_view value) override {
    return Ask(Request::Kind::kPut, key, value, nullptr);
  }
  Status Get(std::string_view key, std::string* value) override {
    return Ask(Request::Kind::kGet, key, {}, value);
  }
  Status Delete(std::string_view key) override {
    return Ask(Request::Kind::kDelete, key, {}, nullptr);
  }
  Status Write(const std::vector<BatchUpdate>&) override {
    return Status::NotSupported("batches would span pools that are chosen by the keys' hashes");
  }

  Status Scan(const ScanRange& range, const ScanVisitor& visit) override {
    return state_->pools.Scan(
        range, [&](std::string_view key, const std::vector<std::string_view>& found) {
          return visit(key, found.front());
        });
  }

 private:
  Status Ask(Request::Kind kind, std::string_view key, std::string_view value, std::string* found) {
    request_.kind = kind;
    request_.key = key;
    request_.value = value;
    request_.found = found;
    return state_->workers[HashOfKey(key) % state_->workers.size()]->Ask(&request_);
  }

  DelegatedState* state_;
  Request request_;
};

class DelegatedEngine : public KvEngine {
 public:
  std::string name() const override { return "delegated"; }
  std::string version() const override { return BRAID_VERSION_STRING; }
  std::string parameters() const override { return parameters_; }
  std::string caveat() const override {
    return "a comparison, no design of braid: a client sleeps until its answer is there, and a "
           "scan "
           "is its own thread's work and sees each pool at another moment";
  }

  Status Open(const EngineConfig& config) override {
    state_ = std::make_unique<DelegatedState>();
    if (Status s = state_->pools.Open(config); !s.ok()) return s;
    const RegionalPools& pools = state_->pools;
    parameters_ = pools.parameters();
    for (uint32_t region = 0; region < pools.regions(); ++region) {
      state_->workers.push_back(std::make_unique<RegionWorker>(
          pools.pool(region), pools.write_options(), pools.NodeOf(region)));
    }
    return Status::OK();
  }

  std::unique_ptr<KvSession> NewSession() override {
    return std::make_unique<DelegatedSession>(state_.get());
  }

  Status Settle() override { return state_->pools.Settle(); }
  EngineCounters Counters() override { return state_->pools.Counters(); }

  /// Every visit is near, as the pools say: the region's own thread made it.
  std::vector<EngineField> Fields() override {
    std::vector<EngineField> fields = SumOfFields(state_->pools.PoolStatistics());
    Waits sum;
    for (const std::unique_ptr<RegionWorker>& worker : state_->workers) {
      const Waits waits = worker->Totals();
      sum.requests += waits.requests;
      sum.queue_nanos += waits.queue_nanos;
      sum.answer_nanos += waits.answer_nanos;
    }
    fields.push_back({"delegated_requests", sum.requests});
    fields.push_back({"queue_wait_nanos", sum.queue_nanos});
    fields.push_back({"answer_wait_nanos", sum.answer_nanos});
    return fields;
  }

  Status Close() override {
    if (!state_) return Status::OK();
    state_->workers.clear();
    Status s = state_->pools.Close();
    state_.reset();
    return s;
  }

 private:
  std::unique_ptr<DelegatedState> state_;
  std::string parameters_;  // told after Close, too
};

}  // namespace

std::unique_ptr<KvEngine> MakeDelegatedEngine() { return std::make_unique<DelegatedEngine>(); }

}  // namespace braid::bench
