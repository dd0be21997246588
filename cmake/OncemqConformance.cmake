# SPDX-License-Identifier: Apache-2.0
# A suite that judges engines, also a stranger's:
#
#   oncemq_conformance(NAME window JUDGES oncemq::dedup SOURCES src/a.cc HEADERS src/a.h)
#
# oncemq::window_conformance. Its sources are compiled into the program that links it, with that
# program's GoogleTest, so neither our build nor the installed package needs one. Its header alone:
# oncemq_window_conformance_header.

function(oncemq_conformance)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;JUDGES" "SOURCES;HEADERS")
  set(suite oncemq_${arg_NAME}_conformance)
  set(installed ${CMAKE_INSTALL_DATADIR}/oncemq/${arg_NAME}_conformance)
  add_library(${suite} INTERFACE)
  add_library(oncemq::${arg_NAME}_conformance ALIAS ${suite})
  set_target_properties(${suite} PROPERTIES EXPORT_NAME ${arg_NAME}_conformance)
  target_link_libraries(${suite} INTERFACE ${arg_JUDGES})
  target_include_directories(${suite} INTERFACE
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(source IN LISTS arg_SOURCES)
    target_sources(${suite} INTERFACE
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/${source}>
      $<INSTALL_INTERFACE:${installed}/${source}>)
  endforeach()

  add_library(${suite}_header INTERFACE)
  target_link_libraries(${suite}_header INTERFACE ${arg_JUDGES})
  target_include_directories(${suite}_header INTERFACE include)
  oncemq_header_check(${suite}_header ${CMAKE_CURRENT_SOURCE_DIR}/include)

  if(ONCEMQ_INSTALL)
    install(TARGETS ${suite} EXPORT oncemqTargets)
    install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
    install(FILES ${arg_SOURCES} ${arg_HEADERS} DESTINATION ${installed}/src)
  endif()
endfunction()
