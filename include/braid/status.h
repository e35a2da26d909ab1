// Status and Result<T>: how braid reports errors. No call of the public API throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace braid {

/// Bytes that the caller owns; braid never keeps a Slice after the call that took it.
using Slice = std::string_view;

/// The outcome of an operation: ok, or a code and a message that says what to do.
/// An ok status is one null pointer and never allocates.
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
  };

  Status() noexcept = default;
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

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

  /// The message alone, empty when ok.
  std::string_view message() const noexcept {
    return rep_ ? std::string_view(rep_->message) : std::string_view();
  }
  /// "OK", or "Corruption: ..." and so on, for people.
  std::string ToString() const;

 private:
  struct Rep {
    Code code;
    std::string message;
  };
  Status(Code code, std::string message)
      : rep_(std::make_unique<Rep>(Rep{code, std::move(message)})) {}

  std::unique_ptr<Rep> rep_;
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
  T& operator*() & { return *value_; }
  T&& operator*() && { return std::move(*value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace braid
