// Purpose: _core.Database, the part of braiddb.DB that talks to the store.
// Thread safety: any thread; no call holds the GIL while it is in the store.
// Persistence: none of its own.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "objects.h"

namespace braid::python {

namespace {

using nb::literals::operator""_a;

/// Python's handle: the last to go closes, unless something still reads.
class DatabaseObject {
 public:
  DatabaseObject(const nb::bytes& path, nb::object name, const Options& options,
                 std::shared_ptr<const Comparator> comparator)
      : handle_(Open(PathOf(path), options, std::move(comparator))), name_(std::move(name)) {}

  DB* Use() const { return handle_->Use(); }
  HandlePtr handle() const { return handle_; }
  bool closed() const noexcept { return handle_->closed(); }
  const nb::object& name() const noexcept { return name_; }
  void Close() { Check(handle_->Close()); }

 private:
  static std::shared_ptr<Handle> Open(const std::string& path, const Options& options,
                                      std::shared_ptr<const Comparator> comparator) {
    std::optional<Result<std::unique_ptr<DB>>> opened;
    {
      const WithoutGil others;
      opened.emplace(comparator != nullptr
                         ? DB::OpenWithComparator(options, path, std::move(comparator))
                         : DB::Open(options, path));
    }
    Check(opened->status());
    return std::make_shared<Handle>(std::move(*opened).value());
  }

  std::shared_ptr<Handle> handle_;
  nb::object name_;
};

using Self = const DatabaseObject&;

WriteOptions Sync(Flag sync) {
  WriteOptions options;
  options.sync = sync;
  return options;
}

void Put(Self self, const nb::bytes& key, nb::handle value, Flag sync) {
  DB* const db = self.Use();
  const Buffer bytes(value);
  Status s;
  {
    const WithoutGil others;
    s = db->Put(Sync(sync), SliceOf(key), bytes.slice());
  }
  Check(s);
}

void Delete(Self self, const nb::bytes& key, Flag sync) {
  DB* const db = self.Use();
  Status s;
  {
    const WithoutGil others;
    s = db->Delete(Sync(sync), SliceOf(key));
  }
  Check(s);
}

uint64_t DeleteRange(Self self, const nb::bytes& start, const std::optional<nb::bytes>& stop,
                     Flag sync) {
  DB* const db = self.Use();
  uint64_t deleted = 0;
  Status s;
  {
    const WithoutGil others;
    s = db->DeleteRange(Sync(sync), SliceOf(start), SliceOf(stop), &deleted);
  }
  Check(s);
  return deleted;
}

bool CompareAndSwap(Self self, const nb::bytes& key, const nb::object& expected, nb::handle value,
                    Flag sync) {
  DB* const db = self.Use();
  Buffer before;
  if (!expected.is_none()) before.Take(expected);
  const Buffer desired(value);
  std::optional<Result<bool>> swapped;
  {
    const WithoutGil others;
    const std::optional<Slice> there =
        expected.is_none() ? std::nullopt : std::optional<Slice>(before.slice());
    swapped.emplace(db->CompareAndSwap(Sync(sync), SliceOf(key), there, desired.slice()));
  }
  Check(swapped->status());
  return **swapped;
}

nb::object GetProperty(Self self, const nb::bytes& name) {
  DB* const db = self.Use();
  std::string value;
  bool known = false;
  {
    const WithoutGil others;
    known = db->GetProperty(SliceOf(name), &value);
  }
  return known ? nb::object(BytesOf(value)) : nb::none();
}

std::vector<uint64_t> ApproximateSizes(Self self,
                                       const std::vector<std::pair<nb::bytes, nb::bytes>>& ranges) {
  DB* const db = self.Use();
  std::vector<uint64_t> sizes(ranges.size());
  Status s;
  {
    const WithoutGil others;
    std::vector<KeyRange> asked;
    asked.reserve(ranges.size());
    for (const auto& [start, stop] : ranges) asked.push_back({SliceOf(start), SliceOf(stop)});
    s = db->ApproximateSizes(asked, sizes.data());
  }
  Check(s);
  return sizes;
}

/// `progress` (may be None) gets the share done; False cancels, and so does whatever it raises. So
/// does Ctrl-C.
void CompactRange(Self self, const std::optional<nb::bytes>& start,
                  const std::optional<nb::bytes>& stop, const nb::object& progress) {
  DB* const db = self.Use();
  const HandlePtr handle = self.handle();
  std::optional<nb::python_error> raised;
  CompactOptions options;
  options.progress = [&](double share) {
    const nb::gil_scoped_acquire gil;
    const Handle::Ingesting inside(handle.get());
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (progress.is_none()) return true;
      const nb::object answer = progress(share);
      return !answer.is(nb::handle(Py_False));
    } catch (nb::python_error& error) {
      raised.emplace(std::move(error));
      return false;
    }
  };
  Status s;
  {
    const WithoutGil others;
    s = db->CompactRange(options, SliceOf(start), SliceOf(stop));
  }
  if (raised) throw std::move(*raised);
  Check(s);
}

void SetBackgroundLimit(Self self, uint64_t bytes_per_second) {
  DB* const db = self.Use();
  Check(db->SetBackgroundLimit(bytes_per_second));
}

void PublishStatistics(Self self, bool on) {
  DB* const db = self.Use();
  Status s;
  {
    const WithoutGil others;
    s = db->PublishStatistics(on);
  }
  Check(s);
}

uint64_t Expire(Self self, const nb::bytes& prefix, uint64_t time, Flag sync) {
  DB* const db = self.Use();
  uint64_t deleted = 0;
  Status s;
  {
    const WithoutGil others;
    s = ExpireBefore(db, Sync(sync), SliceOf(prefix), time, &deleted);
  }
  Check(s);
  return deleted;
}

/// A call that takes no arguments and may take long.
template <Status (DB::*Call)()>
void Run(Self self) {
  DB* const db = self.Use();
  Status s;
  {
    const WithoutGil others;
    s = (db->*Call)();
  }
  Check(s);
}

nb::dict GetStatistics(Self self) {
  DB* const db = self.Use();
  Statistics now;
  {
    const WithoutGil others;
    now = db->GetStatistics();
  }
  nb::dict fields;
  for (const StatisticsField& field : ListFields(now)) fields[field.name] = field.value;
  fields["design"] = now.design;
  fields["media_class"] = MediaClassName(now.media_class);
  fields["media_class_forced"] = now.media_class_forced;
  return fields;
}

nb::dict Verify(Self self) {
  DB* const db = self.Use();
  VerifyReport report;
  Status s;
  {
    const WithoutGil others;
    s = db->Verify(&report);
  }
  Check(s);
  nb::dict fields;
  fields["entries"] = report.entries;
  fields["live_entries"] = report.live_entries;
  fields["links"] = report.links;
  fields["chunks"] = report.chunks;
  fields["bytes"] = report.bytes;
  return fields;
}

void Checkpoint(Self self, const nb::bytes& target) {
  DB* const db = self.Use();
  const std::string path = PathOf(target);
  Status s;
  {
    const WithoutGil others;
    s = db->CreateCheckpoint(path);
  }
  Check(s);
}

/// Records of any iterable of pairs. Takes the GIL for each.
class IterableSource final : public RecordSource {
 public:
  IterableSource(nb::handle records, WithoutGil** others)
      : iterator_(nb::iter(records)), others_(others) {}

  bool Next(Slice* key, Slice* value) override {
    bool there = false;
    (*others_)->WithGil([&] {
      try {
        there = Take();
        *key = key_.slice();
        *value = value_.slice();
      } catch (nb::python_error& error) {
        error_.emplace(std::move(error));
      } catch (const std::exception& error) {
        failure_ = error.what();
      }
    });
    return there;
  }
  Status status() const override {
    if (!error_ && failure_.empty()) return Status::OK();
    return Status::Aborted("the records ended with an exception: " + failure_);
  }
  /// Raises what the iterable has raised. With the GIL.
  void Rethrow() {
    if (error_) throw std::move(*error_);
    if (!failure_.empty()) throw std::runtime_error(failure_);
  }

 private:
  bool Take() {
    const nb::object record = nb::steal(PyIter_Next(iterator_.ptr()));
    if (!record.is_valid()) {
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      return false;
    }
    const nb::object pair = nb::steal(PySequence_Tuple(record.ptr()));
    if (!pair.is_valid()) throw nb::python_error();
    if (PyTuple_Size(pair.ptr()) != 2) {
      PyErr_SetString(PyExc_ValueError, "a record is a pair of key and value");
      throw nb::python_error();
    }
    key_.Take(PyTuple_GetItem(pair.ptr(), 0));
    value_.Take(PyTuple_GetItem(pair.ptr(), 1));
    return true;
  }

  nb::object iterator_;
  WithoutGil** others_;
  Buffer key_;
  Buffer value_;
  std::optional<nb::python_error> error_;
  std::string failure_;
};

uint64_t Ingest(Self self, nb::handle records, Flag sorted) {
  DB* const db = self.Use();
  WithoutGil* current = nullptr;
  IterableSource source(records, &current);
  IngestOptions options;
  options.sorted = sorted;
  IngestReport report;
  Status s;
  {
    WithoutGil others;
    current = &others;
    const Handle::Ingesting inside(self.handle().get());
    s = db->Ingest(&source, options, &report);
  }
  source.Rethrow();
  Check(s);
  return report.records;
}

IteratorObject* MakeIterator(Self self, const std::string& db_prefix, Flag reverse,
                             const std::optional<nb::bytes>& start,
                             const std::optional<nb::bytes>& stop, Flag include_start,
                             Flag include_stop, const std::optional<nb::bytes>& prefix,
                             Flag include_key, Flag include_value) {
  (void)self.Use();
  return new IteratorObject(
      self.handle(), MakeRange(db_prefix, reverse, start, stop, include_start, include_stop, prefix,
                               include_key, include_value));
}

void BindReads(nb::class_<DatabaseObject>& type) {
  type.def(
      "get",
      [](Self self, const nb::bytes& key, nb::handle default_value, nb::handle, nb::handle) {
        return GetValue(self.Use(), {}, SliceOf(key), default_value);
      },
      "key"_a, "default"_a = nb::none(), nb::kw_only(), "verify_checksums"_a.none() = false,
      "fill_cache"_a.none() = true);
  type.def(
      "multi_get",
      [](Self self, nb::handle keys, nb::handle default_value) {
        return GetValues(self.Use(), {}, {}, keys, default_value);
      },
      "keys"_a, "default"_a = nb::none());
  type.def(
      "_multi_get",
      [](Self self, const nb::bytes& prefix, nb::handle keys, nb::handle default_value) {
        return GetValues(self.Use(), {}, std::string(SliceOf(prefix)), keys, default_value);
      },
      "prefix"_a, "keys"_a, "default"_a.none());
  type.def(
      "iterator",
      [](Self self, Flag reverse, const std::optional<nb::bytes>& start,
         const std::optional<nb::bytes>& stop, Flag include_start, Flag include_stop,
         const std::optional<nb::bytes>& prefix, Flag include_key, Flag include_value, nb::handle,
         nb::handle) {
        return MakeIterator(self, {}, reverse, start, stop, include_start, include_stop, prefix,
                            include_key, include_value);
      },
      nb::kw_only(), "reverse"_a.none() = false, "start"_a = nb::none(), "stop"_a = nb::none(),
      "include_start"_a.none() = true, "include_stop"_a.none() = false, "prefix"_a = nb::none(),
      "include_key"_a.none() = true, "include_value"_a.none() = true,
      "verify_checksums"_a.none() = false, "fill_cache"_a.none() = true);
  type.def(
      "_iterator",
      [](Self self, const nb::bytes& db_prefix, Flag reverse, const std::optional<nb::bytes>& start,
         const std::optional<nb::bytes>& stop, Flag include_start, Flag include_stop,
         const std::optional<nb::bytes>& prefix, Flag include_key, Flag include_value) {
        return MakeIterator(self, std::string(SliceOf(db_prefix)), reverse, start, stop,
                            include_start, include_stop, prefix, include_key, include_value);
      });
}

}  // namespace

// What other files make of a database without knowing the class above.
HandlePtr HandleOf(nb::handle database) {
  const auto* const object = nb::cast<const DatabaseObject*>(database);
  (void)object->Use();
  return object->handle();
}

void BindDatabase(nb::module_& module) {
  nb::class_<DatabaseObject> type(module, "Database", nb::is_weak_referenceable());
  type.def(
      "__init__",
      [](DatabaseObject* self, const nb::bytes& path, nb::object name, const Settings& settings,
         bool create_if_missing, bool error_if_exists, const std::string& design,
         const nb::object& comparator, const std::optional<nb::bytes>& comparator_name,
         const ResourcesObject* resources) {
        Options options = MakeOptions(settings, create_if_missing, error_if_exists, design);
        if (resources != nullptr) options.resources = resources->Use();
        new (self) DatabaseObject(path, std::move(name), options,
                                  MakeComparator(comparator, comparator_name));
      },
      "path"_a, "name"_a, "settings"_a, "create_if_missing"_a, "error_if_exists"_a, "design"_a,
      "comparator"_a.none() = nb::none(), "comparator_name"_a.none() = nb::none(),
      "resources"_a.none() = nb::none());
  type.def("close", &DatabaseObject::Close);
  type.def_prop_ro("closed", &DatabaseObject::closed);
  type.def_prop_ro("name", [](Self self) { return self.name(); });
  type.def("put", &Put, "key"_a, "value"_a, nb::kw_only(), "sync"_a.none() = false);
  type.def("delete", &Delete, "key"_a, nb::kw_only(), "sync"_a.none() = false);
  type.def("delete_range", &DeleteRange, "start"_a, "stop"_a.none(), nb::kw_only(),
           "sync"_a.none() = false);
  type.def("compare_and_swap", &CompareAndSwap, "key"_a, "expected"_a.none(), "value"_a,
           nb::kw_only(), "sync"_a.none() = false);
  type.def(
      "put_if_absent",
      [](Self self, const nb::bytes& key, nb::handle value, Flag sync) {
        return CompareAndSwap(self, key, nb::none(), value, sync);
      },
      "key"_a, "value"_a, nb::kw_only(), "sync"_a.none() = false);
  type.def("_property", &GetProperty);
  type.def("_approximate_sizes", &ApproximateSizes);
  type.def("flush", &Run<&DB::Flush>);
  type.def("_compact", &CompactRange, "start"_a.none(), "stop"_a.none(), "progress"_a.none());
  type.def("publish_statistics", &PublishStatistics, "on"_a = true);
  type.def("set_background_limit", &SetBackgroundLimit, "bytes_per_second"_a);
  type.def("expire_before", &Expire, "prefix"_a, "time"_a, nb::kw_only(), "sync"_a.none() = false);
  type.def("statistics", &GetStatistics);
  type.def("verify", &Verify);
  type.def("_checkpoint", &Checkpoint);
  type.def("ingest", &Ingest, "records"_a, nb::kw_only(), "sorted"_a.none() = false);
  BindReads(type);
}

}  // namespace braid::python
