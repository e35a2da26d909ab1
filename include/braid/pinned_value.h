// Purpose: PinnedValue, a value that the database lends where copying it would cost more.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "braid/status.h"

namespace braid {

/// What DB::GetPinned found. Large values stay where they are in the pool, and the memory is not
/// reused until this object is reset, is given to another get, or ends; small ones are copied,
/// which costs less. Holds its database's memory alive, also beyond DB::Close: data() stays
/// readable. Keep it no longer than needed: space that was given up meanwhile can't be reused.
/// Movable. One thread at a time.
class PinnedValue {
 public:
  PinnedValue() = default;
  PinnedValue(const PinnedValue&) = delete;
  PinnedValue& operator=(const PinnedValue&) = delete;
  PinnedValue(PinnedValue&& other) noexcept { *this = std::move(other); }
  PinnedValue& operator=(PinnedValue&& other) noexcept {
    pin_ = std::move(other.pin_);
    lent_ = std::exchange(other.lent_, {});
    copy_ = std::move(other.copy_);
    other.Reset();
    return *this;
  }
  ~PinnedValue() = default;

  /// The bytes; empty when nothing was found.
  Slice data() const noexcept { return pin_ != nullptr ? lent_ : Slice(copy_); }
  /// True: data() lies in the pool.
  bool pinned() const noexcept { return pin_ != nullptr; }
  /// Lets go of the value.
  void Reset() noexcept {
    pin_.reset();
    lent_ = {};
    copy_.clear();
  }

  /// For databases: lends `bytes`, which stay readable as long as `pin` is held.
  void Lend(Slice bytes, std::shared_ptr<const void> pin) noexcept {
    copy_.clear();
    lent_ = bytes;
    pin_ = std::move(pin);
  }
  /// For databases: where a copy goes. Whatever was lent is let go.
  std::string* CopyTo() noexcept {
    Reset();
    return &copy_;
  }

 private:
  std::shared_ptr<const void> pin_;
  Slice lent_;
  std::string copy_;
};

}  // namespace braid
