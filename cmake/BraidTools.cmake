# The bench harness (a library), the braid command, and braid-compare with other stores.

set(BRAID_TOOL_LIBRARIES braid::static fmt::fmt nlohmann_json::nlohmann_json)

braid_glob_sources(BRAID_BENCH_SOURCES "${PROJECT_SOURCE_DIR}/bench/harness/*.cc")
if(BRAID_BENCH_SOURCES)
  add_library(braid_bench STATIC ${BRAID_BENCH_SOURCES})
  braid_own_code(braid_bench)
  braid_unity(braid_bench 10)
  target_include_directories(braid_bench PUBLIC "${PROJECT_SOURCE_DIR}")
  target_include_directories(braid_bench PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(braid_bench PUBLIC ${BRAID_TOOL_LIBRARIES})
  list(APPEND BRAID_TOOL_LIBRARIES braid_bench)
endif()

# Everything of the command except main(), so that tools/*_test.cc can link it.
braid_glob_sources(BRAID_COMMAND_SOURCES "${PROJECT_SOURCE_DIR}/tools/*.cc"
  "${PROJECT_SOURCE_DIR}/bench/verb/*.cc")
set(BRAID_COMMAND_MAIN "${PROJECT_SOURCE_DIR}/tools/main.cc")
list(REMOVE_ITEM BRAID_COMMAND_SOURCES "${BRAID_COMMAND_MAIN}")
if(BRAID_COMMAND_SOURCES)
  add_library(braid_verbs STATIC ${BRAID_COMMAND_SOURCES})
  braid_own_code(braid_verbs)
  braid_unity(braid_verbs 11)
  # It parses and prints; the store and what measures are linked in.
  target_compile_options(braid_verbs PRIVATE $<$<CONFIG:Release>:-O1>)
  target_include_directories(braid_verbs PUBLIC "${PROJECT_SOURCE_DIR}")
  target_include_directories(braid_verbs PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/tools")
  target_link_libraries(braid_verbs PUBLIC ${BRAID_TOOL_LIBRARIES} CLI11::CLI11)
  # Optional: line editing in the shell.
  pkg_check_modules(BRAID_EDIT QUIET IMPORTED_TARGET libedit)
  if(BRAID_EDIT_FOUND)
    target_link_libraries(braid_verbs PRIVATE PkgConfig::BRAID_EDIT)
    target_compile_definitions(braid_verbs PRIVATE BRAID_HAVE_LIBEDIT=1)
  else()
    message(STATUS "braid shell: without line editing (apt-get install libedit-dev)")
  endif()
  # Optional: dump and ingest of RocksDB's tables.
  find_path(BRAID_ROCKSDB_INCLUDE rocksdb/db.h)
  find_library(BRAID_ROCKSDB_LIBRARY rocksdb)
  if(BRAID_ROCKSDB_INCLUDE AND BRAID_ROCKSDB_LIBRARY)
    target_include_directories(braid_verbs SYSTEM PRIVATE "${BRAID_ROCKSDB_INCLUDE}")
    target_link_libraries(braid_verbs PRIVATE "${BRAID_ROCKSDB_LIBRARY}")
    target_compile_definitions(braid_verbs PRIVATE BRAID_HAVE_ROCKSDB=1)
  else()
    message(STATUS "braid: no SSTs in dump, load and ingest (apt-get install librocksdb-dev)")
  endif()
endif()
if(BRAID_COMMAND_SOURCES AND EXISTS "${BRAID_COMMAND_MAIN}")
  add_executable(braid_command "${BRAID_COMMAND_MAIN}")
  braid_own_code(braid_command)
  set_target_properties(braid_command PROPERTIES OUTPUT_NAME braid)
  target_include_directories(braid_command PRIVATE "${PROJECT_SOURCE_DIR}/tools")
  target_link_libraries(braid_command PRIVATE braid_verbs)
  braid_use_rocksdb_tier(braid_command)
  # Manual pages and the completion, of the verbs' own definitions.
  if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(TARGET braid_command POST_BUILD
      COMMAND braid_command help --write-pages "${PROJECT_BINARY_DIR}/share" VERBATIM)
  endif()
endif()

# Other stores are optional peers: what is not installed is left out and said so.
braid_glob_sources(BRAID_ENGINE_SOURCES "${PROJECT_SOURCE_DIR}/bench/engines/*.cc")
braid_glob_sources(BRAID_COMPARE_SOURCES "${PROJECT_SOURCE_DIR}/bench/compare/*.cc")
if(BRAID_COMPARE_SOURCES AND TARGET braid_bench)
  add_library(braid_engines STATIC ${BRAID_ENGINE_SOURCES})
  braid_own_code(braid_engines)
  braid_unity(braid_engines 5)
  target_link_libraries(braid_engines PUBLIC braid_bench PRIVATE braid_wbtree)

  # Links peer NAME into the engines when its header and library are there.
  function(braid_add_peer name header library apt_package)
    find_path(BRAID_${name}_INCLUDE ${header})
    find_library(BRAID_${name}_LIBRARY ${library})
    if(BRAID_${name}_INCLUDE AND BRAID_${name}_LIBRARY)
      target_include_directories(braid_engines SYSTEM PRIVATE "${BRAID_${name}_INCLUDE}")
      target_link_libraries(braid_engines PUBLIC "${BRAID_${name}_LIBRARY}")
      target_compile_definitions(braid_engines PRIVATE BRAID_HAVE_${name}=1)
    else()
      message(STATUS "braid-compare: without ${library} (apt-get install ${apt_package})")
    endif()
  endfunction()
  braid_add_peer(LEVELDB leveldb/db.h leveldb libleveldb-dev)
  braid_add_peer(ROCKSDB rocksdb/db.h rocksdb librocksdb-dev)
  braid_add_peer(LMDB lmdb.h lmdb liblmdb-dev)

  add_executable(braid_compare ${BRAID_COMPARE_SOURCES})
  braid_own_code(braid_compare)
  braid_unity(braid_compare 8)
  set_target_properties(braid_compare PROPERTIES OUTPUT_NAME braid-compare)
  target_link_libraries(braid_compare PRIVATE
    ${BRAID_TOOL_LIBRARIES} braid_engines CLI11::CLI11)
  braid_use_rocksdb_tier(braid_compare)

  # The figures of the papers: one source a figure, and the frame that runs and judges them.
  braid_glob_sources(BRAID_FIGURE_FRAME_SOURCES "${PROJECT_SOURCE_DIR}/bench/figures/frame/*.cc")
  braid_glob_sources(BRAID_FIGURE_SOURCES "${PROJECT_SOURCE_DIR}/bench/figures/*.cc")
  add_library(braid_figure_frame STATIC ${BRAID_FIGURE_FRAME_SOURCES})
  braid_own_code(braid_figure_frame)
  braid_unity(braid_figure_frame 8)
  target_link_libraries(braid_figure_frame PUBLIC ${BRAID_TOOL_LIBRARIES} braid_engines)
  add_executable(braid_figures ${BRAID_FIGURE_SOURCES})
  braid_own_code(braid_figures)
  # What is measured is linked in; the figures themselves compile faster with less.
  target_compile_options(braid_figures PRIVATE $<$<CONFIG:Release>:-O1>)
  braid_unity(braid_figures 9)
  set_target_properties(braid_figures PROPERTIES OUTPUT_NAME braid-figures)
  target_link_libraries(braid_figures PRIVATE braid_figure_frame CLI11::CLI11)
  braid_use_rocksdb_tier(braid_figures)

  # What figures count under valgrind: a store's puts and gets, alone in their process.
  add_executable(braid_engine_probe "${PROJECT_SOURCE_DIR}/bench/figures/probe/engine_probe.cc")
  braid_own_code(braid_engine_probe)
  set_target_properties(braid_engine_probe PROPERTIES OUTPUT_NAME braid-engine-probe)
  target_link_libraries(braid_engine_probe PRIVATE
    ${BRAID_TOOL_LIBRARIES} braid_engines CLI11::CLI11)
  add_dependencies(braid_figures braid_engine_probe)
endif()

# Measurements of single parts: one program a file, bin/micro_<name>. They see the inside of braid.
file(GLOB BRAID_MICRO_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/micro/*.cc")
foreach(source ${BRAID_MICRO_SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  add_executable(micro_${name} "${source}")
  braid_own_code(micro_${name})
  target_include_directories(micro_${name} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(micro_${name} PRIVATE
    ${BRAID_TOOL_LIBRARIES} CLI11::CLI11 ${BRAID_STORE_LIBRARIES})
endforeach()
