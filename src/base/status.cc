// Purpose: texts of Status.
// Thread safety: values.
// Persistence: none.
#include "braid/status.h"

#include <exception>
#include <string>
#include <system_error>

#include "base/no_throw.h"

namespace braid {

namespace {
const char* CodeName(Status::Code code) {
  switch (code) {
    case Status::Code::kOk:
      return "OK";
    case Status::Code::kNotFound:
      return "NotFound";
    case Status::Code::kCorruption:
      return "Corruption";
    case Status::Code::kInvalidArgument:
      return "Invalid argument";
    case Status::Code::kIOError:
      return "IO error";
    case Status::Code::kNotSupported:
      return "Not supported";
    case Status::Code::kOutOfSpace:
      return "Out of space";
    case Status::Code::kBusy:
      return "Busy";
    case Status::Code::kTryAgain:
      return "Try again";
    case Status::Code::kClosed:
      return "Closed";
    case Status::Code::kAborted:
      return "Aborted";
    case Status::Code::kOutOfMemory:
      return "Out of memory";
  }
  return "Unknown";
}
}  // namespace

Status Status::OutOfMemory() noexcept {
  // Allocated once and never freed, so that running out of memory can always be reported.
  alignas(Rep) static unsigned char place[sizeof(Rep)];
  static Rep* const rep = new (place) Rep{Code::kOutOfMemory, {}};
  Status status;
  status.rep_ = rep;
  status.Share();
  return status;
}

namespace base {

Status StatusOfException() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return Status::OutOfMemory();
    } catch (const std::system_error& error) {
      // Of all that braid calls, only the start of a thread throws this.
      return Status::IOError(std::string("cannot start a thread: ") + error.what() +
                             "; raise the limit on processes (ulimit -u), or set "
                             "background_threads to false");
    } catch (const std::exception& error) {
      return Status::Aborted(std::string("the call was aborted by an exception: ") + error.what());
    } catch (...) {
      return Status::Aborted("the call was aborted: a callback threw");
    }
  } catch (...) {
    return Status::OutOfMemory();  // not even the message could be made
  }
}

}  // namespace base

std::string Status::ToString() const {
  std::string text = CodeName(code());
  if (!message().empty()) text += ": " + std::string(message());
  return text;
}

}  // namespace braid
