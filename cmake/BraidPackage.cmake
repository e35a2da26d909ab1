# cpack -G DEB: the Debian packages, one a component of cmake/BraidInstall.cmake.
#   libbraid<N>   the shared library; <N> is its SOVERSION, so that two of them can live side by side
#   libbraid-dev  headers, the static library, the CMake package, braid.pc
#   braid-tools   the braid command, its completion and manual pages
# scripts/package.sh configures, builds and packs; tests/package/deb_test.py installs what it made.

set(BRAID_DEB_LIBRARY "libbraid${PROJECT_VERSION_MAJOR}")
set(BRAID_DEB_DEVELOPMENT "libbraid-dev")
set(BRAID_DEB_TOOLS "braid-tools")

set(CPACK_PACKAGE_NAME "braid")
set(CPACK_PACKAGE_VENDOR "The braid developers")
set(CPACK_PACKAGE_CONTACT "The braid developers <braid@localhost>" CACHE STRING
    "Maintainer of the Debian packages, as name and address")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_GENERATOR "DEB")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library development)
if(TARGET braid_command)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()
set(CPACK_COMPONENTS_GROUPING IGNORE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME "${BRAID_DEB_LIBRARY}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/debian/triggers")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION
"braid is an embedded, ordered key-value store for byte-addressable persistent
memory: an LSM-tree whose levels are persistent skip lists, merged in place.
It runs as well on tmpfs or an ordinary file.

This package contains the shared library.")

# What the static library and `pkg-config --cflags braid` need, beside the shared library.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME "${BRAID_DEB_DEVELOPMENT}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${BRAID_DEB_LIBRARY} (= ${PROJECT_VERSION}-1), libpmem2-dev, libxxhash-dev, liburcu-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
"braid is an embedded, ordered key-value store for byte-addressable persistent
memory: an LSM-tree whose levels are persistent skip lists, merged in place.

This package contains the C++ and C headers, the static library, the CMake
package and the pkg-config file.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME "${BRAID_DEB_TOOLS}")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION database)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION
"braid is an embedded, ordered key-value store for byte-addressable persistent
memory: an LSM-tree whose levels are persistent skip lists, merged in place.

This package contains the braid command, which loads, reads, verifies, repairs,
measures and watches pools.")

# Copyright and changelog, which every Debian package has.
string(TIMESTAMP BRAID_DEB_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
configure_file("${PROJECT_SOURCE_DIR}/packaging/debian/changelog.in"
               "${PROJECT_BINARY_DIR}/packaging/changelog.Debian" @ONLY)
find_program(BRAID_GZIP gzip)
if(BRAID_GZIP)
  execute_process(COMMAND "${BRAID_GZIP}" -9nkf "${PROJECT_BINARY_DIR}/packaging/changelog.Debian")
endif()
foreach(component library development tools)
  if(component IN_LIST CPACK_COMPONENTS_ALL AND CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    string(TOUPPER ${component} upper)
    set(folder "${CMAKE_INSTALL_DATADIR}/doc/${BRAID_DEB_${upper}}")
    install(FILES "${PROJECT_SOURCE_DIR}/packaging/debian/copyright"
            DESTINATION "${folder}" COMPONENT ${component})
    install(FILES "${PROJECT_BINARY_DIR}/packaging/changelog.Debian.gz"
            DESTINATION "${folder}" COMPONENT ${component} OPTIONAL)
  endif()
endforeach()

include(CPack)
