# SPDX-License-Identifier: Apache-2.0
# The standard headers that nearly every source needs, compiled once (measured: 37 % of the time
# that a source of the libraries takes). A header compiled for one kind of target does not fit
# another, so each kind has its own:
#
#   oncemq_precompiled(<target> library|program|test)        that of its kind
#   oncemq_precompiled(<target> alone <nlohmann/json.hpp>)   one for this target alone, with more
#
# Only in our own build. As somebody's subdirectory (scripts/check_package) each source is compiled
# without it, so none can lean on it.

set(ONCEMQ_PRECOMPILED
    <algorithm> <array> <atomic> <chrono> <condition_variable> <cstdint> <deque> <functional> <map>
    <memory> <mutex> <optional> <random> <set> <span> <stop_token> <string> <string_view> <thread>
    <unordered_map> <unordered_set> <utility> <variant> <vector>)

function(_oncemq_precompiled_carrier kind)
  set(carrier oncemq_precompiled_${kind})
  if(TARGET ${carrier})
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/${carrier}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Carries a precompiled header.\nint main() {}\n")
  if(kind STREQUAL "library")
    add_library(${carrier} STATIC ${source})
  else()
    add_executable(${carrier} ${source})
    target_link_libraries(${carrier} PRIVATE Threads::Threads)
  endif()
  oncemq_warnings(${carrier})
  if(kind STREQUAL "test")
    oncemq_need(gmock)
    target_link_libraries(${carrier} PRIVATE oncemq_dep_gmock)
    oncemq_quick_compile(${carrier})
    target_precompile_headers(${carrier} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  target_precompile_headers(${carrier} PRIVATE ${ONCEMQ_PRECOMPILED})
endfunction()

function(oncemq_precompiled target kind)
  if(NOT PROJECT_IS_TOP_LEVEL)
    return()
  endif()
  if(kind STREQUAL "alone")
    target_precompile_headers(${target} PRIVATE ${ONCEMQ_PRECOMPILED} ${ARGN})
    return()
  endif()
  _oncemq_precompiled_carrier(${kind})
  target_precompile_headers(${target} REUSE_FROM oncemq_precompiled_${kind})
endfunction()
