# SPDX-License-Identifier: Apache-2.0
# How a target of oncemq is declared. Sources are always listed by hand.
#
#   oncemq_module(NAME base SOURCES src/id.cc [PUBLIC oncemq::x] [PRIVATE oncemq_dep_spdlog])
#     library oncemq_base, alias oncemq::base, public headers in ./include/oncemq/base/
#   oncemq_proto(NAME payment SOURCES payment.proto)     library oncemq_proto_payment
#   oncemq_program(NAME oncemq SOURCES main.cc LIBS ...) program
#     Both may name heavy headers that most of their sources include: PRECOMPILED <x.hpp>
#   oncemq_embed(oncemq_x statements.sql kStatementsSql)  a file as a constant
#
# A library called oncemq_dep_<name> is looked up by cmake/Dependencies.cmake when first named.

include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/Dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/PkgConfigFile.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/Precompiled.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/Warnings.cmake)

# That of its kind, or one of its own where more than the standard's headers are heavy.
function(_oncemq_precompile target kind)
  if(ARGN)
    oncemq_precompiled(${target} alone ${ARGN})
  else()
    oncemq_precompiled(${target} ${kind})
  endif()
endfunction()

# Records what the installed package must find again.
function(_oncemq_record_dependencies)
  foreach(library IN LISTS ARGN)
    if(library MATCHES "^oncemq_dep_(.+)$")
      set_property(GLOBAL APPEND PROPERTY ONCEMQ_PACKAGE_DEPENDENCIES ${CMAKE_MATCH_1})
    endif()
  endforeach()
endfunction()

function(oncemq_module)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;PUBLIC;PRIVATE;PRECOMPILED")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME)
    message(FATAL_ERROR "oncemq_module: bad arguments: ${ARGV}")
  endif()
  set(target oncemq_${arg_NAME})
  oncemq_need_of(${arg_PUBLIC} ${arg_PRIVATE})
  set(include_dir ${CMAKE_CURRENT_SOURCE_DIR}/include)
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    oncemq_warnings(${target})
    if(NOT TARGET oncemq_libraries)
      add_custom_target(oncemq_libraries)
    endif()
    add_dependencies(oncemq_libraries ${target})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
    _oncemq_precompile(${target} library ${arg_PRECOMPILED})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC} ${arg_PRIVATE})
    set(scope INTERFACE)
  endif()
  if(EXISTS ${include_dir})
    target_include_directories(${target} ${scope} $<BUILD_INTERFACE:${include_dir}>
                                                  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
    oncemq_header_check(${target} ${include_dir})
  endif()
  add_library(oncemq::${arg_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_NAME})
  if(ONCEMQ_INSTALL)
    _oncemq_record_dependencies(${arg_PUBLIC} ${arg_PRIVATE})
    install(TARGETS ${target} EXPORT oncemqTargets)
    oncemq_pc_module(${arg_NAME} "${arg_SOURCES}" "${arg_PUBLIC};${arg_PRIVATE}")
    if(EXISTS ${include_dir})
      install(DIRECTORY ${include_dir}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
              FILES_MATCHING PATTERN "*.h")
    endif()
  endif()
endfunction()

# The text of a file in another language, as a constant of the header <name>_<extension>.h.
function(oncemq_embed target file constant)
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  string(REPLACE "." "_" header ${file})
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded/${header}.h CONTENT
"#pragma once
#include <string_view>
namespace oncemq {
inline constexpr std::string_view ${constant} = R\"oncemq(@text@)oncemq\";
}
" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()

function(oncemq_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS;PRECOMPILED")
  oncemq_need_of(${arg_LIBS})
  add_executable(${arg_NAME} ${arg_SOURCES})
  oncemq_warnings(${arg_NAME})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} Threads::Threads)
  _oncemq_precompile(${arg_NAME} program ${arg_PRECOMPILED})
endfunction()

function(oncemq_proto)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES")
  oncemq_need(protobuf)
  set(target oncemq_proto_${arg_NAME})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${out})
  set(generated "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(stem ${source} NAME_WE)
    add_custom_command(
      OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
      COMMAND protobuf::protoc --cpp_out=${out} -I ${CMAKE_CURRENT_SOURCE_DIR}
              ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      DEPENDS ${source}
      COMMENT "Protobuf ${source}"
      VERBATIM)
    list(APPEND generated ${out}/${stem}.pb.cc)
  endforeach()
  # Generated code is not ours to warn about.
  add_library(${target} STATIC ${generated})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  target_include_directories(${target} SYSTEM PUBLIC ${out})
  target_link_libraries(${target} PUBLIC oncemq_dep_protobuf)
endfunction()

# Compiles each public header alone, so that none leans on what was included before it. The list
# is globbed: a header that was forgotten here would be the very fault this looks for.
function(oncemq_header_check target include_dir)
  if(NOT ONCEMQ_BUILD_TESTS)
    return()
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${include_dir} ${include_dir}/*.h)
  set(sources "")
  foreach(header IN LISTS headers)
    string(MAKE_C_IDENTIFIER ${header} stem)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/header_check/${stem}.cc)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
    list(APPEND sources ${source})
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(header_check_${target} OBJECT EXCLUDE_FROM_ALL ${sources})
  set_target_properties(header_check_${target} PROPERTIES UNITY_BUILD OFF)
  oncemq_warnings(header_check_${target})
  target_link_libraries(header_check_${target} PRIVATE ${target})
  if(NOT TARGET header_check)
    add_custom_target(header_check)
  endif()
  add_dependencies(header_check header_check_${target})
endfunction()
