// Purpose: Snapshot, and the reads that it shares with a database.
// Thread safety: any thread, under the GIL; reads are done without it. Persistence: none.
#include <nanobind/stl/optional.h>

#include "objects.h"

namespace braid::python {

using nb::literals::operator""_a;

nb::object GetValue(DB* db, const ReadOptions& options, Slice key, nb::handle default_value) {
  std::string value;
  Status s;
  {
    const WithoutGil others;
    s = db->Get(options, key, &value);
  }
  if (s.IsNotFound()) return nb::borrow(default_value);
  Check(s);
  return BytesOf(value);
}

nb::list GetValues(DB* db, const ReadOptions& options, const std::string& prefix, nb::handle keys,
                   nb::handle default_value) {
  // A tuple, which nobody changes while the keys are looked up.
  const nb::object held = nb::steal(PySequence_Tuple(keys.ptr()));
  if (!held.is_valid()) throw nb::python_error();
  const auto count = static_cast<size_t>(PyTuple_Size(held.ptr()));
  std::vector<std::string> whole(prefix.empty() ? 0 : count);
  std::vector<Slice> slices(count);
  for (size_t i = 0; i < count; ++i) {
    const nb::handle key = PyTuple_GetItem(held.ptr(), static_cast<Py_ssize_t>(i));
    if (!nb::isinstance<nb::bytes>(key)) {
      PyErr_Format(PyExc_TypeError, "key %zu is not bytes", i);
      throw nb::python_error();
    }
    slices[i] = SliceOf(nb::borrow<nb::bytes>(key));
    if (!prefix.empty()) slices[i] = whole[i] = prefix + std::string(slices[i]);
  }
  std::vector<std::string> values;
  std::vector<Status> statuses;
  {
    const WithoutGil others;
    statuses = db->MultiGet(options, slices, &values);
  }
  nb::list result;
  for (size_t i = 0; i < count; ++i) {
    if (statuses[i].IsNotFound()) {
      result.append(default_value);
      continue;
    }
    Check(statuses[i]);
    result.append(BytesOf(values[i]));
  }
  return result;
}

namespace {
constexpr char kClosed[] = "Database or snapshot is closed";
}

SnapshotObject::SnapshotObject(HandlePtr handle, std::string prefix)
    : handle_(std::move(handle)), prefix_(std::move(prefix)) {
  DB* const db = handle_->Use();
  Status s;
  {
    const WithoutGil others;
    s = db->GetSnapshot(&snapshot_);
  }
  if (s.ok()) return;
  (void)handle_->Use();  // closed meanwhile?
  Check(s);
}

std::shared_ptr<const Snapshot> SnapshotObject::Use() const {
  (void)handle_->Use(kClosed);
  if (snapshot_ == nullptr) RaiseNamed("ClosedError", kClosed);
  return snapshot_;
}

void SnapshotObject::Close() {
  if (snapshot_ == nullptr) return;
  const std::shared_ptr<const Snapshot> last = std::move(snapshot_);
  snapshot_ = nullptr;
  if (!handle_->own_process()) {
    (void)new std::shared_ptr<const Snapshot>(last);  // it is the parent's: never let go
  }
}

namespace {

ReadOptions At(const std::shared_ptr<const Snapshot>& snapshot) {
  ReadOptions options;
  options.snapshot = snapshot.get();
  return options;
}

nb::object Get(const SnapshotObject& self, const nb::bytes& key, nb::handle default_value,
               nb::handle, nb::handle) {
  const std::shared_ptr<const Snapshot> snapshot = self.Use();
  DB* const db = self.handle()->Use();
  if (self.prefix().empty()) return GetValue(db, At(snapshot), SliceOf(key), default_value);
  const std::string whole = self.prefix() + std::string(SliceOf(key));
  return GetValue(db, At(snapshot), whole, default_value);
}

IteratorObject* MakeIterator(const SnapshotObject& self, Flag reverse,
                             const std::optional<nb::bytes>& start,
                             const std::optional<nb::bytes>& stop, Flag include_start,
                             Flag include_stop, const std::optional<nb::bytes>& prefix,
                             Flag include_key, Flag include_value, nb::handle, nb::handle) {
  const std::shared_ptr<const Snapshot> snapshot = self.Use();
  Range range = MakeRange(self.prefix(), reverse, start, stop, include_start, include_stop, prefix,
                          include_key, include_value);
  range.bounds.snapshot = snapshot.get();
  return new IteratorObject(self.handle(), std::move(range));
}

}  // namespace

void BindSnapshot(nb::module_& module) {
  nb::class_<SnapshotObject>(module, "Snapshot", nb::is_final(), nb::is_weak_referenceable())
      .def("get", &Get, "key"_a, "default"_a = nb::none(), nb::kw_only(),
           "verify_checksums"_a.none() = false, "fill_cache"_a.none() = true)
      .def(
          "multi_get",
          [](const SnapshotObject& self, nb::handle keys, nb::handle default_value) {
            const std::shared_ptr<const Snapshot> snapshot = self.Use();
            return GetValues(self.handle()->Use(), At(snapshot), self.prefix(), keys,
                             default_value);
          },
          "keys"_a, "default"_a = nb::none())
      .def("iterator", &MakeIterator, nb::kw_only(), "reverse"_a.none() = false,
           "start"_a = nb::none(), "stop"_a = nb::none(), "include_start"_a.none() = true,
           "include_stop"_a.none() = false, "prefix"_a = nb::none(), "include_key"_a.none() = true,
           "include_value"_a.none() = true, "verify_checksums"_a.none() = false,
           "fill_cache"_a.none() = true)
      .def("__iter__",
           [](const SnapshotObject& self) {
             return MakeIterator(self, false, {}, {}, true, false, {}, true, true, {}, {});
           })
      .def(
          "raw_iterator",
          [](const SnapshotObject& self, nb::handle, nb::handle) {
            const std::shared_ptr<const Snapshot> snapshot = self.Use();
            return new Cursor(self.handle(), At(snapshot));
          },
          nb::kw_only(), "verify_checksums"_a.none() = false, "fill_cache"_a.none() = true)
      .def("close", &SnapshotObject::Close)
      .def("release", &SnapshotObject::Close)
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__exit__",
          [](SnapshotObject& self, nb::handle, nb::handle, nb::handle) {
            self.Close();
            return false;
          },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none());
  module.def("snapshot", [](nb::handle database, const nb::bytes& prefix) {
    return new SnapshotObject(HandleOf(database), std::string(SliceOf(prefix)));
  });
}

}  // namespace braid::python
