// Purpose: the calls of braid/c.h that make comparators.
// Thread safety: as in braid/c.h.
// Persistence: none.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "capi/handles.h"

namespace braid::capi {

namespace {

/// A comparator whose function is the caller's.
class CComparator final : public Comparator {
 public:
  using Function = int (*)(void*, const char* a, size_t alen, const char* b, size_t blen);

  CComparator(void* state, Function compare, std::string name)
      : state_(state), compare_(compare), name_(std::move(name)) {}
  ~CComparator() override {
    if (destructor_ != nullptr) destructor_(state_);
  }
  CComparator(const CComparator&) = delete;
  CComparator& operator=(const CComparator&) = delete;

  /// From now on the state is this object's.
  void TakeState(void (*destructor)(void*)) noexcept { destructor_ = destructor; }

  std::string_view Name() const override { return name_; }
  int Compare(Slice a, Slice b) const override {
    return compare_(state_, a.data(), a.size(), b.data(), b.size());
  }

 private:
  void* const state_;
  const Function compare_;
  const std::string name_;
  void (*destructor_)(void*) = nullptr;
};

/// The same of a function that may fail.
class FallibleComparator final : public Comparator {
 public:
  using Function = int (*)(void*, const char* a, size_t alen, const char* b, size_t blen,
                           char** errptr);

  FallibleComparator(void* state, Function compare, std::string name)
      : state_(state), compare_(compare), name_(std::move(name)) {}
  ~FallibleComparator() override {
    if (destructor_ != nullptr) destructor_(state_);
  }
  FallibleComparator(const FallibleComparator&) = delete;
  FallibleComparator& operator=(const FallibleComparator&) = delete;

  void TakeState(void (*destructor)(void*)) noexcept { destructor_ = destructor; }

  std::string_view Name() const override { return name_; }
  int Compare(Slice a, Slice b) const override {
    char* error = nullptr;
    const int order = compare_(state_, a.data(), a.size(), b.data(), b.size(), &error);
    if (error == nullptr) return order;
    const std::unique_ptr<char, void (*)(void*)> taken(error, std::free);
    throw std::runtime_error("the comparator " + name_ + " failed: " + error);
  }

 private:
  void* const state_;
  const Function compare_;
  const std::string name_;
  void (*destructor_)(void*) = nullptr;
};

template <class Made, class Function>
braid_comparator_t* MakeHandle(void* state, void (*destructor)(void*), Function compare,
                               const char* (*name)(void*)) {
  return NullOnThrow([&] {
    // The destructor is set last: what fails on the way leaves `state` to the caller.
    auto handle = std::make_unique<braid_comparator_t>();
    auto comparator = std::make_shared<Made>(state, compare, name(state));
    handle->rep = comparator;
    comparator->TakeState(destructor);
    return handle.release();
  });
}

}  // namespace

}  // namespace braid::capi

void braid_options_set_comparator(braid_options_t* options, braid_comparator_t* comparator) {
  if (comparator == nullptr) {
    options->comparator.reset();
  } else {
    options->comparator = comparator->rep;
  }
}

braid_comparator_t* braid_comparator_create(void* state, void (*destructor)(void*),
                                            int (*compare)(void*, const char* a, size_t alen,
                                                           const char* b, size_t blen),
                                            const char* (*name)(void*)) {
  return braid::capi::MakeHandle<braid::capi::CComparator>(state, destructor, compare, name);
}

braid_comparator_t* braid_comparator_create_fallible(void* state, void (*destructor)(void*),
                                                     int (*compare)(void*, const char* a,
                                                                    size_t alen, const char* b,
                                                                    size_t blen, char** errptr),
                                                     const char* (*name)(void*)) {
  return braid::capi::MakeHandle<braid::capi::FallibleComparator>(state, destructor, compare, name);
}

void braid_comparator_destroy(braid_comparator_t* comparator) { delete comparator; }
