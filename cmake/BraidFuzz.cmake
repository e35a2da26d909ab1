# One libFuzzer program for each fuzz/*.cc. The whole tree is instrumented by the preset.

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "Fuzzers need clang: configure with the preset 'fuzz'.")
endif()
file(GLOB BRAID_FUZZ_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/*.cc")
foreach(source ${BRAID_FUZZ_SOURCES})
  get_filename_component(name "${source}" NAME_WE)
  add_executable(${name} "${source}")
  braid_own_code(${name})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE braid::static ${BRAID_STORE_LIBRARIES})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()
