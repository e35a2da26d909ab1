// Purpose: what all objects of the module share: the database they belong to, letting go of
// Python's lock, and errors.
//
// Thread safety: everything here is called with Python's lock (the GIL) held, but for what runs
// between WithoutGil's constructor and its destructor.
// Invariant 1: a Handle outlives all that reads through it: iterators, snapshots and calls on their
// way hold a reference. DB::Close may come at any time; what follows is Closed and no crash.
// Invariant 2: the last reference to a Handle is dropped with the GIL held.
// Invariant 3: after a fork the child never touches what the parent has opened: the threads that
// work behind it are not there, and its locks may be held by nobody.
// Persistence: none.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "braid/db.h"

namespace braid::python {

namespace nb = nanobind;

/// Lets other threads of Python run for as long as it lives. A thread that finds the interpreter
/// gone when it comes back stops there for good, as Python 3.14 has it: older ones unwind its
/// stack, which the functions on it don't bear.
class WithoutGil {
 public:
  WithoutGil() noexcept : state_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  ~WithoutGil() { TakeBack(); }

  /// Takes the lock for one call into Python.
  template <class Call>
  void WithGil(Call&& call) noexcept {
    TakeBack();
    call();
    state_ = PyEval_SaveThread();
  }

 private:
  void TakeBack() noexcept;

  PyThreadState* state_;
};

/// Processes since the module was loaded: one more in each child of a fork.
uint32_t ForkGeneration() noexcept;
void WatchForks();

/// An open database and whether it still may be used.
class Handle {
 public:
  explicit Handle(std::unique_ptr<DB> db) : db_(std::move(db)), generation_(ForkGeneration()) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();

  /// The database for one call. Throws ClosedError with `closed_message`, or what else is in the
  /// way of a call.
  DB* Use(const char* closed_message) const {
    if (closed() || !own_process() || ingesting_ == this) [[unlikely]]
      Refuse(closed_message);
    return db_.get();
  }
  DB* Use() const { return Use("Database is closed"); }
  bool closed() const noexcept { return closed_.load(std::memory_order_seq_cst); }
  /// False in a child that was forked after the open.
  bool own_process() const noexcept { return generation_ == ForkGeneration(); }
  /// Closes; the second time does nothing. InvalidArgument from inside Ingest, for which it waits.
  Status Close();

  /// While it lives, calls of this thread into `handle` are refused: it is inside Ingest, which
  /// must not be entered from its own source.
  class Ingesting {
   public:
    explicit Ingesting(const Handle* handle) noexcept : before_(ingesting_) { ingesting_ = handle; }
    Ingesting(const Ingesting&) = delete;
    Ingesting& operator=(const Ingesting&) = delete;
    ~Ingesting() { ingesting_ = before_; }

   private:
    const Handle* before_;
  };

 private:
  [[noreturn]] void Refuse(const char* closed_message) const;

  static inline thread_local const Handle* ingesting_ = nullptr;
  std::unique_ptr<DB> db_;
  const uint32_t generation_;
  std::atomic<bool> closed_{false};
};

using HandlePtr = std::shared_ptr<const Handle>;

/// Raises the Python exception of a status that is not ok, with its message.
[[noreturn]] void Raise(const Status& status);
inline void Check(const Status& status) {
  if (!status.ok()) [[unlikely]]
    Raise(status);
}
/// Raises braiddb.<name>.
[[noreturn]] void RaiseNamed(const char* name, const std::string& message);

inline Slice SliceOf(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }
inline std::optional<Slice> SliceOf(const std::optional<nb::bytes>& bytes) {
  if (!bytes) return std::nullopt;
  return SliceOf(*bytes);
}
inline nb::bytes BytesOf(Slice slice) { return nb::bytes(slice.data(), slice.size()); }
std::string PathOf(const nb::bytes& path);

/// The bytes of any object that has a buffer: bytes, bytearray, memoryview, an array. What may
/// change under the hands of the store, which has no GIL, is copied: its checksum would not fit it.
class Buffer {
 public:
  Buffer() = default;
  /// Throws TypeError where `object` has no buffer.
  explicit Buffer(nb::handle object) { Take(object); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void Take(nb::handle object);
  Slice slice() const noexcept { return slice_; }

 private:
  nb::object object_;
  std::string copy_;
  Slice slice_;
};

/// True or false of any object, None among them, as plyvel's flags are.
struct Flag {
  Flag(bool truth = false) noexcept : value(truth) {}  // NOLINT: implicit on purpose
  operator bool() const noexcept { return value; }     // NOLINT: implicit on purpose

  bool value;
};

void BindResources(nb::module_& module);
void BindDatabase(nb::module_& module);
void BindFiles(nb::module_& module);
void BindBatch(nb::module_& module);
void BindSnapshot(nb::module_& module);
void BindIterators(nb::module_& module);

}  // namespace braid::python

NAMESPACE_BEGIN(NB_NAMESPACE)
NAMESPACE_BEGIN(detail)
template <>
struct type_caster<braid::python::Flag> {
  NB_TYPE_CASTER(braid::python::Flag, const_name("bool"))

  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    const int truth = PyObject_IsTrue(source.ptr());
    if (truth < 0) PyErr_Clear();
    value.value = truth > 0;
    return truth >= 0;
  }
};
NAMESPACE_END(detail)
NAMESPACE_END(NB_NAMESPACE)
