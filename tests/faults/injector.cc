// The functions that fail on request. They stand in for those of the libraries by symbol
// interposition and call them by dlsym, so that a sanitizer's own interceptors stay in the chain.
#include "injector.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdlib>
#include <new>

namespace braid::test {
namespace {

struct Plan {
  std::atomic<Call> call{Call::kCount};
  std::atomic<uint64_t> at{0};
  std::atomic<bool> lasting{false};
  std::atomic<int> error{0};
  std::atomic<bool> kills{false};
  std::atomic<int> armed{0};
  std::atomic<uint64_t> calls{0};
  std::atomic<bool> failed{false};
};
constinit Plan plan;

/// Ends the process if this call that changes or syncs files is the one to end before.
void MayBeLast() {
  if (plan.armed.load(std::memory_order_relaxed) == 0 || !plan.kills.load()) return;
  if (plan.calls.fetch_add(1) + 1 == plan.at.load()) ::_exit(kKilledExit);
}

/// True when this call is to fail; errno says how.
bool Fails(Call call) {
  if (plan.armed.load(std::memory_order_relaxed) == 0 || plan.kills.load()) return false;
  if (plan.call.load(std::memory_order_relaxed) != call) return false;
  const uint64_t number = plan.calls.fetch_add(1) + 1;
  const uint64_t at = plan.at.load(std::memory_order_relaxed);
  if (at == 0 || number < at || (number > at && !plan.lasting.load())) return false;
  if (const auto* hook = before_failure.exchange(nullptr); hook != nullptr) (*hook)();
  plan.failed.store(true);
  errno = plan.error.load();
  return true;
}

/// The next definition of a function, behind ours.
template <class Function>
Function* Next(const char* name, std::atomic<Function*>* kept) {
  Function* next = kept->load(std::memory_order_acquire);
  if (next == nullptr) {
    next = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    if (next == nullptr) std::abort();
    kept->store(next, std::memory_order_release);
  }
  return next;
}

}  // namespace

const char* CallName(Call call) {
  static constexpr const char* kNames[] = {"new",    "mmap",  "open",  "fallocate", "sync",
                                           "rename", "write", "fcntl", "stat",      "thread"};
  static_assert(sizeof kNames / sizeof kNames[0] == static_cast<size_t>(Call::kCount));
  return kNames[static_cast<size_t>(call)];
}

std::string Injection::ToString() const {
  return std::string(CallName(call)) + " number " + std::to_string(at) +
         (lasting ? " and all later ones fail" : " fails") + " with errno " + std::to_string(error);
}

void Inject(const Injection& injection) {
  plan.call.store(injection.call);
  plan.at.store(injection.at);
  plan.lasting.store(injection.lasting);
  plan.error.store(injection.error);
  plan.kills.store(injection.kills);
  plan.calls.store(0);
  plan.failed.store(false);
}
uint64_t CallsMade() { return plan.calls.load(); }
bool HasFailed() { return plan.failed.load(); }
bool SyncHasFailed() {
  return plan.failed.load() && plan.call.load() == Call::kSync && plan.error.load() != EINTR;
}
std::atomic<const std::function<void()>*> before_failure{nullptr};

Armed::Armed() { plan.armed.fetch_add(1); }
Armed::~Armed() { plan.armed.fetch_sub(1); }

}  // namespace braid::test

using braid::test::Call;
using braid::test::Fails;
using braid::test::MayBeLast;
using braid::test::Next;

// ---- Memory ----------------------------------------------------------------------------------

void* operator new(size_t bytes) {
  if (Fails(Call::kNew)) throw std::bad_alloc();
  void* memory = std::malloc(bytes != 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  if (Fails(Call::kNew)) throw std::bad_alloc();
  const auto unit = static_cast<size_t>(alignment);
  void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new[](size_t bytes) { return ::operator new(bytes); }
void* operator new[](size_t bytes, std::align_val_t alignment) {
  return ::operator new(bytes, alignment);
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Fails(Call::kNew) ? nullptr : std::malloc(bytes != 0 ? bytes : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

extern "C" {

#if !defined(BRAID_FAULT_SHIM)
// By the linker's --wrap: calls of calloc in this program, not in the libraries it loads.
void* __real_calloc(size_t count, size_t bytes);
void* __wrap_calloc(size_t count, size_t bytes) {
  return Fails(Call::kNew) ? nullptr : __real_calloc(count, bytes);
}
#endif

// ---- System calls ----------------------------------------------------------------------------

void* mmap(void* address, size_t bytes, int protection, int flags, int fd, off_t offset) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  // A pool then reserves less, and the tables that it makes for the whole range are small: clearing
  // their shadow takes longer than all else.
  if (bytes >= (size_t{1} << 34) && protection == PROT_NONE) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
#endif
  if (Fails(Call::kMap)) return MAP_FAILED;
  const long at = ::syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
  return at == -1 ? MAP_FAILED : reinterpret_cast<void*>(at);
}

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if ((flags & O_CREAT) != 0) MayBeLast();
  if (Fails(Call::kOpen)) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if ((flags & O_CREAT) != 0) MayBeLast();
  if (Fails(Call::kOpen)) return -1;
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

DIR* opendir(const char* path) {
  using Function = DIR*(const char*);
  static std::atomic<Function*> next{nullptr};
  return Fails(Call::kOpen) ? nullptr : Next("opendir", &next)(path);
}

int posix_fallocate(int fd, off_t offset, off_t bytes) {
  using Function = int(int, off_t, off_t);
  static std::atomic<Function*> next{nullptr};
  MayBeLast();
  return Fails(Call::kAllocate) ? errno : Next("posix_fallocate", &next)(fd, offset, bytes);
}

int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  MayBeLast();
  if (Fails(Call::kAllocate)) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, bytes));
}

int fsync(int fd) {
  MayBeLast();
  return Fails(Call::kSync) ? -1 : static_cast<int>(::syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  MayBeLast();
  return Fails(Call::kSync) ? -1 : static_cast<int>(::syscall(SYS_fdatasync, fd));
}
int msync(void* address, size_t bytes, int flags) {
  MayBeLast();
  return Fails(Call::kSync) ? -1 : static_cast<int>(::syscall(SYS_msync, address, bytes, flags));
}

int renameat(int old_folder, const char* old_path, int new_folder, const char* new_path) noexcept {
  return ::renameat2(old_folder, old_path, new_folder, new_path, 0);
}
int renameat2(int old_folder, const char* old_path, int new_folder, const char* new_path,
              unsigned flags) noexcept {
  MayBeLast();
  if (Fails(Call::kRename)) return -1;
  return static_cast<int>(
      ::syscall(SYS_renameat2, old_folder, old_path, new_folder, new_path, flags));
}

ssize_t pwrite(int fd, const void* bytes, size_t count, off_t offset) {
  MayBeLast();
  return Fails(Call::kWrite) ? -1 : ::syscall(SYS_pwrite64, fd, bytes, count, offset);
}
int ftruncate(int fd, off_t bytes) noexcept {
  MayBeLast();
  return Fails(Call::kWrite) ? -1 : static_cast<int>(::syscall(SYS_ftruncate, fd, bytes));
}
int mkdir(const char* path, mode_t mode) noexcept {
  MayBeLast();
  return Fails(Call::kWrite) ? -1 : static_cast<int>(::syscall(SYS_mkdir, path, mode));
}
// Never made to fail: what can't be removed is left, and told of by the first error.
int unlinkat(int folder, const char* path, int flags) noexcept {
  MayBeLast();
  return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}
int unlink(const char* path) noexcept { return ::unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return ::unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return Fails(Call::kLock) ? -1 : static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));
}

int stat(const char* path, struct stat* facts) noexcept {
  return Fails(Call::kStat) ? -1 : ::fstatat(AT_FDCWD, path, facts, 0);
}
int fstat(int fd, struct stat* facts) noexcept {
  return Fails(Call::kStat) ? -1 : ::fstatat(fd, "", facts, AT_EMPTY_PATH);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  using Function = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static std::atomic<Function*> next{nullptr};
  if (Fails(Call::kThread)) return EAGAIN;
  return Next("pthread_create", &next)(thread, attributes, run, argument);
}

}  // extern "C"
