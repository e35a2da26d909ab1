# The wB+-tree that figures compare with: no part of the store, but on its seam to the medium.

braid_glob_sources(BRAID_WBTREE_SOURCES "${PROJECT_SOURCE_DIR}/bench/wbtree/*.cc")
add_library(braid_wbtree STATIC ${BRAID_WBTREE_SOURCES})
braid_own_code(braid_wbtree)
braid_unity(braid_wbtree 8)
target_include_directories(braid_wbtree PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(braid_wbtree PUBLIC braid::static ${BRAID_STORE_LIBRARIES})
