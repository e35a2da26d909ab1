// Stands in for the C functions that read memory, in this program and in the shared libraries it
// uses (std::string lives in one): notes what is read, and calls the real one. Loads in our own
// code call the hooks of src/sim/sim_reads.cc. This file is compiled without hooks.
#include <dlfcn.h>

#include <cstddef>
#include <cstdint>

#include "sim/sim_reads.h"

#if defined(BRAID_READ_HOOKS)

namespace {

using braid::sim::NoteRead;

/// The C library's function of that name. Null while the program is being loaded.
template <typename Function>
Function* Real(const char* name) noexcept {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

size_t LengthOf(const char* text) noexcept {
  size_t n = 0;
  while (text[n] != '\0') {
    ++n;
    __asm__ volatile("" ::: "memory");  // or the compiler makes a call of strlen of it
  }
  return n;
}

void CopyUp(void* target, const void* source, size_t n) noexcept {
  __asm__ volatile("rep movsb" : "+D"(target), "+S"(source), "+c"(n) : : "memory");
}

using CopyFunction = void*(void*, const void*, size_t);
using CompareFunction = int(const void*, const void*, size_t);
using FindFunction = void*(const void*, int, size_t);
using CompareTextFunction = int(const char*, const char*);
using CompareSomeTextFunction = int(const char*, const char*, size_t);

CopyFunction* real_memcpy;
CopyFunction* real_memmove;
CompareFunction* real_memcmp;
FindFunction* real_memchr;
FindFunction* real_memrchr;
CompareTextFunction* real_strcmp;
CompareSomeTextFunction* real_strncmp;

__attribute__((constructor(101))) void FindReal() {
  real_memcpy = Real<CopyFunction>("memcpy");
  real_memmove = Real<CopyFunction>("memmove");
  real_memcmp = Real<CompareFunction>("memcmp");
  real_memchr = Real<FindFunction>("memchr");
  real_memrchr = Real<FindFunction>("memrchr");
  real_strcmp = Real<CompareTextFunction>("strcmp");
  real_strncmp = Real<CompareSomeTextFunction>("strncmp");
}

/// Libraries that are loaded before this program's constructors run come here too.
template <typename Function>
Function* Ready(Function** real) noexcept {
  if (*real == nullptr) [[unlikely]] {
    FindReal();
  }
  return *real;
}

}  // namespace

extern "C" {

void* memcpy(void* target, const void* source, size_t n) noexcept {
  NoteRead(source, n);
  if (real_memcpy == nullptr) [[unlikely]] {
    CopyUp(target, source, n);
    return target;
  }
  return real_memcpy(target, source, n);
}

void* memmove(void* target, const void* source, size_t n) noexcept {
  NoteRead(source, n);
  return Ready(&real_memmove)(target, source, n);
}

int memcmp(const void* a, const void* b, size_t n) noexcept {
  NoteRead(a, n);
  NoteRead(b, n);
  return Ready(&real_memcmp)(a, b, n);
}

int bcmp(const void* a, const void* b, size_t n) noexcept {
  NoteRead(a, n);
  NoteRead(b, n);
  return Ready(&real_memcmp)(a, b, n);
}

// These two have a second, const-correct face in C++'s <cstring>, which is not included here.
void* memchr(const void* bytes, int c, size_t n) noexcept {
  NoteRead(bytes, n);
  return Ready(&real_memchr)(bytes, c, n);
}

void* memrchr(const void* bytes, int c, size_t n) noexcept {
  NoteRead(bytes, n);
  return Ready(&real_memrchr)(bytes, c, n);
}

size_t strlen(const char* text) noexcept {
  const size_t n = LengthOf(text);
  NoteRead(text, n + 1);
  return n;
}

int strcmp(const char* a, const char* b) noexcept {
  NoteRead(a, LengthOf(a) + 1);
  NoteRead(b, LengthOf(b) + 1);
  return Ready(&real_strcmp)(a, b);
}

int strncmp(const char* a, const char* b, size_t n) noexcept {
  NoteRead(a, n);
  NoteRead(b, n);
  return Ready(&real_strncmp)(a, b, n);
}

}  // extern "C"

#endif  // BRAID_READ_HOOKS
