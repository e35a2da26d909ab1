// Purpose: the threads of a process that do background work, and which job each takes next.
// Thread safety, invariants, persistence: see workers.h.
#include "base/workers.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/forks.h"
#include "base/no_throw.h"
#include "base/processors.h"

namespace braid::base {

namespace {

/// How long a job waits that is to be woken by a word which can't be watched.
constexpr auto kLookAtWord = std::chrono::milliseconds(500);
constexpr std::array<const char*, 3> kThreadNames{"braid-flush", "braid-merge", "braid-space"};

}  // namespace

/// Where those of a process are found. A child has another: the lock of its parent's may be held by
/// a thread that it has not.
struct Workers::Home {
  const uint32_t generation = ForkGeneration();
  Home* const parents;  // reachable, so that it does not count as lost
  Mutex mutex;
  std::weak_ptr<Workers> workers;
};

std::shared_ptr<Workers> Workers::OfProcess() {
  static constinit std::atomic<Home*> home_of_process{nullptr};
  Home* home = home_of_process.load(std::memory_order_acquire);
  while (home == nullptr || home->generation != ForkGeneration()) {
    // NOLINTNEXTLINE(modernize-make-unique): clang 14 makes no aggregate so.
    auto fresh = std::unique_ptr<Home>(new Home{.parents = home, .mutex = {}, .workers = {}});
    if (home_of_process.compare_exchange_strong(home, fresh.get())) home = fresh.release();
  }
  const MutexLock lock(home->mutex);
  std::shared_ptr<Workers> workers = home->workers.lock();
  if (workers == nullptr) {
    Limits most;
    most.fill(std::max<size_t>(2, ProcessorsOfProcess()));
    workers.reset(new Workers(most));
    home->workers = workers;
  }
  return workers;
}

std::shared_ptr<Workers> Workers::WithThreads(size_t threads) {
  BRAID_CHECK(threads >= kLanes);
  const size_t flush = std::max<size_t>(threads / 4, 1);
  const size_t space = std::max<size_t>(threads / 8, 1);
  return std::shared_ptr<Workers>(new Workers({flush, threads - flush - space, space}));
}

Workers::Workers(const Limits& most)
    : most_(most), watch_([this](void* job) { Wake(static_cast<Job*>(job)); }) {}

Workers::~Workers() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  for (LaneState& lane : lanes_) {
    BRAID_CHECK(lane.jobs == 0);
    lane.changed.NotifyAll();
    for (std::thread& thread : lane.threads) thread.join();
  }
}

size_t Workers::SpareThreads(Lane lane) const noexcept {
  const MutexLock lock(mutex_);
  const LaneState& state = lanes_[static_cast<size_t>(lane)];
  BRAID_DCHECK(state.running <= state.threads.size());
  const size_t needed = state.running + state.due;
  return most_threads(lane) - std::min(most_threads(lane), needed);
}

size_t Workers::threads() const noexcept {
  size_t sum = watch_.threads();
  const MutexLock lock(mutex_);
  for (const LaneState& lane : lanes_) sum += lane.threads.size();
  return sum;
}

void Workers::StartThread(Lane lane) {
  LaneState& state = lanes_[static_cast<size_t>(lane)];
  state.threads.reserve(most_threads(lane));
  state.threads.emplace_back([this, lane] { Loop(lane); });
}

/// One more, if so many jobs need it.
void Workers::StartThreadFor(Lane lane, size_t jobs) {
  const size_t threads = lanes_[static_cast<size_t>(lane)].threads.size();
  if (threads < std::min(jobs, most_threads(lane))) StartThread(lane);
}

void Workers::Add(Job* job, Lane lane, bool rests) {
  Job::Queue node;
  node.emplace(Clock::time_point{}, job);
  const MutexLock lock(mutex_);
  BRAID_CHECK(job->state_ == Job::State::kOut);
  LaneState& state = lanes_[static_cast<size_t>(lane)];
  if (state.threads.empty()) StartThread(lane);
  // Those that are there may all be at long jobs.
  if (state.idle == 0) {
    IgnoreExceptions([&] {
      mutex_.AssertHeld();
      StartThreadFor(lane, state.jobs + 1);
    });
  }
  job->lane_ = lane;
  job->node_ = node.extract(node.begin());
  job->woken_ = false;
  job->leaves_ = false;
  ++state.jobs;
  job->state_ = Job::State::kResting;
  if (rests) return;
  Enqueue(job, {});
  state.changed.NotifyOne();
}

void Workers::Remove(Job* job) noexcept {
  {
    const MutexLock lock(mutex_);
    if (job->state_ == Job::State::kOut) return;
    if (job->state_ == Job::State::kQueued) Dequeue(job);
    job->leaves_ = true;
    while (job->state_ == Job::State::kRunning) left_.Wait(mutex_);
    job->state_ = Job::State::kOut;
    --LaneOf(*job).jobs;
  }
  if (job->is_watched_) watch_.Remove(job);
  job->is_watched_ = false;
}

void Workers::Wake(Job* job) noexcept {
  const MutexLock lock(mutex_);
  switch (job->state_) {
    case Job::State::kOut:
      return;
    case Job::State::kRunning:
      job->woken_ = true;
      return;
    case Job::State::kQueued:
      Dequeue(job);
      break;
    case Job::State::kResting:
      break;
  }
  if (job->leaves_) return;
  Enqueue(job, {});
  LaneOf(*job).changed.NotifyOne();
}

/// To run after `pause`.
void Workers::Enqueue(Job* job, std::chrono::milliseconds pause) noexcept {
  LaneState& lane = LaneOf(*job);
  job->pause_ = pause;
  job->node_.value().first = Clock::now() + pause;
  if (pause.count() == 0) {
    ++lane.due;
    if (job->IsUrgent()) job->node_.value().first -= kHeadStart;  // invariant 4
  }
  job->place_ = lane.queue.insert(std::move(job->node_)).position;
  job->state_ = Job::State::kQueued;
}

void Workers::Dequeue(Job* job) noexcept {
  LaneState& lane = LaneOf(*job);
  job->node_ = lane.queue.extract(job->place_);
  if (job->pause_.count() == 0) {
    BRAID_DCHECK(lane.due > 0);
    --lane.due;
  }
  job->state_ = Job::State::kResting;
}

/// The first of the queue, when its time has come. Waits for that, or for a job that comes before
/// it, and then returns null. By the wait and not by the clock, which may be moved, so that the
/// crash simulator can repeat what happens.
Workers::Job* Workers::TakeOrWait(LaneState* lane) noexcept {
  ++lane->idle;
  if (lane->queue.empty()) {
    lane->changed.Wait(mutex_);
    --lane->idle;
    return nullptr;
  }
  const auto first = *lane->queue.begin();
  if (first.second->pause_.count() != 0) {
    // Where the clock has gone back, no longer than the job asked for.
    lane->changed.WaitUntil(mutex_, std::min(first.first, Clock::now() + first.second->pause_));
  }
  --lane->idle;
  if (stopping_ || lane->queue.empty() || *lane->queue.begin() != first) return nullptr;
  Job* const job = first.second;
  Dequeue(job);
  job->state_ = Job::State::kRunning;
  ++lane->running;
  job->woken_ = false;
  return job;
}

void Workers::RunJob(Job* job) noexcept {
  mutex_.unlock();
  if (job->is_watched_) watch_.Remove(job);
  Next next = job->Run();
  job->is_watched_ = next.word != nullptr && watch_.Add(job, next.word, next.seen);
  if (next.word != nullptr && !job->is_watched_) next = Next::After(kLookAtWord);
  mutex_.lock();
  --LaneOf(*job).running;
  job->state_ = Job::State::kResting;
  if (job->leaves_) {
    left_.NotifyAll();
  } else if (job->woken_ || next.when != Next::When::kWhenWoken) {
    Enqueue(job, job->woken_ ? std::chrono::milliseconds(0) : next.after);
  }
}

void Workers::Loop(Lane lane) noexcept {
  pthread_setname_np(pthread_self(), kThreadNames[static_cast<size_t>(lane)]);
  const MutexLock lock(mutex_);
  LaneState& state = lanes_[static_cast<size_t>(lane)];
  while (!stopping_) {
    Job* const job = TakeOrWait(&state);
    if (job == nullptr) continue;
    // What comes next is another thread's.
    if (state.idle != 0) {
      if (!state.queue.empty()) state.changed.NotifyOne();
    } else {
      IgnoreExceptions([&] {
        mutex_.AssertHeld();
        StartThreadFor(lane, state.jobs);
      });
    }
    RunJob(job);
  }
}

}  // namespace braid::base
