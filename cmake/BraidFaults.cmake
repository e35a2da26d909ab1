# The seeded faults of the crashsim build: tests/crash/faults says what is done wrong and where, and
# scripts/weave_faults.py weaves it into copies of the sources, which are compiled instead.

find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(BRAID_WEAVE Python3::Interpreter -B "${PROJECT_SOURCE_DIR}/scripts/weave_faults.py")
set(BRAID_WOVEN_DIR "${PROJECT_BINARY_DIR}/woven")

# Gives the sources in the list named `sources` that have faults their woven copies.
function(braid_weave_faults sources)
  file(GLOB faults CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/crash/faults/*.txt")
  # Another file may get its first fault.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${faults})
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/scripts/weave_faults.py" --list
    OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" files "${files}")
  set(originals ${files})
  set(woven ${files})
  list(TRANSFORM originals PREPEND "${PROJECT_SOURCE_DIR}/")
  list(TRANSFORM woven PREPEND "${BRAID_WOVEN_DIR}/")
  add_custom_command(OUTPUT ${woven}
    COMMAND ${BRAID_WEAVE} --out "${BRAID_WOVEN_DIR}"
    DEPENDS ${faults} ${originals} "${PROJECT_SOURCE_DIR}/scripts/weave_faults.py"
    COMMENT "Weaving the seeded faults into the sources")
  add_custom_target(braid_woven DEPENDS ${woven})
  set(kept ${${sources}})
  foreach(original copy IN ZIP_LISTS originals woven)
    if(original IN_LIST kept)
      list(REMOVE_ITEM kept "${original}")
      list(APPEND kept "${copy}")
    endif()
  endforeach()
  set(${sources} ${kept} PARENT_SCOPE)
endfunction()
