// Purpose: measuring whether the background lacks processors, and waiting.
// Thread safety, invariants, persistence: see writer_pace.h.
#include "engine/writer_pace.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/clock.h"

namespace braid::engine {

namespace {

/// What counts as lately: several time slices.
constexpr double kWindowNanos = 30e6;
/// A piece that took longer was no piece: a thread that slept, or a machine that did.
constexpr uint64_t kLongestPiece = 100'000'000;
/// With this share of its time on a processor nothing is wrong, and with the other nothing worse.
constexpr double kEnough = 0.98;
constexpr double kLeast = 0.9;
/// How often to look whether somebody reads, and what counts as that, a millisecond.
constexpr uint64_t kLookNanos = 5'000'000;
constexpr uint64_t kReadsAMilli = 4;
/// Shorter waits come together to such, since a sleep takes some 50 us more than it is to; what it
/// takes more is credit, as is time in which nothing was written, up to a limit.
constexpr int64_t kSleepNanos = 200'000;
constexpr int64_t kMostCredit = 1'000'000;
/// No write waits longer than this; what a large batch has to wait beyond it is left to the writes
/// that follow, up to a limit.
constexpr int64_t kMostAtOnce = 5'000'000;
constexpr int64_t kMostDebt = 100'000'000;

/// Of a thread of the background: when its piece began.
struct Mark {
  uint64_t of = 0;
  uint64_t wall = 0;
  uint64_t cpu = 0;
};
/// Of a writer: how far it is ahead of its pace, when that was reckoned last, and what it had read
/// when it last waited.
struct Debt {
  uint64_t of = 0;
  int64_t nanos = 0;
  uint64_t at = 0;
  uint64_t reads = 0;
};
constinit thread_local Mark mark;
constinit thread_local Debt debt;

std::atomic<uint64_t> last_id{0};

uint64_t CpuNanosOfThread() noexcept {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

WriterPace::WriterPace(base::Stalls* stalls) noexcept
    : stalls_(*stalls), id_(last_id.fetch_add(1, std::memory_order_relaxed) + 1) {}

uint32_t WriterPace::NanosAt(double share) noexcept {
  const double lack = (kEnough - share) / (kEnough - kLeast);
  return static_cast<uint32_t>(kMostNanos * std::clamp(lack, 0.0, 1.0));
}

void WriterPace::Begin() noexcept {
  if (reads_.by_all) mark = {id_, NowNanos(), CpuNanosOfThread()};
}

void WriterPace::Note() noexcept {
  const Mark begin = mark;
  Begin();
  if (begin.of == id_) Count(mark.wall, mark.wall - begin.wall, mark.cpu - begin.cpu);
}

void WriterPace::Count(uint64_t now, uint64_t took, uint64_t ran) noexcept {
  if (!reads_.by_all || took == 0 || took > kLongestPiece) return;
  ran = std::min(ran, took);
  const base::MutexLock lock(mutex_);
  const double kept = 1 - std::min(static_cast<double>(took) / kWindowNanos, 1.0);
  time_ = time_ * kept + static_cast<double>(took);
  run_ = run_ * kept + static_cast<double>(ran);
  if (now >= looked_at_ + kLookNanos) {
    const uint64_t reads = reads_.by_all();
    const uint64_t milli = (now - looked_at_) / 1'000'000;
    is_read_ = reads - reads_seen_ >= kReadsAMilli * milli;
    reads_seen_ = reads;
    looked_at_ = now;
  }
  Set(is_read_ ? NanosAt(run_ / time_) : 0);
}

void WriterPace::Set(uint32_t nanos) noexcept {
  // Mostly it is as before, and the line stays with the writers.
  if (nanos != this->nanos()) nanos_.store(nanos, std::memory_order_relaxed);
}

void WriterPace::Owe(uint64_t entries) noexcept {
  const uint32_t nanos = this->nanos();
  if (nanos == 0) return;
  if (debt.of != id_) debt = {id_, 0, NowNanos(), reads_.by_thread()};
  const auto more = static_cast<int64_t>(nanos * std::min<uint64_t>(entries, kMostDebt));
  debt.nanos = std::min(debt.nanos + more, kMostDebt);
}

void WriterPace::Wait() {
  if (debt.nanos < kSleepNanos) return;
  const uint64_t now = NowNanos();
  debt.nanos = std::max(debt.nanos - static_cast<int64_t>(now - debt.at), -kMostCredit);
  debt.at = now;
  if (debt.nanos < kSleepNanos) return;
  if (const uint64_t reads = reads_.by_thread(); reads != debt.reads) {  // invariant 2
    debt = {id_, 0, now, reads};
    return;
  }
  std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(debt.nanos, kMostAtOnce)));
  stalls_.Add(StallReason::kProcessors, NowNanos() - now);
}

}  // namespace braid::engine
