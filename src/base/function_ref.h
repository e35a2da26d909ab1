// Purpose: FunctionRef, a reference to something that can be called, for virtual functions that
// take a functor: no allocation, one indirect call.
// Thread safety: that of what it refers to.
// Invariants:
//   1. It owns nothing, so it is a parameter only, never a member.
// Persistence: none.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace braid::base {

template <class Signature>
class FunctionRef;

template <class Returned, class... Arguments>
class FunctionRef<Returned(Arguments...)> {
 public:
  template <class Callable>
  requires(!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef> &&
           std::is_invocable_r_v<Returned, Callable&, Arguments...>)
      // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): `requires` leaves copies out
      FunctionRef(Callable&& callable)
  noexcept  // implicit: a lambda is passed as it is
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Arguments... arguments) -> Returned {
          return (*static_cast<std::remove_reference_t<Callable>*>(object))(
              std::forward<Arguments>(arguments)...);
        }) {}

  Returned operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  void* object_;
  Returned (*call_)(void*, Arguments...);
};

}  // namespace braid::base
