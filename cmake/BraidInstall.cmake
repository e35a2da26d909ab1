# cmake --install: headers, both libraries, the command, the CMake package and braid.pc. Each thing
# belongs to a component, which is a package of cmake/BraidPackage.cmake: library (what a program
# needs to run), development (to build one), tools (the command).

include(CMakePackageConfigHelpers)
set(BRAID_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/braid")

install(TARGETS braid EXPORT braidTargets
        LIBRARY COMPONENT library NAMELINK_COMPONENT development)
# A set of its own: its dependencies are looked up only by programs that ask for it.
install(TARGETS braid_static EXPORT braidStaticTargets ARCHIVE COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/braid" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        COMPONENT development FILES_MATCHING PATTERN "*.h")
if(TARGET braid_command)
  install(TARGETS braid_command RUNTIME COMPONENT tools)
  # man/man1 and bash-completion/completions, which the build has made.
  install(DIRECTORY "${PROJECT_BINARY_DIR}/share/" DESTINATION "${CMAKE_INSTALL_DATADIR}"
          COMPONENT tools)
endif()

install(EXPORT braidTargets NAMESPACE braid::
        DESTINATION "${BRAID_CMAKE_DIR}" COMPONENT development)
install(EXPORT braidStaticTargets NAMESPACE braid::
        DESTINATION "${BRAID_CMAKE_DIR}" COMPONENT development)
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/braidConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/braidConfig.cmake" INSTALL_DESTINATION "${BRAID_CMAKE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/braidConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/braidConfig.cmake"
  "${PROJECT_BINARY_DIR}/braidConfigVersion.cmake"
  DESTINATION "${BRAID_CMAKE_DIR}" COMPONENT development)

# braid.pc finds its prefix from where it lies, so that an installed tree can be moved.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(BRAID_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
  set(BRAID_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
  set(BRAID_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
else()
  file(RELATIVE_PATH BRAID_PC_UP "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  set(BRAID_PC_PREFIX "\${pcfiledir}/${BRAID_PC_UP}")
  set(BRAID_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(BRAID_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
configure_file("${PROJECT_SOURCE_DIR}/cmake/braid.pc.in" "${PROJECT_BINARY_DIR}/braid.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/braid.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
