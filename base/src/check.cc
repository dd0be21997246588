// SPDX-License-Identifier: Apache-2.0
#include "oncemq/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace oncemq {

void CheckFailed(const char* file, int line, const char* condition, const char* why) {
  std::fprintf(stderr, "%s:%d: this is a bug in oncemq: %s does not hold: %s\n", file, line,
               condition, why);
  std::abort();
}

}  // namespace oncemq
