// Purpose: counting stalls.
// Thread safety, invariants, persistence: see stalls.h.
#include "base/stalls.h"

namespace braid::base {

constinit thread_local uint64_t Stalls::counted_of_thread = 0;
constinit thread_local uint32_t Stalls::timers_of_thread = 0;

Stalls::Timer::Waiter::Waiter(Stalls* stalls, StallReason reason) noexcept
    : outermost_(timers_of_thread++ == 0) {
  if (!outermost_) return;
  const uint64_t word = NowCycles() << kReasonBits | static_cast<uint64_t>(reason);
  // Threads with equal slots are rare; a few tries find room for the next.
  for (uint32_t i = 0; i < 4; ++i) {
    std::atomic<uint64_t>& slot = stalls->waiters_[(ThreadSlot() + i) % kSlots];
    uint64_t expected = 0;
    // Relaxed: a reported number, ordered with nothing.
    if (slot.compare_exchange_strong(expected, word, std::memory_order_relaxed)) {
      slot_ = &slot;
      return;
    }
  }
}

Stalls::Timer::Waiter::~Waiter() {
  --timers_of_thread;
  if (slot_ != nullptr) slot_->store(0, std::memory_order_relaxed);
}

Stalls::Asked::~Asked() { counted_of_thread += NanosOfCycles(NowCycles() - begin_); }

// Relaxed throughout: counters that order nothing.
void Stalls::Add(StallReason reason, uint64_t nanos) noexcept {
  counted_of_thread += nanos;
  count_.fetch_add(1, std::memory_order_relaxed);
  nanos_[static_cast<size_t>(reason)].fetch_add(nanos, std::memory_order_relaxed);
  latencies_.Record(LatencyKind::kStall, nanos);
  uint64_t longest = longest_.load(std::memory_order_relaxed);
  while (nanos > longest &&
         !longest_.compare_exchange_weak(longest, nanos, std::memory_order_relaxed)) {
  }
  if (listener_ != nullptr && nanos >= kNoticeable) listener_->OnStall({.nanos = nanos});
}

void Stalls::AddCycles(StallReason reason, uint64_t cycles, uint64_t counted_nanos) noexcept {
  const uint64_t nanos = NanosOfCycles(cycles);
  const uint64_t rest = nanos - std::min(nanos, counted_nanos);
  if (rest >= kNoticeable) Add(reason, rest);
}

uint64_t Stalls::nanos() const noexcept {
  uint64_t sum = 0;
  for (const auto& nanos : nanos_) sum += nanos.load(std::memory_order_relaxed);
  return sum;
}

Stalls::Waiting Stalls::waiting() const noexcept {
  Waiting waiting;
  uint64_t oldest = 0;
  for (const auto& slot : waiters_) {
    const uint64_t word = slot.load(std::memory_order_relaxed);
    if (word == 0) continue;
    ++waiting.writers;
    if (oldest == 0 || word < oldest) oldest = word;
  }
  if (oldest == 0) return waiting;
  const uint64_t now = NowCycles() << kReasonBits >> kReasonBits;
  const uint64_t begin = oldest >> kReasonBits;
  waiting.longest_nanos = NanosOfCycles(now - std::min(now, begin));
  waiting.reason = static_cast<StallReason>(oldest & ((1u << kReasonBits) - 1));
  return waiting;
}

void Stalls::Fill(Statistics* statistics) const noexcept {
  for (size_t i = 0; i < kStallReasons; ++i) {
    statistics->stall_micros_by[i] = nanos(static_cast<StallReason>(i)) / 1000;
  }
  statistics->stall_micros = nanos() / 1000;
  statistics->stalls = count();
  statistics->longest_stall_micros = longest_nanos() / 1000;
  latencies_.Fill(statistics);
  const Waiting now = waiting();
  statistics->stalled_writers = now.writers;
  statistics->stalled_writer_micros = now.longest_nanos / 1000;
  statistics->stalled_writer_reason = now.writers == 0 ? 0 : static_cast<uint64_t>(now.reason) + 1;
}

}  // namespace braid::base
