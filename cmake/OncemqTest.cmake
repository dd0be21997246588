# SPDX-License-Identifier: Apache-2.0
# How tests, benches and fuzz targets are declared.
#
#   oncemq_test(NAME unit_base LABELS unit SOURCES a_test.cc LIBS oncemq::base [QUARTERS 1]
#               [SHARDS 4] [LATER Slow.*:Big.One] [TIMEOUT 600] [SEARCHES] [ROCKSDB] [ENV A=b])
#     program test_unit_base, one test of ctest. QUARTERS of a core that it keeps busy: 4, and 1 for
#     a program that waits, mostly. SHARDS: as many tests of ctest, each with its share of the
#     program's. LATER: not with them, but as <name>.later with label "later", which
#     scripts/test --full runs. SEARCHES: its own code runs long, and is compiled as the preset
#     says. ROCKSDB: it opens stores.
#   oncemq_test_again(NAME many OF unit_base FILTER Log.* LABELS large [QUARTERS 1] ENV A=b
#                     TIMEOUT 60)
#     one more test of ctest: some of that program's, at another size
#   oncemq_bench(NAME dispatch SOURCES ... LIBS ...)     program bench_dispatch, by target bench
#   oncemq_fuzz(NAME record SOURCES ... LIBS ...)        program fuzz_record, with clang only

include(${CMAKE_CURRENT_LIST_DIR}/OncemqModule.cmake)

# A test's own code runs briefly and is compiled often (measured: 25 % less time with -O0 than with
# -O1, 60 % less than with -O2). What it tests is compiled as the preset says. Under a sanitizer all
# is as its preset says: -Og takes half of the time of -O1 there, and a third of -O2's.
function(oncemq_quick_compile target)
  if(NOT ONCEMQ_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  endif()
endfunction()

# One entry of ctest. PROCESSORS counts quarters of a core: scripts/test, and ctest -j 8 on two.
function(_oncemq_ctest name quarters timeout labels env)
  if(NOT quarters)
    set(quarters 4)
  endif()
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES
    LABELS "${labels}" ENVIRONMENT "${env}" TIMEOUT ${timeout} PROCESSORS ${quarters}
    FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

function(oncemq_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SEARCHES;ROCKSDB" "NAME;QUARTERS;SHARDS;LATER;TIMEOUT"
                        "LABELS;SOURCES;LIBS;ENV")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_SOURCES OR NOT arg_LABELS)
    message(FATAL_ERROR "oncemq_test: NAME, LABELS and SOURCES are needed: ${ARGV}")
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
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
  target_link_libraries(${target} PRIVATE ${arg_LIBS} oncemq_dep_gmock Threads::Threads)
  if(arg_SEARCHES)
    oncemq_precompiled(${target} program)
  else()
    oncemq_quick_compile(${target})
    oncemq_precompiled(${target} test)
  endif()
  set(now ${target})
  if(arg_LATER)
    list(APPEND now --gtest_filter=-${arg_LATER})
    _oncemq_ctest(${arg_NAME}.later "${arg_QUARTERS}" ${arg_TIMEOUT} later "${arg_ENV}"
                  ${target} --gtest_filter=${arg_LATER})
  endif()
  if(NOT arg_SHARDS)
    _oncemq_ctest(${arg_NAME} "${arg_QUARTERS}" ${arg_TIMEOUT} "${arg_LABELS}" "${arg_ENV}" ${now})
    return()
  endif()
  foreach(shard RANGE 1 ${arg_SHARDS})
    math(EXPR index "${shard} - 1")
    set(env ${arg_ENV} GTEST_TOTAL_SHARDS=${arg_SHARDS} GTEST_SHARD_INDEX=${index})
    _oncemq_ctest(${arg_NAME}.${shard} "${arg_QUARTERS}" ${arg_TIMEOUT} "${arg_LABELS}" "${env}"
                  ${now})
  endforeach()
endfunction()

# Where the program is not built there is no such test.
function(oncemq_test_again)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;OF;FILTER;QUARTERS;TIMEOUT" "LABELS;ENV")
  if(TARGET test_${arg_OF})
    _oncemq_ctest(${arg_NAME} "${arg_QUARTERS}" ${arg_TIMEOUT} "${arg_LABELS}" "${arg_ENV}"
                  test_${arg_OF} --gtest_filter=${arg_FILTER})
  endif()
endfunction()

function(oncemq_bench)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBS")
  oncemq_program(NAME bench_${arg_NAME} SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  set_target_properties(bench_${arg_NAME} PROPERTIES EXCLUDE_FROM_ALL ON)
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

# oncemq_kafka_version(<target>): tells kafka_broker.cc of which version scripts/kafka-fetch has the
# jars.
function(oncemq_kafka_version target)
  set(pom ${PROJECT_SOURCE_DIR}/tests/support/kafka/pom.xml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pom})
  file(STRINGS ${pom} version REGEX "<kafka.version>")
  string(REGEX REPLACE ".*<kafka.version>(.*)</kafka.version>.*" "\\1" version "${version}")
  target_compile_definitions(${target} PRIVATE ONCEMQ_KAFKA_VERSION="${version}")
endfunction()
