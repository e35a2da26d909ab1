// Purpose: see core.h. Persistence: none.
#include "core.h"

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>

namespace braid::python {

namespace {

std::atomic<uint32_t> fork_generation{0};

/// The exception of a code; see src/braiddb/_errors.py.
const char* ExceptionName(Status::Code code) {
  switch (code) {
    case Status::Code::kNotFound:
      return "NotFoundError";
    case Status::Code::kCorruption:
      return "CorruptionError";
    case Status::Code::kInvalidArgument:
      return "InvalidArgumentError";
    case Status::Code::kIOError:
      return "IOError";
    case Status::Code::kNotSupported:
      return "NotSupportedError";
    case Status::Code::kOutOfSpace:
      return "OutOfSpaceError";
    case Status::Code::kBusy:
      return "BusyError";
    case Status::Code::kClosed:
      return "ClosedError";
    case Status::Code::kOutOfMemory:
      return "OutOfMemoryError";
    case Status::Code::kOk:
    case Status::Code::kTryAgain:
    case Status::Code::kAborted:
      break;
  }
  return "Error";
}

}  // namespace

void WithoutGil::TakeBack() noexcept {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {
    // Leaving this block would end the process. Its end will end the thread.
    for (;;) pause();
  }
}

// Relaxed: a child has one thread, and the parent's count never changes.
uint32_t ForkGeneration() noexcept { return fork_generation.load(std::memory_order_relaxed); }

void WatchForks() {
  static const int watched = pthread_atfork(
      nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  if (watched != 0) throw std::bad_alloc();
}

Handle::~Handle() {
  if (!own_process()) {
    (void)db_.release();  // Invariant 3: left as it is, it belongs to the parent
    return;
  }
  const WithoutGil others;
  db_.reset();
}

Status Handle::Close() {
  if (own_process() && ingesting_ == this) {
    return Status::InvalidArgument(
        "the records that ingest() reads must not close the database: close it afterwards");
  }
  // In a child too, so that a `with` block ends there as anywhere.
  if (closed_.exchange(true) || !own_process()) return Status::OK();
  const WithoutGil others;
  const Status s = db_->Close();
  return s.IsClosed() ? Status::OK() : s;
}

void Handle::Refuse(const char* closed_message) const {
  if (!own_process()) {
    RaiseNamed("ClosedError",
               "the database was opened before a fork and belongs to the parent process; close it "
               "there, or open it after the fork");
  }
  if (closed()) RaiseNamed("ClosedError", closed_message);
  RaiseNamed("InvalidArgumentError",
             "the records that ingest() reads must not come from a call into the same database; "
             "make a list of them first");
}

void Raise(const Status& status) {
  RaiseNamed(ExceptionName(status.code()), std::string(status.message()));
}

void RaiseNamed(const char* name, const std::string& message) {
  const nb::object type = nb::module_::import_("braiddb._errors").attr(name);
  // A message may name a path, which is any bytes.
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
      message.data(), static_cast<Py_ssize_t>(message.size()), "backslashreplace"));
  if (text.is_valid()) PyErr_SetObject(type.ptr(), text.ptr());
  throw nb::python_error();
}

void Buffer::Take(nb::handle object) {
  object_ = nb::borrow(object);
  if (PyBytes_Check(object.ptr())) {
    slice_ = {PyBytes_AsString(object.ptr()), static_cast<size_t>(PyBytes_Size(object.ptr()))};
    return;
  }
  Py_buffer view;
  if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  try {
    copy_.assign(static_cast<const char*>(view.buf), static_cast<size_t>(view.len));
  } catch (...) {
    PyBuffer_Release(&view);
    throw;
  }
  PyBuffer_Release(&view);
  slice_ = copy_;
}

std::string PathOf(const nb::bytes& path) {
  std::string text(path.c_str(), path.size());
  if (text.find('\0') != std::string::npos) throw nb::value_error("embedded null byte");
  return text;
}

}  // namespace braid::python
