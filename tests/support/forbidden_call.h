// A system that lacks a call, as older kernels and sandboxes do.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace braid::test {

/// Whether the system has the call, which fails when its arguments are zeros. Sandboxes may refuse
/// one with an error of their own.
inline bool KnowsCall(long number) {
  return ::syscall(number, 0, 0, 0, 0, 0, 0) < 0 && errno == EINVAL;
}

/// Runs `body` in a thread for which, and for all threads that it starts, the system call of this
/// number is not there. False, and it was not run, where such a thread can't be had (no seccomp).
template <class Body>
bool WithoutCall(long number, Body&& body) {
  bool ran = false;
  std::thread([&] {
    std::array<sock_filter, 4> filter{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog program{filter.size(), filter.data()};
    ran = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
          ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    if (ran) body();
  }).join();
  return ran;
}

}  // namespace braid::test
