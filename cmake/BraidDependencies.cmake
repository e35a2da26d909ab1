# What braid stands on. docs/evidence/dependencies.md says what each is for. Nothing is downloaded here.

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
  message(FATAL_ERROR "pkg-config is missing. Install it: apt-get install pkg-config")
endif()

# Finds pkg-config module `module` as the imported target PkgConfig::BRAID_<name>.
macro(braid_require_module name module apt_package)
  pkg_check_modules(BRAID_${name} QUIET IMPORTED_TARGET ${module})
  if(NOT BRAID_${name}_FOUND)
    message(FATAL_ERROR
      "${module} is missing. Install it: apt-get install ${apt_package} "
      "(or run 'make setup', which installs everything).")
  endif()
endmacro()

braid_require_module(PMEM2 libpmem2 libpmem2-dev)
braid_require_module(XXHASH libxxhash libxxhash-dev)
braid_require_module(URCU liburcu-memb liburcu-dev)

set(BRAID_STORE_LIBRARIES
  PkgConfig::BRAID_PMEM2 PkgConfig::BRAID_XXHASH PkgConfig::BRAID_URCU Threads::Threads)

# Finds a CMake package that only the tools or the tests need.
macro(braid_require_package package apt_package)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR
      "${package} is missing. Install it: apt-get install ${apt_package} "
      "(or run 'make setup', which installs everything).")
  endif()
endmacro()

if((BRAID_BUILD_TOOLS OR BRAID_BUILD_FUZZ) AND NOT BRAID_CRASHSIM)
  braid_require_package(fmt libfmt-dev)
  braid_require_package(nlohmann_json nlohmann-json3-dev)
  braid_require_package(CLI11 libcli11-dev)
endif()
if(BRAID_BUILD_TESTS)
  braid_require_package(GTest libgtest-dev)
endif()
