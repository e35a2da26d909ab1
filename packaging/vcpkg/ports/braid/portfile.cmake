# An overlay port: it builds the sources in whose packaging/ folder it lies.
#   vcpkg install braid --overlay-ports=packaging/vcpkg/ports
# libpmem2 comes from the system (apt-get install libpmem2-dev): vcpkg's port of PMDK is for Windows
# and has no libpmem2.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/braid/version.h")
  message(FATAL_ERROR "The braid port is part of braid's sources: use it from there, "
                      "with --overlay-ports=<sources>/packaging/vcpkg/ports.")
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES tools BRAID_BUILD_TOOLS)

# The build makes both libraries whatever the triplet's linkage is: braid::braid is the shared one,
# braid::static the other.
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DBRAID_BUILD_TESTS=OFF -DBRAID_WERROR=OFF ${FEATURE_OPTIONS})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/braid)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES braid AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
