# SPDX-License-Identifier: Apache-2.0
# oncemq_warnings(<target>): the warnings of the house, strict yet free of false alarms on GCC 12.
# They are errors only with ONCEMQ_WERROR, so a newer compiler never breaks a user's build.

function(oncemq_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
    -Wimplicit-fallthrough -Wformat=2 -Wundef -Wold-style-cast
    # Options are structs whose other fields keep their defaults.
    -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 warns about its own std::string (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
    if(PROJECT_IS_TOP_LEVEL)
      # With precompiled headers it warns about more of its own library. Indices are watched by
      # _GLIBCXX_ASSERTIONS and by the address sanitizer. In a batch of sources an unnamed
      # namespace looks like one of a header.
      target_compile_options(
        ${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
                          -Wno-subobject-linkage)
    endif()
    if(ONCEMQ_SANITIZE)
      # Instrumented code hides assignments from this check.
      target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
  else()
    target_compile_options(${target} PRIVATE -Wthread-safety)
  endif()
  if(ONCEMQ_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()
