// Purpose: options by name, and the calls for pools that are not open.
// Thread safety: any thread. Persistence: none of its own.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "objects.h"

namespace braid::python {

Options MakeOptions(const Settings& settings, bool create_if_missing, bool error_if_exists,
                    const std::string& design) {
  Options options;
  options.create_if_missing = create_if_missing;
  options.error_if_exists = error_if_exists;
  options.design = design;
  for (const auto& [name, value] : settings) Check(options.Set(name, value));
  return options;
}

namespace {

using nb::literals::operator""_a;

void Destroy(const nb::bytes& path) {
  const std::string name = PathOf(path);
  Status s;
  {
    const WithoutGil others;
    s = DB::Destroy(name);
  }
  Check(s);
}

/// Returns the path at which the damaged pool is kept.
nb::bytes Repair(const nb::bytes& path, const Settings& settings, const std::string& design,
                 const nb::object& comparator, const std::optional<nb::bytes>& comparator_name,
                 const std::optional<nb::bytes>& new_tier) {
  const std::string name = PathOf(path);
  const Options options = MakeOptions(settings, true, false, design);
  RepairReport report;
  RepairOptions how;
  if (new_tier) how.new_tier = PathOf(*new_tier);
  how.comparator = MakeComparator(comparator, comparator_name);
  std::string kept;
  Status s;
  {
    const WithoutGil others;
    s = DB::RepairInPlace(options, name, &report, &kept, how);
  }
  Check(s);
  return BytesOf(kept);
}

void Restore(const nb::bytes& checkpoint, const nb::bytes& target, const Settings& settings,
             const std::string& design) {
  const std::string from = PathOf(checkpoint);
  const std::string to = PathOf(target);
  const Options options = MakeOptions(settings, true, false, design);
  Status s;
  {
    const WithoutGil others;
    s = DB::Restore(options, from, to);
  }
  Check(s);
}

/// PoolInfo as JSON.
std::string Inspect(const nb::bytes& path) {
  const std::string name = PathOf(path);
  Result<PoolInfo> info = [&] {
    const WithoutGil others;
    return DB::Inspect(name);
  }();
  Check(info.status());
  return ToJson(*info);
}

}  // namespace

void BindFiles(nb::module_& module) {
  module.def("destroy", &Destroy);
  module.def("repair", &Repair, "path"_a, "settings"_a, "design"_a,
             "comparator"_a.none() = nb::none(), "comparator_name"_a.none() = nb::none(),
             "new_tier"_a.none() = nb::none());
  module.def("restore", &Restore);
  module.def("inspect", &Inspect);
  module.def(
      "time_key",
      [](const nb::bytes& prefix, uint64_t time, const nb::bytes& rest) {
        return BytesOf(TimeKey(SliceOf(prefix), time, SliceOf(rest)));
      },
      nb::arg("prefix"), nb::arg("time"), nb::arg("rest") = nb::bytes(""));
  module.def(
      "time_of_key",
      [](const nb::bytes& prefix, const nb::bytes& key) {
        return TimeOfKey(SliceOf(prefix), SliceOf(key));
      },
      nb::arg("prefix"), nb::arg("key"));
}

}  // namespace braid::python
