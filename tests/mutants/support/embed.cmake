# SPDX-License-Identifier: Apache-2.0
# Included at the end of the mirrored tree's cmake/OncemqModule.cmake: a text with mutants is
# embedded as one whose choices are made at run time (mutant.h).
function(oncemq_embed target file constant)
  file(READ ${file} text)
  if(NOT text MATCHES "ONCEMQ_MUTANT")
    _oncemq_embed(${target} ${file} ${constant})
    return()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  string(REPLACE "." "_" header ${file})
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded/${header}.h CONTENT
"#pragma once
#include \"@PROJECT_SOURCE_DIR@/tests/mutants/support/mutant.h\"
namespace oncemq {
inline constexpr MutantText ${constant}(R\"oncemq(@text@)oncemq\");
}
" @ONLY)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()
