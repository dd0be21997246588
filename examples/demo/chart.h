// SPDX-License-Identifier: Apache-2.0
// The picture of one run: stacked bars over time, with the moments that matter and the waits
// shaded, as inline SVG. Each bar names its figures in a title, which a browser shows under the
// mouse.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "timeline.h"

namespace oncemq::demo {

struct ChartWords {
  std::string_view title;    // for readers that cannot see it
  std::string_view effects;  // what Step::effects are called here
  std::string_view others;
};

// The same scale for charts that are to be compared.
struct ChartScale {
  int64_t most = 1;  // in one step
  size_t steps = 1;
};

ChartScale ScaleOf(const Timeline& one, const Timeline& other);

std::string Chart(const Timeline& timeline, const ChartWords& words, const ChartScale& scale);

}  // namespace oncemq::demo
