# The test programs. Unit tests stand beside their source; every folder below tests/ is a program
# named braid_<folder>_tests, and its tests carry the folder's name as their ctest label.

include(GoogleTest)

# What test code sees: the public headers, the private ones, and tests/support.
add_library(braid_test_base INTERFACE)
configure_file("${PROJECT_SOURCE_DIR}/tests/support/build_paths.h.in"
  "${PROJECT_BINARY_DIR}/generated/support/build_paths.h" @ONLY)
target_include_directories(braid_test_base INTERFACE
  "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests"
  "${PROJECT_BINARY_DIR}/generated")
target_link_libraries(braid_test_base INTERFACE
  braid::static ${BRAID_STORE_LIBRARIES} GTest::gtest)

braid_glob_sources(BRAID_TEST_SUPPORT_SOURCES "${PROJECT_SOURCE_DIR}/tests/support/*.cc")
if(BRAID_TEST_SUPPORT_SOURCES)
  add_library(braid_test_support STATIC ${BRAID_TEST_SUPPORT_SOURCES})
  braid_own_code(braid_test_support)
  target_link_libraries(braid_test_support PUBLIC braid_test_base)
else()
  add_library(braid_test_support INTERFACE)
  target_link_libraries(braid_test_support INTERFACE braid_test_base)
endif()

# One variable a build: how its sanitizer reports, and what is known not to be our fault.
set(BRAID_TEST_ENVIRONMENT "UBSAN_OPTIONS=print_stacktrace=1")
if(BRAID_SANITIZE MATCHES "thread")
  set(BRAID_TEST_ENVIRONMENT
    "TSAN_OPTIONS=second_deadlock_stack=1 suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp")
endif()

# Builds program `target` from the sources given and registers its tests under `label`.
function(braid_add_gtest target label)
  add_executable(${target} ${ARGN})
  braid_own_code(${target})
  braid_unity(${target} 8)
  # What is measured and shipped is the store, which is linked in; tests compile faster with less.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  # Takes gtest_main only where the sources bring no main() of their own.
  target_link_libraries(${target} PRIVATE braid_test_support GTest::gtest_main)
  # The names of values stand in the test names; gtest would add their bytes and addresses.
  gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    TEST_PREFIX "${label}/" PROPERTIES LABELS "${label}" TIMEOUT 900
    ENVIRONMENT "${BRAID_TEST_ENVIRONMENT}")
endfunction()

# ---- Unit tests -------------------------------------------------------------------------------

file(GLOB BRAID_UNIT_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*/*_test.cc"
  "${PROJECT_SOURCE_DIR}/tests/designs/*_test.cc")
braid_add_gtest(braid_unit_tests unit ${BRAID_UNIT_SOURCES})

# Those of the command and of what measures, in a program of their own: the store's are compiled for
# sanitizers and the crash simulator, too.
set(BRAID_TOOL_TEST_SOURCES "")
set(BRAID_TOOL_TEST_LIBRARIES "")
foreach(library_and_folder "braid_bench;bench/harness" "braid_wbtree;bench/wbtree"
    "braid_engines;bench/engines" "braid_figure_frame;bench/figures/frame" "braid_verbs;tools")
  list(GET library_and_folder 0 library)
  list(GET library_and_folder 1 folder)
  if(TARGET ${library})
    file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*_test.cc")
    list(APPEND BRAID_TOOL_TEST_SOURCES ${found})
    list(APPEND BRAID_TOOL_TEST_LIBRARIES ${library})
  endif()
endforeach()
if(BRAID_TOOL_TEST_SOURCES)
  braid_add_gtest(braid_tools_tests tools ${BRAID_TOOL_TEST_SOURCES})
  target_link_libraries(braid_tools_tests PRIVATE ${BRAID_TOOL_TEST_LIBRARIES})
endif()

# ---- One program a folder ---------------------------------------------------------------------

if(BRAID_CRASHSIM)
  # The others find what has nothing to do with crashes (scripts/mutants.sh).
  set(BRAID_TEST_FOLDERS crash conformance model concurrency limits damage faults)
else()
  set(BRAID_TEST_FOLDERS conformance model budget concurrency limits damage capi command kill faults
      complaints)
endif()
foreach(folder ${BRAID_TEST_FOLDERS})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*.cc")
  if(BRAID_CRASHSIM AND folder STREQUAL "limits")
    # Full pools: two seeded faults are found by nothing else (tests/crash/mutant_table.cc).
    list(APPEND sources "${PROJECT_SOURCE_DIR}/tests/faults/space_test.cc")
  endif()
  if(BRAID_CRASHSIM AND folder STREQUAL "faults")
    # What seeded faults need: without the command, and without what is about no fault of theirs.
    set(sources tests/faults/injector.cc tests/faults/sync_error_test.cc
      tests/faults/failed_batch_test.cc)
  endif()
  if(sources)
    braid_add_gtest(braid_${folder}_tests ${folder} ${sources})
    if(folder STREQUAL "faults")
      # It defines operator new, which others must not see inside of.
      set_source_files_properties(tests/faults/injector.cc PROPERTIES
        SKIP_UNITY_BUILD_INCLUSION ON)
      # calloc is called by the store alone; the rest is interposed by name (tests/faults/injector.cc).
      target_link_options(braid_faults_tests PRIVATE -Wl,--wrap=calloc)
    endif()
    if(folder STREQUAL "faults" AND NOT BRAID_CRASHSIM)
      add_library(braid_fault_shim MODULE tests/faults/injector.cc tests/faults/shim/preload.cc)
      braid_own_code(braid_fault_shim)
      target_compile_definitions(braid_fault_shim PRIVATE BRAID_FAULT_SHIM)
      target_include_directories(braid_fault_shim PRIVATE "${PROJECT_SOURCE_DIR}/tests")
      set_target_properties(braid_fault_shim PROPERTIES
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin" PREFIX "")
      add_dependencies(braid_faults_tests braid_fault_shim braid_command)
    endif()
    if(folder STREQUAL "model" OR folder STREQUAL "kill")
      braid_use_rocksdb_tier(braid_${folder}_tests)
    endif()
    if(folder STREQUAL "crash")
      braid_read_hooks(braid_crash_tests "${PROJECT_SOURCE_DIR}/tests/crash/read_hooks.cc")
      target_link_libraries(braid_crash_tests PRIVATE ${CMAKE_DL_LIBS})
    endif()
    if(folder STREQUAL "command" AND TARGET braid_command)
      add_dependencies(braid_command_tests braid_command)
      # What the command was built with must work, and not be skipped.
      if(BRAID_EDIT_FOUND)
        target_compile_definitions(braid_command_tests PRIVATE BRAID_HAVE_LIBEDIT=1)
      endif()
      if(BRAID_ROCKSDB_INCLUDE AND BRAID_ROCKSDB_LIBRARY)
        target_compile_definitions(braid_command_tests PRIVATE BRAID_HAVE_ROCKSDB=1)
      endif()
    endif()
  endif()
endforeach()

if(BRAID_CRASHSIM)
  # tests/crash/scheduler.h stands between the program and these calls.
  foreach(call pthread_mutex_lock pthread_mutex_unlock pthread_cond_clockwait sched_yield nanosleep
      urcu_memb_synchronize_rcu _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
      _ZNSt18condition_variable10notify_oneEv _ZNSt18condition_variable10notify_allEv
      _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
      _ZNSt6thread4joinEv)
    target_link_options(braid_crash_tests PRIVATE "LINKER:--wrap=${call}")
  endforeach()
  find_package(Python3 3.9 COMPONENTS Interpreter)
  if(Python3_FOUND AND BRAID_READ_HOOK_FLAGS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_test(NAME crash/wide_loads COMMAND Python3::Interpreter -B
      "${PROJECT_SOURCE_DIR}/tests/crash/wide_loads_test.py"
      "${PROJECT_BINARY_DIR}/CMakeFiles/braid_objects.dir"
      "${PROJECT_BINARY_DIR}/CMakeFiles/braid_crash_tests.dir")
    set_tests_properties(crash/wide_loads PROPERTIES LABELS crash TIMEOUT 600 SKIP_RETURN_CODE 77)
  endif()
  return()
endif()

# The program that scripts/vm-test.sh takes into its virtual machine.
add_executable(braid_vm_writer
  "${PROJECT_SOURCE_DIR}/tests/vm/vm_writer.cc" "${PROJECT_SOURCE_DIR}/tests/vm/media_error.cc"
  "${PROJECT_SOURCE_DIR}/tests/vm/region_pool.cc")
braid_own_code(braid_vm_writer)
target_link_libraries(braid_vm_writer PRIVATE braid_test_support)

# ---- C programs against the shared library, built as a C user would: one program a file --------

function(braid_add_c_program target source)
  add_executable(${target} "${source}")
  # Whether gcc sees a truncation depends on what the optimizer inlined, so that one stays off.
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Werror -pedantic $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>)
  target_link_libraries(${target} PRIVATE braid::braid Threads::Threads)
endfunction()

file(GLOB BRAID_CAPI_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/capi/*.c")
foreach(source ${BRAID_CAPI_SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  braid_add_c_program(braid_capi_${name} "${source}")
  add_test(NAME capi/${name} COMMAND braid_capi_${name})
  set_tests_properties(capi/${name} PROPERTIES LABELS capi TIMEOUT 600)
  list(APPEND BRAID_CAPI_PROGRAMS $<TARGET_FILE:braid_capi_${name}>)
endforeach()

# ---- Examples: examples/<name>.cc and .c become bin/braid_example_<name> -----------------------

file(GLOB BRAID_EXAMPLE_SOURCES CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/examples/*.cc" "${PROJECT_SOURCE_DIR}/examples/*.c")
foreach(source ${BRAID_EXAMPLE_SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  if(source MATCHES "\\.c$")
    braid_add_c_program(braid_example_${name} "${source}")
  else()
    add_executable(braid_example_${name} "${source}")
    braid_own_code(braid_example_${name})
    target_link_libraries(braid_example_${name} PRIVATE braid::braid)
  endif()
endforeach()

# ---- Python tests: the C ABI, the installed package, the house rules ---------------------------

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# Registers a Python test below tests/: braid_add_script(<label> <script> <argument>...).
function(braid_add_script label script)
  get_filename_component(name "${script}" NAME_WE)
  add_test(NAME ${label}/${name}
    COMMAND Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/tests/${script}" ${ARGN})
  set_tests_properties(${label}/${name} PROPERTIES
    LABELS ${label} TIMEOUT 600 SKIP_RETURN_CODE 77)
endfunction()

foreach(check check_asserts check_classes check_heads check_layers check_limits check_links
        check_names check_words)
  braid_add_script(style style/${check}.py)
  braid_add_script(style style/${check}_test.py)
endforeach()

braid_add_script(style style/reliability_test.py)
braid_add_script(style style/bench_tables_test.py)
braid_add_script(style style/site_test.py)
braid_add_script(style style/count_tests_test.py)
braid_add_script(style style/test_run_test.py)
braid_add_script(style style/weave_faults_test.py)
braid_add_script(style style/hadoop_demo_test.py)

if(TARGET braid_figures)
  braid_add_script(figures figures/figures_test.py "${PROJECT_BINARY_DIR}/bin")
  braid_add_script(figures figures/bench_script_test.py "${PROJECT_BINARY_DIR}/bin")
endif()

if(EXISTS "${PROJECT_SOURCE_DIR}/tests/capi/check_abi.py")
  find_path(BRAID_LEVELDB_INCLUDE leveldb/c.h)
  set(leveldb_header "")
  if(BRAID_LEVELDB_INCLUDE)
    set(leveldb_header --leveldb-header "${BRAID_LEVELDB_INCLUDE}/leveldb/c.h")
  endif()
  braid_add_script(capi capi/check_abi.py --library $<TARGET_FILE:braid> ${leveldb_header})
endif()
if(NOT BRAID_SANITIZE AND NOT BRAID_COVERAGE)
  braid_add_script(capi capi/under_valgrind.py ${BRAID_CAPI_PROGRAMS})
endif()
if(TARGET braid_example_c_example)
  braid_add_script(capi capi/against_leveldb.py
    --cc "${CMAKE_C_COMPILER}" --example $<TARGET_FILE:braid_example_c_example>)
endif()
if(TARGET braid_example_readme)
  braid_add_script(package package/readme_example_test.py
    "${PROJECT_SOURCE_DIR}" $<TARGET_FILE:braid_example_readme>)
endif()
if(TARGET braid_example_work_queue)
  braid_add_script(package package/examples_test.py
    "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/bin")
endif()
if(TARGET braid_command)
  braid_add_script(compat compat/upgrade_test.py "${PROJECT_BINARY_DIR}/bin")
endif()
if(NOT BRAID_SANITIZE AND NOT BRAID_COVERAGE)
  braid_add_script(package package/install_test.py
    --build-dir "${PROJECT_BINARY_DIR}" --cmake "${CMAKE_COMMAND}"
    --pkg-config "${PKG_CONFIG_EXECUTABLE}" --cxx "${CMAKE_CXX_COMPILER}"
    --cc "${CMAKE_C_COMPILER}")
  if(TARGET braid_command)
    braid_add_script(package package/sbom_test.py
      "${PROJECT_SOURCE_DIR}" $<TARGET_FILE:braid> $<TARGET_FILE:braid_command>)
  endif()
  # The packages have a build of their own, the same for every preset: once is enough.
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    braid_add_script(package package/recipes_test.py "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}")
    braid_add_script(package package/deb_test.py
      --source "${PROJECT_SOURCE_DIR}" --build "${PROJECT_BINARY_DIR}/deb")
    set_tests_properties(package/deb_test PROPERTIES TIMEOUT 1800)
  endif()
endif()
