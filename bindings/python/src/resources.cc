// Purpose: _core.SharedResources: a memory budget and background threads for several databases.
// Thread safety: any thread, with the GIL held.
// Persistence: none.
#include <utility>

#include "objects.h"

namespace braid::python {

using nb::literals::operator""_a;

std::shared_ptr<SharedResources> ResourcesObject::Use() const {
  if (resources_ == nullptr) RaiseNamed("ClosedError", "SharedResources are closed");
  return resources_;
}

namespace {

nb::dict Usage(const ResourcesObject& self) {
  const SharedUsage usage = self.Use()->Usage();
  nb::dict result;
  result["memory_budget_bytes"] = usage.memory_budget_bytes;
  result["memory_bytes"] = usage.memory_bytes;
  result["databases"] = usage.databases;
  result["threads"] = usage.threads;
  return result;
}

}  // namespace

void BindResources(nb::module_& module) {
  nb::class_<ResourcesObject> type(module, "SharedResources", nb::is_final(),
                                   nb::is_weak_referenceable());
  type.def(
      "__init__",
      [](ResourcesObject* self, uint64_t memory_budget, uint32_t background_threads) {
        auto made = SharedResources::Create(
            {.memory_budget_bytes = memory_budget, .background_threads = background_threads});
        Check(made.status());
        new (self) ResourcesObject(std::move(made).value());
      },
      nb::kw_only(), "memory_budget"_a = SharedResourcesOptions{}.memory_budget_bytes,
      "background_threads"_a = 0);
  type.def("usage", &Usage);
  type.def("close", &ResourcesObject::Close);
  type.def_prop_ro("closed", &ResourcesObject::closed);
  type.def("__enter__", [](nb::object self) { return self; });
  type.def("__exit__", [](ResourcesObject& self, const nb::args&) { self.Close(); });
}

}  // namespace braid::python
