# Compiler and linker flags of all our code.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug or Release" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(BRAID_CCACHE ccache)
if(BRAID_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${BRAID_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${BRAID_CCACHE}")
endif()

# Every link in persistent memory carries a CRC that is checked at each hop, so the crc32
# instruction (SSE4.2, in every x86-64 server since 2009) is part of the baseline; without it a
# lookup would pay a table-driven CRC a hop. Newer instructions (clwb) are detected at run time.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  add_compile_options(-march=x86-64-v2)
  # The one file for newer processors; it is called only where there is one.
  set_source_files_properties("${PROJECT_SOURCE_DIR}/src/base/hash_avx2.cc"
    PROPERTIES COMPILE_OPTIONS -mavx2 SKIP_UNITY_BUILD_INCLUSION ON)
endif()

# Our symbols are not meant to be replaced at load time, and the compiler may inline across them.
add_compile_options(-fno-semantic-interposition)

# Links in a tenth of the time where it is installed.
find_program(BRAID_MOLD mold)
if(BRAID_MOLD AND NOT BRAID_BUILD_FUZZ)
  add_link_options(-fuse-ld=mold)
endif()

# Hardening. Fortify needs the optimizer and does not mix with sanitizers.
add_compile_options(-fstack-protector-strong)
if(NOT BRAID_SANITIZE AND NOT BRAID_COVERAGE AND NOT BRAID_BUILD_FUZZ AND NOT BRAID_CRASHSIM)
  add_compile_options($<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=2>)
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now)

if(BRAID_SANITIZE)
  # Lines are all that a report needs of debug information. The optimizer takes most of the time of a
  # compiler that adds checks: clang does without it, in half of the time. gcc's -O0 is no faster than
  # its -Og, and a null pointer is found by the kernel, without a check at each access.
  set(sanitizer_level -O1)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(sanitizer_level -O0)
  elseif(BRAID_SANITIZE MATCHES "undefined")
    set(sanitizer_level -Og -fno-sanitize=null)
  endif()
  add_compile_options(-fsanitize=${BRAID_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer -g1 ${sanitizer_level})
  add_link_options(-fsanitize=${BRAID_SANITIZE})
  if(BRAID_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # TSan does not model lone fences; gcc says so at each one, and all of ours name their pair.
    add_compile_options(-Wno-tsan)
  endif()
endif()

if(BRAID_BUILD_FUZZ)
  # The mutators know the formats, so that tracing of comparisons would only cost executions.
  add_compile_options(-O2 -fno-sanitize-coverage=trace-cmp)
endif()

if(BRAID_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BRAID_COVERAGE needs clang: configure with the preset 'coverage'.")
  endif()
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping -g)
  add_link_options(-fprofile-instr-generate)
endif()

if(BRAID_CRASHSIM)
  add_compile_definitions(BRAID_CRASHSIM=1)
endif()

# The crash tests want to know which words of a pool are read. With the checks that the compiler
# makes for AddressSanitizer, but without its library, each load looks at a byte of shadow memory and
# calls a function of ours where it is set (src/sim/sim_reads.cc). Memory functions stay calls, so
# that they can be stood in for (tests/crash/read_hooks.cc).
set(BRAID_READ_HOOK_FLAGS "")
set(BRAID_NO_READ_HOOK_FLAGS "--param asan-instrument-reads=0")
if(BRAID_CRASHSIM AND NOT BRAID_SANITIZE)
  set(BRAID_READ_HOOK_FLAGS -fsanitize=kernel-address -DBRAID_READ_HOOKS=1)
  set(inline_always "asan-instrumentation-with-call-threshold=1000000000")
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(BRAID_NO_READ_HOOK_FLAGS "-mllvm -asan-instrument-reads=0")
    list(APPEND BRAID_READ_HOOK_FLAGS "SHELL:-mllvm -${inline_always}"
      "SHELL:-mllvm -asan-mapping-offset=0x7fff8000")
    foreach(option stack globals instrument-writes)
      list(APPEND BRAID_READ_HOOK_FLAGS "SHELL:-mllvm -asan-${option}=0")
    endforeach()
  else()
    list(APPEND BRAID_READ_HOOK_FLAGS "SHELL:--param ${inline_always}"
      -fasan-shadow-offset=0x7fff8000 -fno-optimize-strlen)
    foreach(option stack globals instrument-writes)
      list(APPEND BRAID_READ_HOOK_FLAGS "SHELL:--param asan-${option}=0")
    endforeach()
  endif()
endif()

# Has the loads of a target's own sources checked, but for the sources named: those note the loads,
# or belong to the simulator.
function(braid_read_hooks target)
  target_compile_options(${target} PRIVATE ${BRAID_READ_HOOK_FLAGS})
  if(BRAID_READ_HOOK_FLAGS AND ARGN)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_FLAGS "${BRAID_NO_READ_HOOK_FLAGS}")
  endif()
endfunction()

# Compiles the sources of a target `size` at a time, so that headers and templates that they share
# are read and instantiated once. Names in anonymous namespaces must differ within a target; those
# that can't are named to set_source_files_properties(... SKIP_UNITY_BUILD_INCLUSION ON).
function(braid_unity target size)
  if(BRAID_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
  endif()
endfunction()

# Sources that are compiled together see each other's file-wide names; a build that compiles each
# source alone (the preset debug) warns of those that hide one of their own.
set(BRAID_SHADOW_WARNING -Wshadow)
if(BRAID_UNITY)
  set(BRAID_SHADOW_WARNING $<IF:$<COMPILE_LANG_AND_ID:CXX,GNU>,-Wshadow=local,-Wno-shadow>)
endif()

# Marks a target as our own code: all warnings, as errors unless BRAID_WERROR is off.
function(braid_own_code target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic ${BRAID_SHADOW_WARNING}
    $<$<COMPILE_LANGUAGE:CXX>:-Wconversion> $<$<COMPILE_LANGUAGE:CXX>:-Wno-sign-conversion>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
    $<$<BOOL:${BRAID_WERROR}>:-Werror>)
  if(TARGET braid_woven)
    add_dependencies(${target} braid_woven)
  endif()
endfunction()
