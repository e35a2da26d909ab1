// Purpose: Status and Result<T>, how braid reports errors. No call of the public API throws.
// Thread safety: const calls from any thread; the message that copies share is never changed.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace braid {

/// Bytes that the caller owns; braid never keeps a Slice after the call that took it.
using Slice = std::string_view;

/// The outcome of an operation: ok, or a code and a message that says what to do.
/// One pointer, null when ok. Copies share the message and never fail.
class [[nodiscard]] Status {
 public:
  enum class Code : uint8_t {
    kOk = 0,
    kNotFound = 1,         ///< no such key, pool or property
    kCorruption = 2,       ///< bytes in the pool are not what was written; names file and offset
    kInvalidArgument = 3,  ///< the caller's key, value, option or path is outside a stated limit
    kIOError = 4,          ///< the operating system or the medium refused
    kNotSupported = 5,     ///< the selected design lacks this capability
    kOutOfSpace = 6,       ///< pool or filesystem full; reads and deletes go on
    kBusy = 7,             ///< another process or handle holds the pool
    kTryAgain = 8,         ///< a transient condition; the same call may succeed later
    kClosed = 9,           ///< the database was closed before the call
    kAborted = 10,         ///< the operation was given up on request
    kOutOfMemory = 11,     ///< the process got no memory; what was acknowledged is still there
  };

  Status() noexcept = default;
  Status(const Status& other) noexcept : rep_(other.rep_) { Share(); }
  Status& operator=(const Status& other) noexcept {
    Status copy(other);
    std::swap(rep_, copy.rep_);
    return *this;
  }
  Status(Status&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~Status() { Release(); }

  static Status OK() noexcept { return {}; }
  static Status NotFound(std::string message = {}) { return {Code::kNotFound, std::move(message)}; }
  static Status Corruption(std::string message) { return {Code::kCorruption, std::move(message)}; }
  static Status InvalidArgument(std::string message) {
    return {Code::kInvalidArgument, std::move(message)};
  }
  static Status IOError(std::string message) { return {Code::kIOError, std::move(message)}; }
  static Status NotSupported(std::string message) {
    return {Code::kNotSupported, std::move(message)};
  }
  static Status OutOfSpace(std::string message) { return {Code::kOutOfSpace, std::move(message)}; }
  static Status Busy(std::string message) { return {Code::kBusy, std::move(message)}; }
  static Status TryAgain(std::string message) { return {Code::kTryAgain, std::move(message)}; }
  static Status Closed() { return {Code::kClosed, "the database is closed"}; }
  static Status Aborted(std::string message) { return {Code::kAborted, std::move(message)}; }
  /// Needs no memory itself.
  static Status OutOfMemory() noexcept;

  bool ok() const noexcept { return rep_ == nullptr; }
  Code code() const noexcept { return rep_ ? rep_->code : Code::kOk; }
  bool IsNotFound() const noexcept { return code() == Code::kNotFound; }
  bool IsCorruption() const noexcept { return code() == Code::kCorruption; }
  bool IsInvalidArgument() const noexcept { return code() == Code::kInvalidArgument; }
  bool IsIOError() const noexcept { return code() == Code::kIOError; }
  bool IsNotSupported() const noexcept { return code() == Code::kNotSupported; }
  bool IsOutOfSpace() const noexcept { return code() == Code::kOutOfSpace; }
  bool IsBusy() const noexcept { return code() == Code::kBusy; }
  bool IsTryAgain() const noexcept { return code() == Code::kTryAgain; }
  bool IsClosed() const noexcept { return code() == Code::kClosed; }
  bool IsOutOfMemory() const noexcept { return code() == Code::kOutOfMemory; }

  /// The message alone, empty when ok.
  std::string_view message() const noexcept {
    if (rep_ == nullptr) return {};
    return rep_->message.empty() && rep_->code == Code::kOutOfMemory ? kOutOfMemoryText
                                                                     : rep_->message;
  }
  /// "OK", or "Corruption: ..." and so on, for people.
  std::string ToString() const;

 private:
  struct Rep {
    Code code;
    std::string message;
    std::atomic<uint32_t> owners{1};
  };
  Status(Code code, std::string message) noexcept
      : rep_(new (std::nothrow) Rep{code, std::move(message)}) {
    if (rep_ == nullptr) *this = OutOfMemory();
  }
  void Share() const noexcept {
    if (rep_ != nullptr) rep_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  void Release() noexcept {
    // Acquire and release: the last owner sees what the others did before they let go.
    if (rep_ != nullptr && rep_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete rep_;
  }

  static constexpr std::string_view kOutOfMemoryText =
      "the process got no memory; give it more, or lower memory_budget_bytes or log.shards, and "
      "try again";
  Rep* rep_ = nullptr;
};

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: implicit on purpose

  bool ok() const noexcept { return value_.has_value(); }
  const Status& status() const noexcept { return status_; }
  /// Only when ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return std::move(*value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace braid
