// Purpose: WriteBatch. Thread safety: any thread, under the GIL. Persistence: none.
#include <nanobind/stl/optional.h>

#include "objects.h"

namespace braid::python {

namespace {

using nb::literals::operator""_a;

/// Here and not in write(), which can't name the update any more.
void CheckSizes(size_t key_bytes, size_t value_bytes) {
  if (key_bytes > kMaxKeyBytes) {
    RaiseNamed("InvalidArgumentError", "the key has " + std::to_string(key_bytes) +
                                           " bytes; at most " + std::to_string(kMaxKeyBytes) +
                                           " are possible");
  }
  if (value_bytes > kMaxValueBytes) {
    RaiseNamed("InvalidArgumentError", "the value has " + std::to_string(value_bytes) +
                                           " bytes; at most " + std::to_string(kMaxValueBytes) +
                                           " are possible");
  }
}

}  // namespace

WriteBatch& BatchObject::Changing() {
  CheckOpen();
  // Counts fall under the GIL only, so that 1 means: nobody reads it and nobody will.
  if (updates_.use_count() > 1) updates_ = std::make_shared<WriteBatch>(*updates_);
  return *updates_;
}

void BatchObject::Put(const nb::bytes& key, nb::handle value) {
  CheckOpen();
  // First: the object may be any, and call this batch while it is asked for its bytes.
  const Buffer bytes(value);
  CheckSizes(prefix_.size() + key.size(), bytes.slice().size());
  WriteBatch& updates = Changing();
  if (prefix_.empty()) {
    updates.Put(SliceOf(key), bytes.slice());
  } else {
    updates.Put(Key(key), bytes.slice());
  }
}

void BatchObject::Delete(const nb::bytes& key) {
  CheckOpen();
  CheckSizes(prefix_.size() + key.size(), 0);
  Changing().Delete(Key(key));
}

void BatchObject::DeleteRange(const std::optional<nb::bytes>& start,
                              const std::optional<nb::bytes>& stop) {
  CheckOpen();
  CheckSizes(prefix_.size() + (start ? start->size() : 0), 0);
  CheckSizes(prefix_.size() + (stop ? stop->size() : 0), 0);
  std::optional<std::string> from;
  std::optional<std::string> to;
  if (start || !prefix_.empty()) from = prefix_ + (start ? std::string(SliceOf(*start)) : "");
  if (stop) {
    to = prefix_ + std::string(SliceOf(*stop));
  } else {
    to = Behind(prefix_);
  }
  Changing().DeleteRange(from, to);
}

void BatchObject::Clear() {
  CheckOpen();
  updates_ = std::make_shared<WriteBatch>();
}

void BatchObject::Write() {
  DB* const db = handle_->Use();
  const std::shared_ptr<WriteBatch> updates = updates_;
  WriteOptions options;
  options.sync = sync_;
  Status s;
  {
    const WithoutGil others;
    s = db->Write(options, *updates);
  }
  Check(s);
}

void BatchObject::Append(const BatchObject& source) { Changing().Append(*source.updates_); }

size_t BatchObject::ApproximateSize() const {
  CheckOpen();
  return updates_->ApproximateBytes();
}

size_t BatchObject::Count() const {
  CheckOpen();
  return updates_->Count();
}

void BatchObject::Leave(bool failed) {
  CheckOpen();
  if (!transaction_ || !failed) Write();
  Clear();
}

void BindBatch(nb::module_& module) {
  nb::class_<BatchObject>(module, "WriteBatch", nb::is_final(), nb::is_weak_referenceable())
      .def("put", &BatchObject::Put, "key"_a, "value"_a)
      .def("delete", &BatchObject::Delete, "key"_a)
      .def("delete_range", &BatchObject::DeleteRange, "start"_a.none() = nb::none(),
           "stop"_a.none() = nb::none())
      .def("clear", &BatchObject::Clear)
      .def("write", &BatchObject::Write)
      .def("append", &BatchObject::Append, "source"_a)
      .def("approximate_size", &BatchObject::ApproximateSize)
      .def("__len__", &BatchObject::Count)
      // A batch without updates is no false value: it may get some.
      .def("__bool__", [](const BatchObject&) { return true; })
      .def("__enter__",
           [](nb::handle self) {
             nb::cast<const BatchObject&>(self).CheckOpen();
             return nb::borrow(self);
           })
      .def(
          "__exit__",
          [](BatchObject& self, nb::handle type, nb::handle, nb::handle) {
            self.Leave(!type.is_none());
          },
          "type"_a.none(), "value"_a.none(), "traceback"_a.none());
  module.def(
      "write_batch", [](nb::handle database, const nb::bytes& prefix, bool transaction, bool sync) {
        return new BatchObject(HandleOf(database), std::string(SliceOf(prefix)), transaction, sync);
      });
}

}  // namespace braid::python
