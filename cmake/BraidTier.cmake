# RocksDB, for tiers below pools. In the library where that was asked for; else beside it, in the
# command and in the tests that need it, where it is installed.

find_path(BRAID_ROCKSDB_INCLUDE rocksdb/db.h)
find_library(BRAID_ROCKSDB_LIBRARY rocksdb)
if((BRAID_SANITIZE MATCHES "thread" OR BRAID_CRASHSIM) AND NOT BRAID_ROCKSDB_TIER)
  # Debian's RocksDB is not compiled for it: its own locks would look like races; and it would call
  # templates of ours that have the hooks of the crash simulator, before these are there.
elseif(BRAID_ROCKSDB_INCLUDE AND BRAID_ROCKSDB_LIBRARY)
  if(BRAID_ROCKSDB_TIER)
    list(APPEND BRAID_STORE_LIBRARIES "${BRAID_ROCKSDB_LIBRARY}")
    set(BRAID_TIER_LIBS " -lrocksdb")  # of programs that link the library statically
  else()
    add_library(braid_rocksdb_tier OBJECT "${PROJECT_SOURCE_DIR}/src/tier/rocksdb_store.cc"
      "${PROJECT_SOURCE_DIR}/src/tier/rocksdb_tables.cc"
      "${PROJECT_SOURCE_DIR}/src/tier/mapped_tables.cc")
    braid_own_code(braid_rocksdb_tier)
    target_compile_definitions(braid_rocksdb_tier PRIVATE
      BRAID_ROCKSDB_TIER=1 BRAID_ROCKSDB_BESIDE=1)
    target_include_directories(braid_rocksdb_tier SYSTEM PRIVATE "${BRAID_ROCKSDB_INCLUDE}")
    target_include_directories(braid_rocksdb_tier
      PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(braid_rocksdb_tier PRIVATE ${BRAID_STORE_LIBRARIES})
  endif()
elseif(BRAID_ROCKSDB_TIER)
  message(FATAL_ERROR
    "RocksDB is missing. Install it: apt-get install librocksdb-dev (or leave BRAID_ROCKSDB_TIER off).")
endif()

# Links RocksDB's tier into a program that is linked with the library.
function(braid_use_rocksdb_tier target)
  if(TARGET braid_rocksdb_tier)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:braid_rocksdb_tier>)
    target_link_libraries(${target} PRIVATE "${BRAID_ROCKSDB_LIBRARY}")
    target_compile_definitions(${target} PRIVATE BRAID_HAVE_ROCKSDB_TIER=1)
  elseif(BRAID_ROCKSDB_TIER)
    target_compile_definitions(${target} PRIVATE BRAID_HAVE_ROCKSDB_TIER=1)
  endif()
endfunction()
