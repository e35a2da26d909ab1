# The fuzz targets, fuzz/fuzz_*.cc: under libFuzzer in the preset 'fuzz', and everywhere as programs
# that replay the inputs stored in fuzz/corpus and fuzz/regressions (ctest label: fuzz).

file(GLOB BRAID_FUZZ_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.cc")
list(FILTER BRAID_FUZZ_SOURCES EXCLUDE REGEX "_test\\.cc$")

# The readers of `braid load` need nothing of the other verbs, which the preset does not build.
set(BRAID_LOADER_SOURCES "")
foreach(name key_range_flags text_format deb822_reader interrupt jsonl_reader line_source tsv_reader)
  list(APPEND BRAID_LOADER_SOURCES "${PROJECT_SOURCE_DIR}/tools/${name}.cc")
endforeach()
add_library(braid_fuzz_loaders STATIC ${BRAID_LOADER_SOURCES})
braid_own_code(braid_fuzz_loaders)
braid_unity(braid_fuzz_loaders 8)
target_include_directories(braid_fuzz_loaders PUBLIC
  "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tools")
target_link_libraries(braid_fuzz_loaders PUBLIC
  braid::static nlohmann_json::nlohmann_json fmt::fmt CLI11::CLI11)

function(braid_fuzz_program name)
  add_executable(${name} ${ARGN})
  braid_own_code(${name})
  target_include_directories(${name} PRIVATE
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/fuzz")
  target_link_libraries(${name} PRIVATE braid::static ${BRAID_STORE_LIBRARIES} braid_fuzz_loaders)
endfunction()

foreach(source ${BRAID_FUZZ_SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  if(BRAID_BUILD_FUZZ)
    if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
      message(FATAL_ERROR "Fuzzers need clang: configure with the preset 'fuzz'.")
    endif()
    braid_fuzz_program(${name} "${source}")
    target_compile_definitions(${name} PRIVATE BRAID_LIBFUZZER=1)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    braid_fuzz_program(replay_${name} "${source}" "${PROJECT_SOURCE_DIR}/fuzz/replay/main.cc")
    set(folders "")
    foreach(kind corpus regressions)
      if(EXISTS "${PROJECT_SOURCE_DIR}/fuzz/${kind}/${name}")
        list(APPEND folders "${PROJECT_SOURCE_DIR}/fuzz/${kind}/${name}")
      endif()
    endforeach()
    add_test(NAME fuzz/${name} COMMAND replay_${name} ${folders})
    set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 600)
  endif()
endforeach()
if(NOT BRAID_BUILD_FUZZ)
  braid_fuzz_program(make_pool_seeds "${PROJECT_SOURCE_DIR}/fuzz/seeds/make_pool_seeds.cc")
endif()
