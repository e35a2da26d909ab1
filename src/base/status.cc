// Purpose: texts of Status. Thread safety: values. Persistence: none.
#include "braid/status.h"

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
  }
  return "Unknown";
}
}  // namespace

std::string Status::ToString() const {
  std::string text = CodeName(code());
  if (!message().empty()) text += ": " + std::string(message());
  return text;
}

}  // namespace braid
