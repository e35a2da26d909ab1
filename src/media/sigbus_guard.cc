// Purpose: the SIGBUS handler and the ranges it knows.
// Thread safety, invariants, persistence: see sigbus_guard.h.
#include "media/sigbus_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/mutex.h"

namespace braid::media {

/// Ranges are linked once and used again, never freed.
struct SigbusGuard::Range {
  std::atomic<uintptr_t> begin{0};  // 0: not in use
  std::atomic<uintptr_t> end{0};
  std::atomic<uint64_t> fault{0};
  std::atomic<uint32_t> replaced{0};
  Range* next = nullptr;
};

struct SigbusRegistry {
  using Range = SigbusGuard::Range;

  static Range* Find(uintptr_t address) noexcept {
    for (Range* range = first.load(std::memory_order_acquire); range != nullptr;
         range = range->next) {
      const uintptr_t begin = range->begin.load(std::memory_order_acquire);
      const uintptr_t end = range->end.load(std::memory_order_acquire);
      // Looked at twice: the range may be given up, and taken for another pool, at this moment.
      if (begin != 0 && address >= begin && address < end &&
          range->begin.load(std::memory_order_acquire) == begin) {
        return range;
      }
    }
    return nullptr;
  }

  static bool Replace(Range* range, uintptr_t address) noexcept;
  static void PassOn(int signal, siginfo_t* info, void* context) noexcept;
  static void Handle(int signal, siginfo_t* info, void* context) noexcept;
  static Status Install();
  static void Uninstall() noexcept;

  static base::Mutex mutex;  // not taken by the handler
  static std::atomic<Range*> first;
  static uint32_t watched;
  static bool installed;
  static struct sigaction previous;
};

base::Mutex SigbusRegistry::mutex;
std::atomic<SigbusGuard::Range*> SigbusRegistry::first{nullptr};
uint32_t SigbusRegistry::watched = 0;
bool SigbusRegistry::installed = false;
struct sigaction SigbusRegistry::previous {};

namespace {

/// Pages replaced one by one before the rest of the range is: each may be a mapping of its own, and
/// a process has a limited number of them.
constexpr uint32_t kSinglePages = 64;
/// What a mapping may be cut at: pages, and the large pages of DAX devices.
constexpr uintptr_t kCuts[] = {uintptr_t{1} << 12, uintptr_t{1} << 21, uintptr_t{1} << 30};
static_assert(std::is_sorted(std::begin(kCuts), std::end(kCuts)));  // as little as possible is lost
// The handler may interrupt the thread that changes these.
static_assert(std::atomic<uintptr_t>::is_always_lock_free &&
              std::atomic<uint64_t>::is_always_lock_free);

}  // namespace

/// Puts zeros in the place of what the medium does not give.
bool SigbusRegistry::Replace(Range* range, uintptr_t address) noexcept {
  const uintptr_t begin = range->begin.load(std::memory_order_relaxed);
  const uintptr_t end = range->end.load(std::memory_order_relaxed);
  const bool all = range->replaced.fetch_add(1, std::memory_order_relaxed) >= kSinglePages;
  for (const uintptr_t cut : kCuts) {
    const uintptr_t from = std::max(address & ~(cut - 1), begin);
    const uintptr_t to = all ? end : std::min(from + cut, end);
    // The bare system call: it touches nothing of this process but errno.
    const long at = ::syscall(SYS_mmap, from, to - from, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (static_cast<uintptr_t>(at) == from) return true;
  }
  return false;
}

void SigbusRegistry::PassOn(int signal, siginfo_t* info, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
    return;
  }
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
    return;
  }
  const bool sent = info->si_code <= 0;  // by kill(), not by an access
  if (sent && previous.sa_handler == SIG_IGN) return;
  // The access is made again when this returns, and ends the process as it would have without us.
  ::signal(signal, SIG_DFL);
  if (sent) ::raise(signal);
}

void SigbusRegistry::Handle(int signal, siginfo_t* info, void* context) noexcept {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  Range* range = info->si_code > 0 ? Find(address) : nullptr;
  if (range != nullptr) {
    uint64_t none = 0;
    range->fault.compare_exchange_strong(
        none, 1 + (address - range->begin.load(std::memory_order_relaxed)),
        std::memory_order_seq_cst);
    if (Replace(range, address)) {
      errno = saved;
      return;
    }
  }
  errno = saved;
  PassOn(signal, info, context);
}

Status SigbusRegistry::Install() {
  if (installed) return Status::OK();
  struct sigaction action {};
  action.sa_sigaction = Handle;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&action.sa_mask);
  // `previous` must be there before the first signal can come.
  if (::sigaction(SIGBUS, nullptr, &previous) != 0 || ::sigaction(SIGBUS, &action, nullptr) != 0) {
    return Status::IOError(std::string("cannot install the handler of SIGBUS: ") +
                           std::strerror(errno) + "; set pool.catch_sigbus to false");
  }
  installed = true;
  return Status::OK();
}

void SigbusRegistry::Uninstall() noexcept {
  BRAID_DCHECK(watched == 0);
  struct sigaction now {};
  if (!installed || ::sigaction(SIGBUS, nullptr, &now) != 0) return;
  // Somebody came after us and may pass signals on to us: then ours stays, and passes them on too.
  if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != Handle) return;
  ::sigaction(SIGBUS, &previous, nullptr);
  installed = false;
}

Status SigbusGuard::Watch(const char* base, uint64_t bytes) {
  BRAID_CHECK(range_ == nullptr);
  BRAID_CHECK(base != nullptr && bytes != 0);  // a range that begins at 0 is not in use
  const base::MutexLock lock(SigbusRegistry::mutex);
  Range* range = SigbusRegistry::first.load(std::memory_order_relaxed);
  while (range != nullptr && range->begin.load(std::memory_order_relaxed) != 0) range = range->next;
  if (range == nullptr) {
    range = new Range;
    range->next = SigbusRegistry::first.load(std::memory_order_relaxed);
    SigbusRegistry::first.store(range, std::memory_order_release);
  }
  if (Status s = SigbusRegistry::Install(); !s.ok()) return s;
  ++SigbusRegistry::watched;
  const auto begin = reinterpret_cast<uintptr_t>(base);
  range->fault.store(0, std::memory_order_relaxed);
  range->replaced.store(0, std::memory_order_relaxed);
  range->end.store(begin + bytes, std::memory_order_release);
  range->begin.store(begin, std::memory_order_release);
  range_ = range;
  return Status::OK();
}

void SigbusGuard::Release() noexcept {
  if (range_ == nullptr) return;
  const base::MutexLock lock(SigbusRegistry::mutex);
  range_->begin.store(0, std::memory_order_release);
  range_ = nullptr;
  BRAID_DCHECK(SigbusRegistry::watched > 0);
  if (--SigbusRegistry::watched == 0) SigbusRegistry::Uninstall();
}

// Held over a fork, by fork_guard.cc.
void SigbusGuard::LockForFork() noexcept BRAID_NO_THREAD_CHECK { SigbusRegistry::mutex.lock(); }
void SigbusGuard::UnlockAfterFork() noexcept BRAID_NO_THREAD_CHECK {
  SigbusRegistry::mutex.unlock();
}

const std::atomic<uint64_t>& SigbusGuard::fault() const noexcept {
  static const std::atomic<uint64_t> none{0};
  return range_ != nullptr ? range_->fault : none;
}

}  // namespace braid::media
