// Purpose: waiting for many words at once, in groups of what the system takes.
// Thread safety, invariants, persistence: see word_watch.h.
#include "base/word_watch.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/futex.h"
#include "base/no_throw.h"

namespace braid::base {

namespace {

uint32_t ValueOf(const uint32_t* place) noexcept {
  return __atomic_load_n(place, __ATOMIC_ACQUIRE);
}

}  // namespace

WordWatch::WordWatch(std::function<void(void*)> changed) : changed_(std::move(changed)) {}

WordWatch::~WordWatch() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  for (const auto& group : groups_) {
    group->changes.fetch_add(1);
    WakeWaiters(&group->changes, false);
    group->thread.join();
  }
}

WordWatch::Group* WordWatch::GroupWithRoom() {
  constexpr size_t kWords = kMostWaiters - 1;  // one of them is the group's own
  for (const auto& group : groups_) {
    if (group->words.size() < kWords) return group.get();
  }
  groups_.reserve(groups_.size() + 1);
  auto group = std::make_unique<Group>();
  group->words.reserve(kWords);
  group->thread = std::thread([this, made = group.get()] { Loop(made); });
  groups_.push_back(std::move(group));
  return groups_.back().get();
}

bool WordWatch::Add(void* name, const void* word, uint32_t seen) noexcept {
  const MutexLock lock(mutex_);
  if (!can_wait_) return false;
  Group* group = nullptr;
  IgnoreExceptions([&] {
    mutex_.AssertHeld();
    group = GroupWithRoom();
  });
  if (group == nullptr) return false;
  group->words.push_back({name, static_cast<const uint32_t*>(word), seen});
  group->changes.fetch_add(1);
  WakeWaiters(&group->changes, false);
  return true;
}

void WordWatch::Remove(void* name) noexcept {
  const MutexLock lock(mutex_);
  for (const auto& group : groups_) {
    if (std::erase_if(group->words, [&](const Word& word) { return word.name == name; }) == 0) {
      continue;
    }
    group->changes.fetch_add(1);
    WakeWaiters(&group->changes, false);
    return;
  }
}

/// Tells of the words that have changed; of all where the system can't wait: those who asked
/// for them look from time to time.
void WordWatch::Tell(Group* group) noexcept {
  const bool all = !can_wait_;
  std::erase_if(group->words, [&](const Word& word) {
    if (!all && ValueOf(word.place) == word.seen) return false;
    changed_(word.name);
    return true;
  });
}

void WordWatch::Loop(Group* group) noexcept {
  pthread_setname_np(pthread_self(), "braid-watch");
  std::array<FutexWaiter, kMostWaiters> waiters;
  for (;;) {
    size_t count = 1;
    const uint32_t changes = group->changes.load();
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      Tell(group);
      waiters[0] = FutexWaiter::OfProcess(&group->changes, changes);
      for (const Word& word : group->words) {
        waiters[count++] = FutexWaiter::Shared(word.place, word.seen);
      }
    }
    if (WaitForAny(waiters.data(), count)) continue;
    // Not because a word was taken out, and its file unmapped, meanwhile.
    const MutexLock lock(mutex_);
    if (group->changes.load() != changes) continue;
    can_wait_ = false;
    Tell(group);
    group->has_ended = true;
    return;
  }
}

size_t WordWatch::threads() const noexcept {
  const MutexLock lock(mutex_);
  return static_cast<size_t>(
      std::ranges::count_if(groups_, [](const auto& group) { return !group->has_ended; }));
}

}  // namespace braid::base
