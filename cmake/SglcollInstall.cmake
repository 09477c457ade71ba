# Install rules: the library, its headers, its programs, and the package files
# for find_package(sglcoll) and pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS sglcoll sglcoll_cpp EXPORT sglcoll-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sglcoll_verbs LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sglcoll)
install(DIRECTORY include/sglcoll DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT sglcoll-targets NAMESPACE sglcoll:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sglcoll)

configure_package_config_file(cmake/sglcoll-config.cmake.in "${PROJECT_BINARY_DIR}/sglcoll-config.cmake"
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sglcoll)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/sglcoll-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/sglcoll-config.cmake" "${PROJECT_BINARY_DIR}/sglcoll-config-version.cmake"
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/sglcoll)

# The prefix is where the file is, so that `cmake --install --prefix` may choose it.
file(RELATIVE_PATH SGLCOLL_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" SGLCOLL_PC_PREFIX "${SGLCOLL_PC_PREFIX}")
configure_file(cmake/sglcoll.pc.in "${PROJECT_BINARY_DIR}/sglcoll.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/sglcoll.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
