// Purpose: the calls of braid/c.h that make orders of keys.
// Thread safety: as in braid/c.h.
// Persistence: none.

#include <utility>

#include "capi/handles.h"

namespace braid::capi {

namespace {

using Convert = size_t (*)(void*, const char* bytes, size_t length, char* out, size_t room);

constexpr size_t kNoKey = static_cast<size_t>(-1);
/// Room that a first call gets beyond the bytes that it is given.
constexpr size_t kMoreRoom = 16;

/// An order whose functions are the caller's.
class CKeyOrder final : public KeyOrder {
 public:
  CKeyOrder(void* state, Convert encode, Convert decode, std::string name)
      : state_(state), encode_(encode), decode_(decode), name_(std::move(name)) {}
  ~CKeyOrder() override {
    if (destructor_ != nullptr) destructor_(state_);
  }
  CKeyOrder(const CKeyOrder&) = delete;
  CKeyOrder& operator=(const CKeyOrder&) = delete;

  /// From now on the state is this object's.
  void TakeState(void (*destructor)(void*)) noexcept { destructor_ = destructor; }

  std::string_view Name() const override { return name_; }
  Status Encode(Slice key, std::string* out) const override {
    switch (Run(encode_, key, out)) {
      case Outcome::kDone:
        return Status::OK();
      case Outcome::kRefused:
        return Status::InvalidArgument("the order \"" + name_ + "\" refuses the key");
      case Outcome::kEndless:
        break;
    }
    return Status::InvalidArgument("the order \"" + name_ +
                                   "\" asked for a buffer that is too small for the encoded key");
  }
  Status Decode(Slice encoded, std::string* out) const override {
    return Run(decode_, encoded, out) == Outcome::kDone
               ? Status::OK()
               : Status::Corruption("the order \"" + name_ + "\" can't decode a key of the pool");
  }

 private:
  enum class Outcome { kDone, kRefused, kEndless };

  Outcome Run(Convert convert, Slice bytes, std::string* out) const {
    out->resize(bytes.size() + kMoreRoom);
    for (int attempt = 0; attempt < 2; ++attempt) {
      const size_t room = out->size();
      const size_t length = convert(state_, bytes.data(), bytes.size(), out->data(), room);
      if (length == kNoKey) return Outcome::kRefused;
      out->resize(length);
      if (length <= room) return Outcome::kDone;
    }
    return Outcome::kEndless;
  }

  void* const state_;
  const Convert encode_;
  const Convert decode_;
  const std::string name_;
  void (*destructor_)(void*) = nullptr;
};

}  // namespace

}  // namespace braid::capi

using braid::capi::NullOnThrow;

void braid_options_set_key_order(braid_options_t* options, braid_key_order_t* order) {
  if (order == nullptr) {
    options->order.reset();
  } else {
    options->order = order->rep;
  }
}

braid_key_order_t* braid_key_order_create(void* state, void (*destructor)(void*),
                                          size_t (*encode)(void*, const char* key, size_t keylen,
                                                           char* out, size_t room),
                                          size_t (*decode)(void*, const char* encoded,
                                                           size_t length, char* out, size_t room),
                                          const char* (*name)(void*)) {
  return NullOnThrow([&] {
    // The destructor is set last: what fails on the way leaves `state` to the caller.
    auto handle = std::make_unique<braid_key_order_t>();
    auto order = std::make_shared<braid::capi::CKeyOrder>(state, encode, decode, name(state));
    handle->rep = order;
    order->TakeState(destructor);
    return handle.release();
  });
}

braid_key_order_t* braid_key_order_create_builtin(const char* name) {
  return NullOnThrow([&]() -> braid_key_order_t* {
    auto handle = std::make_unique<braid_key_order_t>();
    handle->rep = braid::FindKeyOrder(name);
    return handle->rep != nullptr ? handle.release() : nullptr;
  });
}

void braid_key_order_destroy(braid_key_order_t* order) { delete order; }
