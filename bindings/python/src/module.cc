// Purpose: the module braiddb._core. What is public is said in src/braiddb/__init__.py.
// Thread safety: loaded once. Persistence: none.
#include "braid/version.h"
#include "objects.h"

NB_MODULE(_core, module) {
  namespace python = braid::python;
  // What is alive when the interpreter ends is let go by the system, with the process.
  nanobind::set_leak_warnings(false);
  python::WatchForks();
  module.attr("version") = BRAID_VERSION_STRING;
  python::BindBatch(module);
  python::BindSnapshot(module);
  python::BindIterators(module);
  python::BindResources(module);
  python::BindDatabase(module);
  python::BindFiles(module);
}
