#include "crash/threaded_run.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "base/check.h"
#include "crash/bare_database.h"
#include "sim/sim_media.h"

namespace braid::crash {
namespace {

constexpr uint32_t kCallsAThread = 4;
constexpr unsigned kHangSeconds = 120;
constexpr size_t kMostStates = 63;

/// Looks through the orders of calls, depth first; what was reached before is not looked at again.
class OrderSearch {
 public:
  explicit OrderSearch(const std::vector<Call>& calls) : calls_(calls) {
    BRAID_CHECK(calls.size() <= 32);
    for (size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].ended != 0) ended_ |= 1u << i;
    }
  }

  void Visit(uint32_t taken, const Content& content) {
    if (!seen_.emplace(taken, content).second) return;
    if ((taken & ended_) == ended_) contents_.insert(content);
    for (size_t i = 0; i < calls_.size(); ++i) {
      if ((taken >> i & 1) != 0 || !MayBeNext(i, taken)) continue;
      const Call& call = calls_[i];
      if (call.kind == Call::Kind::kWrite) {
        Content next = content;
        Apply(call.updates, &next);
        Visit(taken | 1u << i, next);
      } else if (call.ended != 0 && Explains(content, call)) {
        Visit(taken | 1u << i, content);
      }
    }
  }

  const std::set<Content>& contents() const { return contents_; }

 private:
  bool MayBeNext(size_t next, uint32_t taken) const {
    for (size_t i = 0; i < calls_.size(); ++i) {
      const bool before = calls_[i].ended != 0 && calls_[i].ended < calls_[next].begun;
      if (before && (taken >> i & 1) == 0) return false;
    }
    return true;
  }

  static bool Explains(const Content& content, const Call& call) {
    if (call.kind == Call::Kind::kScan) return content == call.content;
    const auto at = content.find(call.key);
    return at == content.end() ? !call.found.has_value() : call.found == at->second;
  }

  const std::vector<Call>& calls_;
  uint32_t ended_ = 0;
  std::set<std::pair<uint32_t, Content>> seen_;
  std::set<Content> contents_;
};

std::string KeyOf(uint64_t number) { return "k" + std::to_string(number); }

}  // namespace

std::vector<Content> ContentsAfter(const Content& before, const std::vector<Call>& calls) {
  OrderSearch search(calls);
  search.Visit(0, before);
  return {search.contents().begin(), search.contents().end()};
}

ThreadedRun::ThreadedRun(Device* device, const Workload& workload, uint64_t seed,
                         const RunSettings& settings)
    : CrashPoints(device, workload, seed, settings),
      random_(Mix64(seed + 2)),
      options_(DrawOptions(workload, &random_)) {
  options_.memtable.bytes = 1024;
  // One thread recovers an image; the pool must not care.
  device->checker.Begin(workload, options_, BootId(1));
  options_.background_threads = true;
}

std::optional<Failure> ThreadedRun::Run() {
  scheduler_ = std::make_unique<Scheduler>(Mix64(seed_ + 5),
                                           [this](uint32_t thread) { sim_.AdoptThread(thread); });
  sim_.set_on_step([] {
    if (Scheduler* const scheduler = Scheduler::Current()) scheduler->Yield();
  });
  sim_.set_on_point([this](sim::PointKind) {
    scheduler_->set_paused(true);
    OnPoint();
    scheduler_->set_paused(false);
    alarm(kHangSeconds);
  });
  alarm(kHangSeconds);
  Result<std::unique_ptr<DB>> opened =
      OpenBare(options_, std::make_unique<sim::SimMedia>(&sim_, BootId(1)));
  if (opened.ok()) {
    db_ = std::move(*opened);
    Fill(random_.Uniform(9));
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < workload_.threads; ++i) {
      threads.emplace_back([this, i] { Work(i); });
    }
    for (std::thread& thread : threads) thread.join();
    Finish();
  } else {
    Fail("open: " + opened.status().ToString());
  }
  sim_.set_tracking(false);
  db_.reset();
  scheduler_.reset();
  alarm(0);
  return failure_;
}

/// Writes of one thread, which bring the memtable to the brink of a flush.
void ThreadedRun::Fill(uint64_t writes) {
  for (uint64_t i = 0; i < writes && !muted_; ++i) {
    calls_.assign(1, Draw(&random_, 99, static_cast<uint32_t>(i)));
    calls_[0].begun = ++clock_;
    ++version_;
    if (const Status status = Perform(calls_.data()); !status.ok()) Fail(status.ToString());
    Apply(calls_[0].updates, &before_);
    calls_.clear();
    ++version_;
  }
}

Call ThreadedRun::Draw(Random* random, uint32_t thread, uint32_t number) const {
  Call call;
  const uint64_t kind = random->Uniform(16);
  if (kind < 5 && thread != 99) {
    call.kind = Call::Kind::kGet;
    call.key = KeyOf(random->Uniform(workload_.keys));
    return call;
  }
  if (kind == 5 && thread != 99) {
    call.kind = Call::Kind::kScan;
    return call;
  }
  const uint64_t first = random->Uniform(workload_.keys);
  const uint64_t count = kind < 10 ? 2 + random->Uniform(2) : 1;
  for (uint64_t i = 0; i < count; ++i) {
    Update update{KeyOf((first + i) % workload_.keys), {}};
    if (!random->OneIn(4)) {
      update.value = std::to_string(thread) + "." + std::to_string(number) + ":";
      update.value->append(random->Uniform(300), static_cast<char>('a' + number));
    }
    call.updates.push_back(std::move(update));
  }
  return call;
}

void ThreadedRun::Work(uint32_t thread) {
  Random random(Mix64(seed_ + 7) + thread);
  for (uint32_t i = 0; i < kCallsAThread && !muted_; ++i) {
    Call call = Draw(&random, thread, i);
    const size_t number = calls_.size();
    call.begun = ++clock_;
    calls_.push_back(call);
    ++version_;
    ++device_->checker.counts().operations;
    scheduler_->Yield();
    const Status status = Perform(&call);
    call.ended = ++clock_;
    calls_[number] = std::move(call);
    ++version_;
    if (!status.ok())
      return Fail("a call of thread " + std::to_string(thread) + ": " + status.ToString());
    sim_.Acknowledge();
  }
}

Status ThreadedRun::Perform(Call* call) {
  if (call->kind == Call::Kind::kGet) {
    std::string value;
    const Status status = db_->Get({}, call->key, &value);
    if (status.ok()) call->found = std::move(value);
    return status.IsNotFound() ? Status::OK() : status;
  }
  if (call->kind == Call::Kind::kScan) {
    const std::unique_ptr<Iterator> it = db_->NewIterator({});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      call->content.emplace(it->key(), it->value());
    }
    return it->status();
  }
  if (call->updates.size() == 1) {
    const Update& update = call->updates[0];
    return update.value.has_value() ? db_->Put(update.key, *update.value) : db_->Delete(update.key);
  }
  WriteBatch batch;
  for (const Update& update : call->updates) {
    if (update.value.has_value()) {
      batch.Put(update.key, *update.value);
    } else {
      batch.Delete(update.key);
    }
  }
  return db_->Write(batch);
}

Allowed ThreadedRun::AllowedNow(bool) {
  if (allowed_version_ == version_) return allowed_;
  allowed_version_ = version_;
  allowed_ = {};
  for (const Content& content : ContentsAfter(before_, calls_)) {
    allowed_.states.push_back(std::make_shared<const Pairs>(content.begin(), content.end()));
  }
  BRAID_CHECK(allowed_.states.size() <= kMostStates);
  allowed_.mask = (1ull << allowed_.states.size()) - 1;
  std::set<std::string> keys;
  for (uint64_t i = 0; i < workload_.keys; ++i) keys.insert(KeyOf(i));
  allowed_.keys = std::make_shared<const std::set<std::string>>(std::move(keys));
  if (allowed_.states.empty()) {
    Fail("no order of the calls explains what they returned");
  }
  return allowed_;
}

/// What the running database shows at the end must be explained too.
void ThreadedRun::Finish() {
  if (failure_.has_value()) return;
  Allowed allowed = AllowedNow(false);
  if (failure_.has_value()) return;
  std::string wrong = CheckContent(db_.get(), &allowed);
  if (wrong.empty()) wrong = CheckStructure(db_.get());
  if (!wrong.empty()) return Fail("the running database: " + wrong);
  if (random_.OneIn(2)) {
    if (const Status status = db_->Close(); !status.ok()) Fail("close: " + status.ToString());
  }
  if (!sim_.violation().empty()) Fail("safety net: " + sim_.violation());
}

}  // namespace braid::crash
