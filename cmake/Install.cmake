# SPDX-License-Identifier: Apache-2.0
# Installs the CMake package `oncemq`: find_package(oncemq) gives oncemq::base, oncemq::dedup, ...
# and for pkg-config the same libraries: oncemq for all, oncemq-base, oncemq-dedup, ...

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/oncemq)
get_property(package_dependencies GLOBAL PROPERTY ONCEMQ_PACKAGE_DEPENDENCIES)
list(REMOVE_DUPLICATES package_dependencies)
# Only the conformance suites need GoogleTest; who doesn't use them need not have it.
set(package_test_dependencies gtest gmock)
list(REMOVE_ITEM package_dependencies ${package_test_dependencies})
list(JOIN package_dependencies " " package_dependencies)
list(JOIN package_test_dependencies " " package_test_dependencies)

configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/oncemqConfig.cmake.in ${PROJECT_BINARY_DIR}/oncemqConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/oncemqConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/oncemqConfig.cmake
              ${PROJECT_BINARY_DIR}/oncemqConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/Dependencies.cmake
        DESTINATION ${package_dir})
install(EXPORT oncemqTargets NAMESPACE oncemq:: DESTINATION ${package_dir})
oncemq_pc_all()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
