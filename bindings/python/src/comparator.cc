// Purpose: comparators that are functions of Python.
// Thread safety: any thread; a comparison takes the GIL. Persistence: none.
#include "objects.h"

namespace braid::python {

namespace {

/// What a thread finds that must not run Python any more, or whose call of it has failed.
class ComparisonFailed final : public std::exception {
 public:
  explicit ComparisonFailed(std::string why) : why_(std::move(why)) {}
  const char* what() const noexcept override { return why_.c_str(); }

 private:
  const std::string why_;
};

class PythonComparator final : public Comparator {
 public:
  PythonComparator(nb::object compare, std::string name)
      : compare_(compare.release().ptr()), name_(std::move(name)) {}
  ~PythonComparator() override {
    // With the last database, from whatever thread; at the end of the program it is left.
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(compare_);
    PyGILState_Release(state);
  }
  PythonComparator(const PythonComparator&) = delete;
  PythonComparator& operator=(const PythonComparator&) = delete;

  std::string_view Name() const override { return name_; }
  int Compare(Slice a, Slice b) const override {
    if (!Py_IsInitialized()) throw ComparisonFailed("Python is gone");
    const PyGILState_STATE state = PyGILState_Ensure();
    long order = 0;
    std::string failure;
    PyObject* const left = BytesObject(a);
    PyObject* const right = left != nullptr ? BytesObject(b) : nullptr;
    PyObject* const result =
        right != nullptr ? PyObject_CallFunctionObjArgs(compare_, left, right, nullptr) : nullptr;
    Py_XDECREF(right);
    Py_XDECREF(left);
    if (result != nullptr) {
      // Of numbers that are too large the sign counts.
      int overflow = 0;
      order = PyLong_AsLongAndOverflow(result, &overflow);
      if (overflow != 0) order = overflow;
      Py_DECREF(result);
    }
    if (PyErr_Occurred() != nullptr) {
      failure = "the comparator " + name_ + " failed: " + WhatIsRaised();
      PyErr_Clear();
    }
    PyGILState_Release(state);
    if (!failure.empty()) throw ComparisonFailed(std::move(failure));
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }

 private:
  static PyObject* BytesObject(Slice bytes) {
    return PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size()));
  }
  static std::string WhatIsRaised() {
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    std::string text = "an exception";
    if (PyObject* const shown = value != nullptr ? PyObject_Repr(value) : nullptr) {
      if (PyObject* const bytes = PyUnicode_AsEncodedString(shown, "utf-8", "replace")) {
        if (const char* chars = PyBytes_AsString(bytes)) text = chars;
        Py_DECREF(bytes);
      }
      Py_DECREF(shown);
    }
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return text;
  }

  PyObject* const compare_;
  const std::string name_;
};

}  // namespace

std::shared_ptr<const Comparator> MakeComparator(const nb::object& comparator,
                                                 const std::optional<nb::bytes>& name) {
  if (comparator.is_none() || !name) return nullptr;
  return std::make_shared<PythonComparator>(comparator, std::string(SliceOf(*name)));
}

}  // namespace braid::python
