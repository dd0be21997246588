// SPDX-License-Identifier: Apache-2.0
// What a member that is a process of its own says at its end, and its exit code: 0 if its run ended
// well, with nothing open.
#pragma once

#include <cstdio>

#include "oncemq/framework/runtime.h"

namespace oncemq::testing {

inline int VerdictOf(const RunReport& report) {
  std::fprintf(stderr, "error `%s`, %s, %s, open %lld, stops %zu\n", report.error.c_str(),
               report.clean ? "clean" : "not clean",
               report.counts.Balanced() ? "balanced" : "not balanced",
               static_cast<long long>(report.counts.open), report.stops.size());
  const bool well = report.error.empty() && report.clean && report.counts.Balanced() &&
                    report.counts.open == 0 && report.stops.empty();
  return well ? 0 : 1;
}

}  // namespace oncemq::testing
