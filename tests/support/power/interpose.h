// SPDX-License-Identifier: Apache-2.0
// How a function of the C library is put in front of the library's own.
#pragma once

#include <dlfcn.h>

#define EXPORTED extern "C" __attribute__((visibility("default")))
#define SAME_AS(name) __attribute__((visibility("default"), alias(#name)))
// The library's own function behind ours.
#define REAL(name)                                                                         \
  ([] {                                                                                    \
    static const auto real = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name)); \
    return real;                                                                           \
  }())
