# SPDX-License-Identifier: Apache-2.0
# How tests, benches and fuzz targets are declared.
#
#   oncemq_test(NAME unit_base LABELS unit SOURCES a_test.cc LIBS oncemq::base [TIMEOUT 60]
#               [SERIAL] [ROCKSDB] [WHOLE] [ENV A=b])
#     program test_unit_base; every TEST in it is one test of ctest. ROCKSDB: it opens stores.
#     WHOLE: all of them are one test of ctest, as they share a server that starts slowly; begun
#     before the others, so that no long one runs alone at the end
#   oncemq_test_again(NAME many OF unit_base FILTER Log.* LABELS large ENV A=b TIMEOUT 60)
#     one more test of ctest: some of that program's, at another size
#   oncemq_bench(NAME dispatch SOURCES ... LIBS ...)     program bench_dispatch
#   oncemq_fuzz(NAME record SOURCES ... LIBS ...)        program fuzz_record, with clang only

include(${CMAKE_CURRENT_LIST_DIR}/OncemqModule.cmake)

# A test's own code runs briefly and is compiled often (measured: 43 % less time with -O1 -g1 than
# with -O2 -g). What it tests is compiled as the preset says. Under a sanitizer all is as its preset
# says: -Og takes half of the time of -O1 there, and a third of -O2's.
function(oncemq_quick_compile target)
  if(NOT ONCEMQ_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
endfunction()

function(oncemq_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL;ROCKSDB;WHOLE" "NAME;TIMEOUT"
                        "LABELS;SOURCES;LIBS;ENV")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_SOURCES OR NOT arg_LABELS)
    message(FATAL_ERROR "oncemq_test: NAME, LABELS and SOURCES are needed: ${ARGV}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  set(target test_${arg_NAME})
  oncemq_need(gmock)
  oncemq_need_of(${arg_LIBS})
  add_executable(${target} ${arg_SOURCES})
  if(ONCEMQ_SANITIZE MATCHES "thread")
    target_sources(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/tsan_libraries.cc)
    target_compile_definitions(${target} PRIVATE $<$<BOOL:${arg_ROCKSDB}>:ONCEMQ_TSAN_ROCKSDB>)
  endif()
  oncemq_warnings(${target})
  oncemq_quick_compile(${target})
  target_link_libraries(${target} PRIVATE ${arg_LIBS} oncemq_dep_gmock Threads::Threads)
  oncemq_precompiled(${target} test)
  set(properties TIMEOUT ${arg_TIMEOUT})
  if(arg_SERIAL)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  if(arg_WHOLE)
    add_test(NAME ${arg_NAME} COMMAND ${target})
    set_tests_properties(${arg_NAME} PROPERTIES
      ${properties} COST ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENV}"
      SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
    return()
  endif()
  # Names stay as GoogleTest knows them, so that they can be given to --gtest_filter.
  gtest_discover_tests(${target} TEST_PREFIX "${arg_NAME}." NO_PRETTY_TYPES NO_PRETTY_VALUES
                       DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
  # gtest_discover_tests flattens lists, so what is a list is set after it, when ctest reads this.
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}_lists.cmake @ONLY CONTENT [=[
foreach(test IN LISTS @target@_TESTS)
  set_tests_properties("${test}" PROPERTIES LABELS "@arg_LABELS@" ENVIRONMENT "@arg_ENV@")
endforeach()
]=])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
               ${CMAKE_CURRENT_BINARY_DIR}/${target}_lists.cmake)
endfunction()

# Where the program is not built there is no such test.
function(oncemq_test_again)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;OF;FILTER;TIMEOUT" "LABELS;ENV")
  if(NOT TARGET test_${arg_OF})
    return()
  endif()
  add_test(NAME ${arg_NAME} COMMAND test_${arg_OF} --gtest_filter=${arg_FILTER})
  set_tests_properties(${arg_NAME} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENV}"
    SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]" FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

function(oncemq_bench)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS")
  oncemq_program(NAME bench_${arg_NAME} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  if(NOT TARGET bench)
    add_custom_target(bench)
  endif()
  add_dependencies(bench bench_${arg_NAME})
endfunction()

function(oncemq_fuzz)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS")
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(STATUS "oncemq: fuzz target ${arg_NAME} is not built: it needs clang (preset fuzz)")
    return()
  endif()
  oncemq_program(NAME fuzz_${arg_NAME} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  target_link_options(fuzz_${arg_NAME} PRIVATE -fsanitize=fuzzer)
  if(NOT TARGET fuzz)
    add_custom_target(fuzz)
  endif()
  add_dependencies(fuzz fuzz_${arg_NAME})
endfunction()
